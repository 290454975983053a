/** When a ledger server that failed may be asked again. */
import t from 'tap';
import { newHealth, noteError, pauseMs } from '../../src/ledger/failover.js';
import { BlindServer } from '../../src/ledger/source.js';

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
