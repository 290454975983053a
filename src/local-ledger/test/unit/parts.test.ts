/** The parts of the local ledger that need no database: ids, memos, headers, faults, layers. */
import { Claimant, Keypair, xdr } from '@stellar/stellar-sdk';
import t from 'tap';
import { systemClock } from '../../clock.js';
import { accountKey, createView } from '../../entries.js';
import { decodeEnvelope } from '../../envelope.js';
import { createFaults } from '../../faults.js';
import { closedAtMs, createHeaders, extendSpan, ledgerRecord, type Span, toCloseTime } from '../../headers.js';
import { isOwnHost } from '../../http/host-guard.js';
import { scrub } from '../../memo.js';
import { holds, isSoundPredicate, predicateRecord, toAbsolute } from '../../operations/claim-predicate.js';
import { newAccount } from '../../operations/create-account.js';
import { fromAmount, MAX_INT64, toAmount } from '../../stroops.js';
import { afterLedger, ledgerOf, toid } from '../../toid.js';

t.test('ids are built as SEP-35 says', async (t) => {
  t.equal(toid(52446855, 118, 1), 225257527003537409n);
  t.equal(ledgerOf(225257527003537409n), 52446855);
  t.equal(afterLedger(52446855), toid(52446856, 0) - 1n);
});

t.test('a text memo is scrubbed byte by byte, as Go does', async (t) => {
  const cases: [bytes: number[], text: string][] = [
    [[0x68, 0x69], 'hi'],
    [[0x49, 0x00, 0x2d], 'I-'],
    [[0xff, 0xfe], '\ufffd\ufffd'],
    // A truncated sequence becomes one replacement for each of its bytes, where TextDecoder makes
    // one for all.
    [[0xe2, 0x82, 0x41], '\ufffd\ufffdA'],
    [[0xf0, 0x9f, 0x98], '\ufffd\ufffd\ufffd'],
    [[0xf0, 0x9f, 0x98, 0x80], '\u{1f600}'],
    [[0xe2, 0x82, 0xac], '\u20ac'],
    // Overlong forms, surrogates, and code points beyond U+10FFFF.
    [[0xc0, 0x80], '\ufffd\ufffd'],
    [[0xe0, 0x9f, 0xbf], '\ufffd\ufffd\ufffd'],
    [[0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd'],
    [[0xf4, 0x90, 0x80, 0x80], '\ufffd\ufffd\ufffd\ufffd'],
    [[0xf5, 0x80, 0x80, 0x80], '\ufffd\ufffd\ufffd\ufffd'],
    [[0xed, 0x9f, 0xbf, 0xee, 0x80, 0x80], '\ud7ff\ue000'],
    [[0xef, 0xbf, 0xbd], '\ufffd'],
  ];
  for (const [bytes, text] of cases) t.equal(scrub(Uint8Array.from(bytes)), text, Buffer.from(bytes).toString('hex'));
});

t.test('amounts are written with seven decimals and read without loss', async (t) => {
  t.equal(toAmount(1n), '0.0000001');
  t.equal(toAmount(MAX_INT64), '922337203685.4775807');
  t.equal(fromAmount('922337203685.4775807'), MAX_INT64);
  t.equal(fromAmount('15'), 150_000_000n);
  for (const text of ['', '.5', '1.', '1e3', '-1', '1.00000001']) t.equal(fromAmount(text), null, text);
});

t.test('only a host of its own reaches the ledger, so that a rebound name does not', async (t) => {
  const cases: [header: string | undefined, listensOn: string, isOwn: boolean][] = [
    ['localhost:8000', '127.0.0.1', true],
    ['LocalHost', '127.0.0.1', true],
    ['ledger.localhost:8000', '127.0.0.1', true],
    ['127.0.0.1:8000', '127.0.0.1', true],
    ['127.1.2.3', 'localhost', true],
    ['[::1]:8000', '127.0.0.1', true],
    ['192.168.1.7:8000', '192.168.1.7', true],
    ['ledger.lan:8000', 'ledger.lan', true],
    ['10.0.0.5:8000', '0.0.0.0', true],
    ['[2001:db8::7]', '::', true],
    ['10.0.0.5:8000', '127.0.0.1', false],
    ['evil.example:8000', '127.0.0.1', false],
    ['evil.example:8000', '0.0.0.0', false],
    ['127.0.0.1.evil.example', '127.0.0.1', false],
    ['localhost.evil.example', '0.0.0.0', false],
    ['localhost:8000@evil.example', '127.0.0.1', false],
    ['', '127.0.0.1', false],
    [undefined, '127.0.0.1', false],
  ];
  for (const [header, listensOn, isOwn] of cases)
    t.equal(isOwnHost(header, listensOn), isOwn, `${header} ${listensOn}`);
});

t.test('empty ledgers at a steady pace stretch one span; anything else begins another', async (t) => {
  const previousHash = 'ab'.repeat(32);
  const first: Span = { _id: 10, atMs: 5000, stepMs: 0, feePool: 7n, counts: null, previousHash, hashes: null };
  const second = extendSpan(first, 10, 6000)!;
  t.strictSame(second, { ...first, stepMs: 1000 });
  const third = extendSpan(second, 11, 7000)!;
  t.equal(closedAtMs(third, 12), 7000);
  t.equal(extendSpan(third, 12, 8001), null);
  t.equal(
    extendSpan({ ...first, counts: { successful: 1, failed: 0, operations: 1, setOperations: 1 } }, 10, 6000),
    null,
  );
  t.equal(toCloseTime(7000), 7);
  t.equal(toCloseTime(7999), 7, 'rounded down: ledgers may share a second');
  const [record, next] = createHeaders()('chain', third, 11, 12).map((header) => ledgerRecord(third, header)) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  t.equal(next.prev_hash, record.hash);
  t.match(record, { closed_at: '1970-01-01T00:00:06Z', fee_pool: '0.0000007' });
  const header = xdr.LedgerHeader.fromXdr(String(next.header_xdr), 'base64');
  t.equal(header.ledgerSeq, 12);
  t.equal(header.previousLedgerHash.toXdr('hex'), record.hash);
});

t.test('a predicate of a claimable balance decides by the close time', async (t) => {
  const until = (seconds: number) => Claimant.predicateBeforeAbsoluteTime(String(seconds));
  const within = (seconds: number) => Claimant.predicateBeforeRelativeTime(String(seconds));
  const unconditional = Claimant.predicateUnconditional();
  const cases: [predicate: xdr.ClaimPredicate, holdsAt: number[], record: object][] = [
    [unconditional, [99, 100, 199, 200], { unconditional: true }],
    [until(100), [99], { abs_before: '1970-01-01T00:01:40Z', abs_before_epoch: '100' }],
    [within(100), [99, 100, 199], { rel_before: '100' }],
    [Claimant.predicateNot(until(100)), [100, 199, 200], { not: { abs_before_epoch: '100' } }],
    [Claimant.predicateAnd(until(200), Claimant.predicateNot(until(100))), [100, 199], { and: [{}, {}] }],
    [Claimant.predicateOr(until(100), Claimant.predicateNot(until(200))), [99, 200], { or: [{}, {}] }],
  ];
  for (const [predicate, holdsAt, record] of cases) {
    const absolute = toAbsolute(predicate, 100);
    t.strictSame(
      [99, 100, 199, 200].filter((closeTime) => holds(absolute, closeTime)),
      holdsAt,
    );
    t.ok(isSoundPredicate(predicate));
    t.match(predicateRecord(predicate), record);
  }
  const deep = [1, 2, 3, 4].reduce((inner) => Claimant.predicateNot(inner), unconditional);
  t.notOk(isSoundPredicate(deep), 'five levels are too many');
  t.notOk(isSoundPredicate(xdr.ClaimPredicate.claimPredicateAnd([unconditional])), 'and takes two');
});

t.test('a layer keeps its changes to itself until it is committed', async (t) => {
  const id = Keypair.random().publicKey();
  const account = newAccount(id, 100n, { sequence: 1, closeTime: 1 });
  const ground = createView(new Map([[account._id, account]]));
  const ledger = ground.child();
  const attempt = ledger.child();
  attempt.update(attempt.account(id)!, (copy) => {
    copy.balance = 5n;
    copy.thresholds.low = 9;
  });
  t.match([attempt.account(id), ledger.account(id)], [{ balance: 5n }, { balance: 100n, thresholds: { low: 0 } }]);
  attempt.commit();
  t.match([ledger.account(id), ground.account(id)], [{ balance: 5n }, { balance: 100n }]);
  ledger.remove(accountKey(id));
  t.equal(ledger.account(id), null);
  t.strictSame([...ledger.changes()], [[accountKey(id), null]]);
  t.throws(() => ledger.account('G'), /was not loaded/);
});

t.test('a text that is not an envelope is not decoded', async (t) => {
  for (const text of ['', 'A', 'AAAA', '====', 'AAAAAgAAAAA=', 'not base64!!', '\u0000'.repeat(4)]) {
    t.equal(decodeEnvelope(text, 'x'), null, JSON.stringify(text));
  }
});

t.test('a fault hits the requests that it names, and ends as it says', async (t) => {
  let nowMs = 0;
  const faults = createFaults({ ...systemClock, nowMs: () => nowMs, random: () => 0.5 });
  const get = (path: string, method = 'GET') => faults.hit({ method, path }, ['html', 'hang'])?.kind;
  faults.add({ kind: 'html', path: '/payments', count: 2 });
  t.equal(get('/ledgers'), undefined);
  t.strictSame([get('/payments'), get('/payments?x'), get('/payments')], ['html', 'html', undefined]);
  faults.add({ kind: 'hang', method: 'POST', durationMs: 1000 });
  t.strictSame([get('/a'), get('/a', 'POST')], [undefined, 'hang']);
  nowMs = 1000;
  t.equal(get('/a', 'POST'), undefined);
  faults.add({ kind: 'html', probability: 0.4 });
  t.equal(get('/a'), undefined);
  const { id } = faults.add({ kind: 'html', probability: 0.6 });
  t.equal(get('/a'), 'html');
  t.match(faults.list(), [{ hits: 0 }, { id, hits: 1 }]);
  t.ok(faults.remove(id));
  t.notOk(faults.remove(id));
  t.equal(faults.lag('horizon'), 0);
  t.equal(faults.elder('horizon'), null);
  faults.add({ kind: 'lag', ledgers: 3 });
  faults.add({ kind: 'retention', elderLedger: 40 });
  faults.add({ kind: 'retention', elderLedger: 30 });
  t.strictSame([faults.lag('horizon'), faults.elder('horizon')], [3, 40]);
  faults.clear();
  t.strictSame([faults.lag('horizon'), faults.elder('horizon'), faults.list()], [0, null, []]);
  t.throws(() => faults.add({ kind: 'lag' } as never));

  faults.add({ kind: 'lag', ledgers: 5, api: 'rpc' });
  t.strictSame([faults.lag('horizon'), faults.lag('rpc')], [0, 5], 'one interface may lag behind the other');
  faults.add({ kind: 'html', api: 'horizon', count: 1 });
  t.strictSame([get('/rpc/getEvents', 'POST'), get('/rpcs')], [undefined, 'html']);
  t.throws(() => faults.add({ kind: 'hide' }), 'what to hide must be said');
});
