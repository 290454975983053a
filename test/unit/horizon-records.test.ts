/** Every kind of money in, and everything that is none: one test for each, on records made with the
 *  official SDK. */
import { Memo } from '@stellar/stellar-sdk';
import t from 'tap';
import { parsePage } from '../../src/ledger/horizon/page.js';
import { parseRecord } from '../../src/ledger/horizon/record.js';
import { type Credit, cursorAfter, ledgerOfCursor, type RecordOutcome } from '../../src/ledger/records.js';
import {
  accountMerge,
  CONTRACT,
  change,
  createAccount,
  effectsOf,
  hostFunction,
  ISSUER,
  type Json,
  muxed,
  operationRecord,
  PAYER,
  POOL,
  page,
  pathPayment,
  payment,
  SHOP,
  toid,
  transactionRecord,
} from '../helpers/horizon-records.js';

type Outcome<K extends RecordOutcome['kind']> = Extract<RecordOutcome, { kind: K }>;

function as<K extends RecordOutcome['kind']>(kind: K, outcome: RecordOutcome): Outcome<K> {
  if (outcome.kind !== kind)
    throw new Error(`expected ${kind}, got ${JSON.stringify(outcome, (_, v) => (typeof v === 'bigint' ? `${v}` : v))}`);
  return outcome as Outcome<K>;
}
const creditsOf = (raw: unknown): Credit[] => as('credits', parseRecord(raw)).credits;
const creditOf = (raw: unknown): Credit => {
  const credits = creditsOf(raw);
  if (credits.length !== 1) throw new Error(`expected one credit, got ${credits.length}`);
  return credits[0]!;
};
const without = (record: Json, ...fields: string[]): Json =>
  Object.fromEntries(Object.entries(record).filter(([field]) => !fields.includes(field)));
const XLM = { code: 'XLM', issuer: null };
const USDC = { code: 'USDC', issuer: ISSUER };

t.test('a payment is one credit with all that is to be known of it', async (t) => {
  const record = payment({}, { memo: Memo.text('hello'), ledger: 52_446_855 });
  t.strictSame(parseRecord(record), {
    kind: 'credits',
    operationId: toid(52_446_855),
    pagingToken: toid(52_446_855),
    transactionHash: record.transaction_hash,
    ledger: 52_446_855,
    parked: [],
    credits: [
      {
        operationId: toid(52_446_855),
        changeIndex: 0,
        transactionHash: record.transaction_hash,
        ledger: 52_446_855,
        closedAt: new Date('2026-01-02T03:04:05Z'),
        receiver: SHOP,
        sender: PAYER,
        asset: XLM,
        amount: 100_000_000n,
        memo: { type: 'text', text: 'hello', valid: true },
        destinationMuxedId: null,
        senderMuxedAddress: null,
      },
    ],
  });
});

t.test('every type of payment is money in', async (t) => {
  for (const type of ['path_payment', 'path_payment_strict_receive', 'path_payment_strict_send']) {
    t.match(creditOf(pathPayment(type)), { receiver: SHOP, sender: PAYER, asset: USDC, amount: 100_000_000n }, type);
  }
  t.match(creditOf(createAccount()), { receiver: SHOP, sender: PAYER, asset: XLM, amount: 50_000_000n });
  t.match(creditOf(accountMerge()), { receiver: SHOP, sender: PAYER, asset: XLM, amount: 9_999_999_900n });
});

t.test('the largest amount arrives to the stroop, and one more is out of range', async (t) => {
  t.equal(creditOf(payment({ amount: '922337203685.4775807' })).amount, 9_223_372_036_854_775_807n);
  for (const amount of ['922337203685.4775808', '9999999999999999999999.0000000', '-1.0000000', '1.00000000']) {
    t.match(parseRecord(payment({ amount })), { kind: 'parked', fault: 'out_of_range', receivers: [SHOP] }, amount);
  }
  for (const amount of ['1e3', '', 'NaN', ' 1.0000000', 10, null, undefined]) {
    t.match(parseRecord(payment({ amount })), { kind: 'parked', fault: 'malformed', receivers: [SHOP] }, `${amount}`);
  }
});

t.test('a muxed destination counts for its base account, with id 0 too', async (t) => {
  const withId = payment({ to_muxed: muxed(SHOP, '7'), to_muxed_id: '7' });
  t.equal(creditOf(withId).receiver, SHOP);
  for (const id of ['0', '7', '18446744073709551615']) {
    t.equal(creditOf(payment({ to: muxed(SHOP, id) })).receiver, SHOP);
    t.equal(creditOf(accountMerge({ into: muxed(SHOP, id) })).receiver, SHOP);
    t.equal(creditOf(payment({ from: muxed(PAYER, id) })).sender, PAYER);
  }
  t.match(parseRecord(payment({ to: muxed(PAYER, '1'), from: muxed(PAYER, '2') })), { reason: 'to_itself' });
});

t.test('the id of a muxed destination and the muxed sender are read, id 0 from the address alone', async (t) => {
  const parts = (record: unknown) => {
    const { destinationMuxedId, senderMuxedAddress } = creditOf(record);
    return [destinationMuxedId, senderMuxedAddress];
  };
  t.strictSame(parts(payment({})), [null, null]);
  t.strictSame(parts(payment({ to_muxed: muxed(SHOP, '7'), to_muxed_id: '7' })), ['7', null]);
  t.strictSame(parts(payment({ to_muxed: muxed(SHOP, '0') })), ['0', null]);
  t.strictSame(parts(payment({ from_muxed: muxed(PAYER, '9'), from_muxed_id: '9' })), [null, muxed(PAYER, '9')]);
  t.strictSame(parts(payment({ to_muxed: muxed(PAYER, '7') })), [null, null], 'an address of another account');
  const merge = accountMerge({ into_muxed: muxed(SHOP, '66234'), account_muxed: muxed(PAYER, '1') });
  t.strictSame(parts(merge), ['66234', muxed(PAYER, '1')]);
  const changes = [change({}), change({ destination_muxed_id: '0' }), change({ destination_muxed_id: '5' })];
  const { credits } = as('credits', parseRecord(hostFunction(changes, {})));
  t.strictSame(
    credits.map((credit) => credit.destinationMuxedId),
    [null, '0', '5'],
  );
});

t.test('a merge tells its amount in the result, at its own place in the transaction', async (t) => {
  const merged = [null, '70000000', null, '90000000'];
  t.equal(creditOf(accountMerge({}, { merged, order: 2 })).amount, 70_000_000n);
  t.equal(creditOf(accountMerge({}, { merged, order: 4 })).amount, 90_000_000n);
  t.equal(creditOf(accountMerge({}, { merged, order: 4, feeBump: true })).amount, 90_000_000n, 'inside a fee bump');
  t.match(
    parseRecord(accountMerge({}, { merged, order: 1 })),
    { kind: 'incomplete', needs: 'effects' },
    'a payment is there',
  );
  t.match(
    parseRecord(accountMerge({}, { merged, order: 5 })),
    { kind: 'incomplete', needs: 'effects' },
    'nothing is there',
  );
});

t.test('a merge whose result is not to be had is asked for by its effects', async (t) => {
  const transaction = without(transactionRecord({ merged: ['1'] }), 'result_xdr');
  for (const broken of [transaction, { ...transaction, result_xdr: 'AAAA' }, { ...transaction, result_xdr: '%' }]) {
    const record = { ...accountMerge({}, { merged: ['1'] }), transaction: broken };
    const outcome = as('incomplete', parseRecord(record));
    t.match(outcome, { needs: 'effects', receivers: [SHOP], ledger: 1000, operationId: toid(1_000) });
    const whole = as('credits', parseRecord(record, { effects: effectsOf(SHOP, '12.5000000') }));
    t.equal(whole.credits[0]!.amount, 125_000_000n);
    t.match(parseRecord(record, { effects: null }), { kind: 'incomplete', needs: 'effects' });
    for (const effects of [{}, effectsOf(ISSUER, '1.0000000'), effectsOf(SHOP, 'x')]) {
      t.match(parseRecord(record, { effects }), { kind: 'parked', fault: 'malformed', receivers: [SHOP] });
    }
  }
});

t.test('a record without its transaction is incomplete, and whole when it is fetched', async (t) => {
  const record = payment({}, { joined: false, memo: Memo.text('later') });
  t.match(parseRecord(record), {
    kind: 'incomplete',
    needs: 'transaction',
    transactionHash: record.transaction_hash,
    receivers: [SHOP],
  });
  const transaction = transactionRecord({ memo: Memo.text('later') });
  t.match(parseRecord(record, { transaction }), { kind: 'credits', credits: [{ memo: { text: 'later' } }] });
  t.match(parseRecord(record, { transaction: null }), { kind: 'incomplete' }, 'Horizon did not have it');
  t.match(parseRecord(record, { transaction: transactionRecord({ memo: Memo.text('other') }) }), {
    kind: 'parked',
    reason: 'transaction: is another transaction',
  });
  const merge = accountMerge({}, { joined: false });
  t.match(parseRecord(merge), { kind: 'incomplete', needs: 'transaction' }, 'a merge needs it too');
});

t.test('a joined transaction that cannot be read is fetched again before the record is parked', async (t) => {
  const whole = payment({}, { memo: Memo.text('x') });
  const broken = { ...whole, transaction: without(whole.transaction as Json, 'memo_type') };
  t.match(parseRecord(broken), { kind: 'incomplete', needs: 'transaction' });
  t.match(parseRecord(broken, { transaction: whole.transaction }), { kind: 'credits' });
  t.match(parseRecord(broken, { transaction: broken.transaction }), {
    kind: 'parked',
    reason: /^transaction: memo_type/,
  });
});

t.test('a fee bump counts by its outer hash and has the memo of the inner transaction', async (t) => {
  const record = payment({}, { feeBump: true, memo: Memo.text('inner') });
  t.match(creditOf(record), { transactionHash: record.transaction_hash, memo: { text: 'inner' } });
});

t.test('several payments in one transaction share its hash and memo and differ in id', async (t) => {
  const options = { merged: [null, null], memo: Memo.text('both') };
  const [first, second] = [payment({}, { ...options, order: 1 }), payment({}, { ...options, order: 2 })].map(creditOf);
  t.equal(first!.transactionHash, second!.transactionHash);
  t.strictSame(first!.memo, second!.memo);
  t.not(first!.operationId, second!.operationId);
});

t.test('the memo is what its bytes say', async (t) => {
  const memoOf = (memo: Memo) => creditOf(payment({}, { memo })).memo;
  t.strictSame(memoOf(Memo.none()), { type: 'none', text: null });
  t.strictSame(memoOf(Memo.text('')), { type: 'text', text: '', valid: true }, 'an empty text is no missing one');
  t.strictSame(memoOf(Memo.text('INV\0-1')), { type: 'text', text: 'INV\0-1', valid: true }, 'Horizon shows INV-1');
  t.strictSame(memoOf(Memo.text('\u{FEFF}ä€😀')), { type: 'text', text: '\u{FEFF}ä€😀', valid: true });
  t.strictSame(memoOf(Memo.text('\u{FFFD}')), { type: 'text', text: '\u{FFFD}', valid: true }, 'a real U+FFFD is text');
  t.strictSame(memoOf(Memo.text(Buffer.from([0x41, 0xff]) as never)), {
    type: 'text',
    text: 'A\u{FFFD}',
    valid: false,
  });
  t.strictSame(memoOf(Memo.id('18446744073709551615')), { type: 'id', text: '18446744073709551615' });
  const bytes = Buffer.alloc(32, 2);
  t.strictSame(memoOf(Memo.hash(bytes.toString('hex'))), { type: 'hash', text: bytes.toString('base64') });
  t.strictSame(memoOf(Memo.return(bytes.toString('hex'))), { type: 'return', text: bytes.toString('base64') });
});

t.test('an old Horizon without memo_bytes is believed where its text is whole', async (t) => {
  const old = (memo: string) => {
    const record = payment({}, { memo: Memo.text('x') });
    return { ...record, transaction: { ...without(record.transaction as Json, 'memo_bytes'), memo } };
  };
  t.strictSame(creditOf(old('hello')).memo, { type: 'text', text: 'hello', valid: true });
  t.strictSame(creditOf(old('A\u{FFFD}')).memo, { type: 'text', text: 'A\u{FFFD}', valid: false });
});

t.test('a memo that no transaction can have is no memo', async (t) => {
  const record = payment({}, { memo: Memo.text('x') });
  const { transaction } = record as { transaction: Json };
  for (const fields of [
    { memo_type: 'new' },
    { memo_type: 'id', memo: '18446744073709551616' },
    { memo_type: 'id', memo: '-1' },
    { memo_type: 'hash', memo: 'AgIC' },
    { memo_type: 'text', memo: 'x', memo_bytes: '%%%' },
    { memo_type: 'text', memo: 'x', memo_bytes: Buffer.alloc(29).toString('base64') },
    { memo_type: 'text', memo: undefined, memo_bytes: undefined },
  ]) {
    t.match(
      parseRecord({ ...record, transaction: { ...transaction, ...fields } }),
      { kind: 'incomplete' },
      JSON.stringify(fields),
    );
  }
});

t.test('a record that moves nothing to another account is ignored, with the reason', async (t) => {
  const reasonOf = (raw: unknown) => as('ignored', parseRecord(raw)).reason;
  t.equal(reasonOf({ ...payment(), transaction_successful: false }), 'failed');
  t.equal(
    reasonOf({ ...operationRecord('some_new_type', {}), transaction_successful: false }),
    'failed',
    'of any type',
  );
  t.equal(reasonOf(payment({ from: SHOP })), 'to_itself');
  t.equal(reasonOf(payment({ amount: '0.0000000' })), 'nothing_moved');
  t.equal(reasonOf(createAccount({ starting_balance: '0.0000000' })), 'nothing_moved', 'a sponsored account');
  t.equal(reasonOf(accountMerge({}, { merged: ['0'] })), 'nothing_moved');
  t.equal(reasonOf(hostFunction([])), 'no_account_credited');
  t.equal(reasonOf(hostFunction(null)), 'no_account_credited');
  t.equal(reasonOf(hostFunction([change({ from: CONTRACT, to: CONTRACT })])), 'no_account_credited');
});

t.test('what an account pays a contract is understood, too: it may be a refund', async (t) => {
  const paid = (fields: Json) => creditsOf(hostFunction([change({ to: CONTRACT, ...fields })]))[0];
  t.match(paid({}), { receiver: CONTRACT, sender: PAYER, amount: 10_000_000n });
  t.match(paid({ type: 'mint', from: undefined }), { receiver: CONTRACT, sender: ISSUER });
  t.match(parseRecord(hostFunction([change({ to: CONTRACT, amount: 'much' })])), {
    kind: 'credits',
    credits: [],
    parked: [{ receivers: [PAYER] }],
  });
});

t.test('success is a fact of the record or of its transaction, never a guess', async (t) => {
  const record = payment();
  const { transaction } = record as { transaction: Json };
  const silent = without(record, 'transaction_successful');
  t.match(parseRecord(silent), { kind: 'credits' });
  t.match(parseRecord({ ...silent, transaction: { ...transaction, successful: false } }), {
    kind: 'ignored',
    reason: 'failed',
  });
  t.match(parseRecord({ ...silent, transaction: without(transaction, 'successful') }), { kind: 'parked' });
  t.match(
    parseRecord({ ...record, transaction: { ...transaction, successful: false } }),
    { kind: 'parked' },
    'they contradict',
  );
  t.match(parseRecord({ ...record, transaction_successful: 'true' }), { kind: 'parked' });
});

t.test('each balance change of a Soroban operation counts on its own', async (t) => {
  const record = hostFunction(
    [
      change({ amount: '1.0000000' }),
      change({ to: CONTRACT, amount: '99999999999999999999.0000000' }),
      change({ type: 'mint', from: undefined, amount: '2.0000000' }),
      change({ type: 'burn', to: undefined }),
      change({ type: 'clawback', to: undefined }),
      change({ from: CONTRACT, asset_type: 'native', amount: '3.0000000' }),
      change({ from: POOL, amount: '4.0000000' }),
      change({ from: SHOP }),
      change({ to: muxed(SHOP, '5'), amount: '5.0000000', destination_muxed_id: '5' }),
    ],
    { memo: Memo.text('soroban') },
  );
  const { credits: all, parked } = as('credits', parseRecord(record));
  t.match(
    all.find(({ changeIndex }) => changeIndex === 3),
    { receiver: ISSUER, sender: PAYER, asset: USDC },
    'a burn is money in for the issuer',
  );
  const credits = all.filter(({ changeIndex }) => changeIndex !== 3);
  t.strictSame(
    credits.map(({ changeIndex, sender, asset, amount }) => [changeIndex, sender, asset, amount]),
    [
      [0, PAYER, USDC, 10_000_000n],
      [2, ISSUER, USDC, 20_000_000n],
      [5, CONTRACT, XLM, 30_000_000n],
      [6, POOL, USDC, 40_000_000n],
      [8, PAYER, USDC, 50_000_000n],
    ],
  );
  t.strictSame(parked, []);
  t.ok(credits.every((credit) => credit.receiver === SHOP && credit.memo.text === 'soroban'));
});

t.test(
  'a burn that cannot be understood is kept for the issuer, and one by the issuer itself is nothing',
  async (t) => {
    const broken = as('credits', parseRecord(hostFunction([change({ type: 'burn', to: undefined, amount: 'x' })])));
    t.match(broken, { credits: [], parked: [{ changeIndex: 0, receivers: [ISSUER] }] });
    for (const asset_issuer of [undefined, 'no account']) {
      const nameless = parseRecord(hostFunction([change({ type: 'burn', to: undefined, asset_issuer })]));
      t.match(nameless, { kind: 'credits', credits: [], parked: [{ receivers: null }] }, 'it may concern any account');
    }
    const own = hostFunction([change({ type: 'burn', from: ISSUER, to: undefined })]);
    t.match(parseRecord(own), { kind: 'ignored', reason: 'to_itself' });
    const native = hostFunction([change({ type: 'burn', to: undefined, asset_type: 'native' })]);
    t.match(parseRecord(native), { kind: 'ignored', reason: 'no_account_credited' });
  },
);

t.test('a balance change of nothing takes nothing from those beside it', async (t) => {
  const { credits } = as('credits', parseRecord(hostFunction([change({ amount: '0.0000000' }), change()])));
  t.strictSame(
    credits.map(({ changeIndex }) => changeIndex),
    [1],
  );
});

t.test('a balance change that cannot be understood harms none beside it', async (t) => {
  const record = hostFunction([
    change({ amount: '922337203685.4775808' }),
    change({ type: 'airdrop' }),
    change({ type: 'mint', asset_type: 'native' }),
    change({ to: undefined }),
    'no change',
    change({ asset_issuer: undefined }),
    change({ from: 'nobody' }),
    change({ amount: '7.0000000' }),
  ]);
  const { credits, parked } = as('credits', parseRecord(record));
  t.strictSame(
    credits.map(({ changeIndex, amount }) => [changeIndex, amount]),
    [[7, 70_000_000n]],
  );
  t.strictSame(
    parked.map(({ changeIndex, fault, receivers }) => [changeIndex, fault, receivers]),
    [
      [0, 'out_of_range', [SHOP]],
      [1, 'unknown_type', [SHOP]],
      [2, 'malformed', [SHOP]],
      [3, 'malformed', null],
      [4, 'malformed', null],
      [5, 'malformed', [SHOP]],
      [6, 'malformed', [SHOP]],
    ],
  );
  const alone = as('credits', parseRecord(without(hostFunction([change({ type: 'airdrop' })]), 'transaction')));
  t.strictSame([alone.credits.length, alone.parked.length], [0, 1], 'nothing is fetched for what is parked anyway');
});

t.test('a record that cannot be understood is parked with what can be read of it', async (t) => {
  const whole = payment();
  const id = whole.id as string;
  const parked = (raw: unknown) => as('parked', parseRecord(raw));
  for (const raw of [null, undefined, 1, 'x', [], [whole]]) {
    t.match(parked(raw), { fault: 'not_a_record', pagingToken: null, receivers: null });
  }
  for (const field of ['created_at', 'transaction_hash', 'from', 'amount', 'asset_type']) {
    t.match(
      parked(without(whole, field)),
      { fault: 'malformed', pagingToken: id, operationId: id, receivers: [SHOP] },
      field,
    );
  }
  t.match(parked(without(whole, 'type')), { fault: 'malformed', pagingToken: id, receivers: [PAYER, SHOP] });
  t.match(parked(without(whole, 'to')), { fault: 'malformed', pagingToken: id, receivers: null });
  t.match(parked(without(whole, 'id')), { pagingToken: id, operationId: id });
  t.match(parked({ ...whole, paging_token: toid(7) }), { pagingToken: null, operationId: null }, 'contradictory ids');
  for (const broken of ['0', '-1', '007', '1.5', '99999999999999999999', '4294967296', 4_294_971_393]) {
    t.match(
      parked({ ...whole, id: broken, paging_token: broken }),
      { fault: 'malformed', pagingToken: null },
      `${broken}`,
    );
  }
  for (const created_at of ['yesterday', '2026-02-30T00:00:00Z', 1_700_000_000]) {
    t.match(parked({ ...whole, created_at }), { fault: 'malformed' }, `${created_at}`);
  }
  for (const asset of [
    { asset_type: 'credit_alphanum4', asset_code: 'USDC' },
    { asset_type: 'credit_alphanum4', asset_code: 'US-D', asset_issuer: ISSUER },
    { asset_type: 'credit_alphanum4', asset_code: 'USDC', asset_issuer: `${ISSUER.slice(0, -1)}A` },
    { asset_type: 'liquidity_pool_shares' },
  ]) {
    t.match(parked(payment(asset)), { fault: 'malformed', receivers: [SHOP] }, JSON.stringify(asset));
  }
  t.match(parked(createAccount({ funder: '[redacted]' })), { receivers: [SHOP] });
  t.match(parked(accountMerge({ account: null })), { receivers: [SHOP] });
  t.match(parked(hostFunction({ not: 'a list' })), { fault: 'malformed', receivers: null });
});

t.test('a new type names whom it may concern', async (t) => {
  const record = operationRecord('pay_all', { parts: [{ whom: SHOP }, { whom: muxed(ISSUER, '3') }] });
  const outcome = as('parked', parseRecord(record));
  t.equal(outcome.fault, 'unknown_type');
  t.strictSame([...outcome.receivers!].sort(), [ISSUER, PAYER, SHOP].sort());
  t.match(parseRecord({ ...record, type: 'constructor' }), { kind: 'parked', fault: 'unknown_type' });
  t.match(parseRecord({ ...record, type: '__proto__' }), { kind: 'parked', fault: 'unknown_type' });
});

t.test('a reason holds nothing of the record', async (t) => {
  const secret = 'hunter2';
  for (const field of ['type', 'created_at', 'transaction_hash', 'from', 'to', 'amount', 'asset_type', 'id']) {
    const outcome = as('parked', parseRecord({ ...payment(), [field]: secret }));
    t.notMatch(outcome.reason, secret, field);
  }
});

t.test('one bad record of a page harms none beside it', async (t) => {
  const at = (ledger: number) => payment({}, { ledger });
  const parsed = parsePage(page([at(1), { junk: true }, null, at(2), without(at(3), 'amount')]))!;
  t.strictSame(
    parsed.records.map(({ outcome }) => outcome.kind),
    ['credits', 'parked', 'parked', 'credits', 'parked'],
  );
  t.equal(parsed.cursor, toid(3), 'a parked record is passed by its own paging token');
  t.strictSame(parsed.records[1]!.raw, { junk: true }, 'and kept as it came');
  t.equal(
    parsePage(page([at(1), at(2), { junk: true }]))!.cursor,
    toid(2),
    'else it stays in view behind the last readable one',
  );
});

t.test('a page that holds nothing readable is passed by its own next link', async (t) => {
  t.equal(parsePage(page([{ junk: true }], toid(9)))!.cursor, toid(9));
  for (const cursor of ['now', '', '-1', 'x']) t.equal(parsePage(page([{ junk: true }], cursor))!.cursor, null, cursor);
  t.equal(parsePage({ _embedded: { records: [{}] } })!.cursor, null);
  t.strictSame(parsePage(page([], toid(9))), { records: [], cursor: null }, 'an empty page moves nothing');
});

t.test('an answer that is not a page is refused', async (t) => {
  for (const body of [null, undefined, 'text', [], {}, { _embedded: {} }, { _embedded: { records: {} } }]) {
    t.equal(parsePage(body), null, JSON.stringify(body));
  }
});

t.test('cursors lie in their ledger beyond 2^53', async (t) => {
  t.equal(ledgerOfCursor('225257527003537409'), 52_446_855);
  t.equal(cursorAfter(52_446_855), '225257531298021375');
  t.equal(ledgerOfCursor(cursorAfter(2_147_483_647)), 2_147_483_647);
});
