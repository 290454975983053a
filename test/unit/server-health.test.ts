/** When a ledger server that failed may be asked again. */
import t from 'tap';
import { createTipCheck, newHealth, noteError, pauseMs, type SeenLedger } from '../../src/ledger/failover.js';
import { BlindServer, type LedgerTip, SourceError } from '../../src/ledger/source.js';

t.test('the only server is unfit, once: it is asked again within seconds, however often it was unfit', async (t) => {
  const server = newHealth();
  for (let n = 0, nowMs = 0; n < 10; n++, nowMs = server.barredUntil) {
    noteError(server, new BlindServer('rpc.example'), { nowMs, hasOthers: false });
    t.ok(pauseMs([server], nowMs) <= 5000, `${pauseMs([server], nowMs)} ms`);
  }
});

t.test('an unfit server beside others rests for a minute', async (t) => {
  const server = newHealth();
  noteError(server, new BlindServer('rpc.example'), { nowMs: 0, hasOthers: true });
  t.equal(pauseMs([server], 0), 60_000);
});

t.test('a server names a newest ledger → it is refused where the network cannot have closed it yet', async (t) => {
  const clocks = { wallMs: 0, steadyMs: 0 };
  const begin = (seen: SeenLedger | null = null) => {
    const clock = { nowMs: () => clocks.wallMs };
    const askTip = createTipCheck(clock, { nowMs: () => clocks.steadyMs }, async () => seen);
    const ask = (tip: LedgerTip) => askTip(async () => tip);
    return {
      believed: (tip: LedgerTip, why: string) => t.resolves(ask(tip), why),
      refused: (tip: LedgerTip, why: string) => t.rejects(ask(tip), SourceError, why),
    };
  };
  /** One that closes in five seconds, as long as no other time is said. */
  const tip = (latestLedger: number, closedAtMs = latestLedger * 5000) =>
    ({ latestLedger, latestClosedAt: new Date(closedAtMs) }) as LedgerTip;
  const later = (wallMs: number, steadyMs = wallMs) => {
    clocks.wallMs += wallMs;
    clocks.steadyMs += steadyMs;
  };
  const falseClaim = tip(9_000_000, 1001 * 5000);

  const { believed, refused } = begin();
  await believed(tip(1000), 'the first one');
  await refused(falseClaim, 'a false claim');
  await refused(falseClaim, 'told again');
  await believed(tip(1001), 'the next ledger');
  await believed(tip(700), 'a server that lags');
  await believed(tip(18_282), 'the last server was a day behind');
  later(30 * 86_400_000);
  await believed(tip(536_682, 18_283 * 5000), 'after a month');
  later(86_400_000, 0);
  await believed(tip(553_962, 18_284 * 5000), 'the machine slept for a day');
  later(-86_400_000, 86_400_000);
  await believed(tip(571_242, 18_285 * 5000), 'the time was set back by a day');
  await refused(tip(572_000, 18_286 * 5000), 'too many at once');

  const misled = begin();
  await misled.believed(falseClaim, 'the first one');
  await misled.believed(tip(1002), 'another one closes later, with a lower number');
  await misled.refused(falseClaim, 'what it shows');

  const again = begin({ ...tip(1000), seenAt: new Date(clocks.wallMs - 60_000) });
  await again.refused(falseClaim, 'the first one of a process, after others');
  await again.believed(tip(1012), 'a minute later');
});
