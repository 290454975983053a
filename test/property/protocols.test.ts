/** A payment is the same from XDR and from JSON, over every kind of operation, event and address.
 *  The JSON is that of Stellar's own encoder, which servers use, too: none of it was made by the
 *  SDK that reads the XDR. */
import { readFileSync } from 'node:fs';
import { Asset, StrKey, xdr } from '@stellar/stellar-sdk';
import * as stellar from '@stellar/stellar-xdr-json';
import fc from 'fast-check';
import t from 'tap';
import { parseStrkey, strkeyOf } from '../../src/domain/strkey.js';
import { contractOf } from '../../src/ledger/records.js';
import { parseOperation, type RpcOperation } from '../../src/ledger/rpc/operation.js';
import { createContractIds } from '../../src/ledger/rpc/token-event.js';
import { muxedContract } from '../../src/local-ledger/index.js';
import { draws } from '../helpers/long.js';

stellar.initSync(
  readFileSync(new URL('../../node_modules/@stellar/stellar-xdr-json/stellar_xdr_json_bg.wasm', import.meta.url)),
);

type Json = any;
const PASSPHRASE = 'Standalone Network ; February 2017';
const contractIdOf = createContractIds(PASSPHRASE);

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const decimal = (max: bigint) => fc.bigInt({ min: 0n, max }).map(String);
const amount = decimal(2n ** 63n - 1n);
const hex = key.map((bytes) => Buffer.from(bytes).toString('hex'));

const withId = (bytes: Uint8Array, id: bigint): Buffer => {
  const tail = Buffer.alloc(8);
  tail.writeBigUInt64BE(id);
  return Buffer.concat([bytes, tail]);
};
const account = key.map((bytes) => strkeyOf('G', bytes));
const contract = key.map((bytes) => strkeyOf('C', bytes));
const muxedAccount = fc.tuple(key, uint64).map(([bytes, id]) => strkeyOf('M', withId(bytes, id)));
const payee = fc.oneof(account, muxedAccount);
const holder = fc.oneof(
  account,
  contract,
  key.map((bytes) => strkeyOf('B', Buffer.concat([Buffer.from([0]), bytes]))),
  key.map((bytes) => strkeyOf('L', bytes)),
);
const issued = fc
  .tuple(fc.constantFrom('EUR', 'A', 'LONGERCODE12'), account)
  .map(([code, issuer]) => ({ code, issuer, name: `${code}:${issuer}` }));
const asset = fc.oneof(
  fc.constant('native' as Json),
  issued.map(({ code, issuer }) => ({
    [code.length > 4 ? 'credit_alphanum12' : 'credit_alphanum4']: { asset_code: code, issuer },
  })),
);
const price = fc.constant({ n: 1, d: 2 });
const balanceId = key.map((bytes) => strkeyOf('B', Buffer.concat([Buffer.from([0]), bytes])));
const poolId = key.map((bytes) => strkeyOf('L', bytes));
const invoked = fc.record({
  host_function: fc.record({
    invoke_contract: fc.record({
      contract_address: contract,
      function_name: fc.constant('transfer'),
      args: fc
        .tuple(holder, fc.oneof(holder, muxedAccount), amount)
        .map(([from, to, i128]) => [{ address: from }, { address: to }, { i128 }]),
    }),
  }),
  auth: fc.constant([]),
});

/** Every kind of operation, by the name of its arm. */
const BODIES: Record<string, fc.Arbitrary<Json>> = {
  create_account: fc.record({ destination: account, starting_balance: amount }),
  payment: fc.record({ destination: payee, asset, amount }),
  path_payment_strict_receive: fc.record({
    ...{ send_asset: asset, send_max: amount, destination: payee, dest_asset: asset, dest_amount: amount },
    path: fc.array(asset, { maxLength: 3 }),
  }),
  path_payment_strict_send: fc.record({
    ...{ send_asset: asset, send_amount: amount, destination: payee, dest_asset: asset, dest_min: amount },
    path: fc.array(asset, { maxLength: 3 }),
  }),
  account_merge: payee,
  invoke_host_function: invoked,
  manage_sell_offer: fc.record({ selling: asset, buying: asset, amount, price, offer_id: amount }),
  create_passive_sell_offer: fc.record({ selling: asset, buying: asset, amount, price }),
  manage_buy_offer: fc.record({ selling: asset, buying: asset, buy_amount: amount, price, offer_id: amount }),
  set_options: fc.record({
    ...{ inflation_dest: fc.option(account), home_domain: fc.constant('shop.example'), signer: fc.constant(null) },
    ...Object.fromEntries(
      ['clear_flags', 'set_flags', 'master_weight', 'low_threshold', 'med_threshold', 'high_threshold'].map((name) => [
        name,
        fc.constant(null),
      ]),
    ),
  }),
  change_trust: fc.record({ line: asset, limit: amount }),
  allow_trust: fc.record({ trustor: account, asset: fc.constant('EUR'), authorize: fc.constant(1) }),
  inflation: fc.constant(null),
  manage_data: fc.record({ data_name: fc.constant('config.memo_required'), data_value: fc.constant('31') }),
  bump_sequence: fc.record({ bump_to: amount }),
  create_claimable_balance: fc.record({
    ...{ asset, amount },
    claimants: account.map((destination) => [{ claimant_type_v0: { destination, predicate: 'unconditional' } }]),
  }),
  claim_claimable_balance: fc.record({ balance_id: balanceId }),
  begin_sponsoring_future_reserves: fc.record({ sponsored_id: account }),
  end_sponsoring_future_reserves: fc.constant(null),
  revoke_sponsorship: account.map((account_id) => ({ ledger_entry: { account: { account_id } } })),
  clawback: fc.record({ asset, from: payee, amount }),
  clawback_claimable_balance: fc.record({ balance_id: balanceId }),
  set_trust_line_flags: fc.record({ trustor: account, asset, clear_flags: fc.constant(0), set_flags: fc.constant(1) }),
  liquidity_pool_deposit: fc.record({
    ...{ liquidity_pool_id: poolId, max_amount_a: amount, max_amount_b: amount, min_price: price, max_price: price },
  }),
  liquidity_pool_withdraw: fc.record({
    ...{ liquidity_pool_id: poolId, amount, min_amount_a: amount, min_amount_b: amount },
  }),
  extend_footprint_ttl: fc.record({ ext: fc.constant('v0'), extend_to: fc.nat() }),
  restore_footprint: fc.record({ ext: fc.constant('v0') }),
};

/** An arm that holds nothing is a text. */
const inArm = (name: string, value: Json): Json => (value === null ? name : { [name]: value });

interface Drawn {
  body: Json;
  /** `op_inner` of its result. */
  result: Json;
  source: string | null;
}

/** Only the results of merges and of path payments that send a fixed amount tell what is read. */
const resultOf = (name: string, body: Json, moved: string): Json => {
  if (name === 'account_merge') return { account_merge: { success: moved } };
  if (name === 'path_payment_strict_send') {
    const last = { destination: strkeyOf('G', Buffer.alloc(32, 1)), asset: body.dest_asset, amount: moved };
    return { path_payment_strict_send: { success: { offers: [], last } } };
  }
  return { payment: 'success' };
};

const operationOf = (name: string): fc.Arbitrary<Drawn> =>
  fc.record({ body: BODIES[name]!, source: fc.option(payee), moved: amount }).map(({ body, source, moved }) => ({
    ...{ body: inArm(name, body), source },
    result: resultOf(name, body, moved),
  }));

const memo = fc.oneof(
  fc.constant('none' as Json),
  // A text need not be UTF-8.
  fc
    .uint8Array({ maxLength: 28 })
    .map((bytes) => ({ text: xdr.ScVal.scvString(bytes).toJson() }))
    .map(({ text }) => ({ text: (text as Json).string })),
  uint64.map((id) => ({ id: id.toString() })),
  hex.map((hash) => ({ hash })),
  hex.map((hash) => ({ return: hash })),
);

type EnvelopeKind = 'tx' | 'tx_v0' | 'tx_fee_bump';

interface DrawnTransaction {
  kind: EnvelopeKind;
  source: string;
  memo: Json;
  operations: Drawn[];
}

const transactionOf = (names: readonly string[]): fc.Arbitrary<DrawnTransaction> =>
  fc.record({
    kind: fc.constantFrom<EnvelopeKind[]>('tx', 'tx_v0', 'tx_fee_bump'),
    source: payee,
    memo,
    operations: fc.tuple(...names.map(operationOf)),
  }) as fc.Arbitrary<DrawnTransaction>;

function envelopeOf({ kind, source, memo, operations }: DrawnTransaction): Json {
  const base = parseStrkey(source)!.bytes.subarray(0, 32);
  const tx = {
    ...(kind === 'tx_v0'
      ? { source_account_ed25519: Buffer.from(base).toString('hex'), time_bounds: null }
      : { source_account: source, cond: 'none' }),
    ...{ fee: 100, seq_num: '7', memo, ext: 'v0' },
    operations: operations.map((each) => ({ source_account: each.source, body: each.body })),
  };
  if (kind === 'tx_v0') return { tx_v0: { tx, signatures: [] } };
  const inner = { tx: { tx, signatures: [] } };
  if (kind === 'tx') return inner;
  return {
    tx_fee_bump: { tx: { fee_source: source, fee: '400', inner_tx: inner, ext: 'v0' }, signatures: [] },
  };
}

function transactionResult({ kind, operations }: DrawnTransaction): Json {
  const done = { tx_success: operations.map(({ result }) => ({ op_inner: result })) };
  const inner = { fee_charged: '0', result: done, ext: 'v0' };
  return {
    ...{ fee_charged: '100', ext: 'v0' },
    result:
      kind === 'tx_fee_bump'
        ? { tx_fee_bump_inner_success: { transaction_hash: '11'.repeat(32), result: inner } }
        : done,
  };
}

const toMuxedId = fc.oneof(
  uint64.map((id) => ({ u64: id.toString() })),
  hex.map((bytes) => ({ bytes })),
  fc.uint8Array({ maxLength: 28 }).map((bytes) => xdr.ScVal.scvString(bytes).toJson() as Json),
);
const i128 = fc.bigInt({ min: -(2n ** 127n), max: 2n ** 127n - 1n }).map((value) => ({ i128: value.toString() }));
const data = fc.oneof(
  i128 as fc.Arbitrary<Json>,
  fc.tuple(i128, toMuxedId).map(([value, id]) => ({
    map: [
      { key: { symbol: 'amount' }, val: value },
      { key: { symbol: 'to_muxed_id' }, val: id },
    ],
  })),
  fc.constant('void'),
);

/** Those of an asset's own contract, those that only look so, and others. */
const event = fc
  .record({
    type: fc.constantFrom('transfer', 'mint', 'burn', 'clawback', 'set_authorized', 'swap'),
    ...{ from: holder, to: holder, data, forger: contract },
    name: fc.oneof(
      fc.constant('native'),
      issued.map(({ name }) => name),
    ),
    ...{ isForged: fc.boolean(), isSystem: fc.constantFrom(false, false, false, true) },
  })
  .map(({ type, from, to, data, name, forger, isForged, isSystem }) => ({
    ext: 'v0',
    contract_id: isForged ? forger : contractIdOf(name),
    // Rust's keyword, escaped: newer servers leave the escape out.
    type_: isSystem ? 'system' : 'contract',
    body: {
      v0: {
        topics: [
          { symbol: type },
          ...(type === 'mint' ? [] : [{ address: from }]),
          ...(type === 'transfer' || type === 'mint' ? [{ address: to }] : []),
          { string: name },
        ],
        data,
      },
    },
  }));

const encoded = (type: string, json: Json): string => stellar.encode(type, JSON.stringify(json));
/** As a server shows it. */
const shown = (type: string, base64: string): Json => JSON.parse(stellar.decode(type, base64));
const UNKNOWN = Buffer.alloc(8, 0x7f).toString('base64');

const PLACE = { transactionHash: '22'.repeat(32), closedAt: '2026-11-25T00:00:00.000Z' };
const placeOf = (index: number) => ({
  ...PLACE,
  operationId: ((7n << 32n) | (1n << 12n) | BigInt(index + 1)).toString(),
});

/** One operation in both forms. */
function both(transaction: DrawnTransaction, index: number, events: readonly Json[]) {
  const envelopeXdr = encoded('TransactionEnvelope', envelopeOf(transaction));
  const resultXdr = encoded('TransactionResult', transactionResult(transaction));
  const eventsXdr = events.map((each) => encoded('ContractEvent', each));
  const byXdr: RpcOperation = { ...placeOf(index), envelopeXdr, resultXdr, eventsXdr };
  const json = {
    envelope: shown('TransactionEnvelope', envelopeXdr),
    result: shown('TransactionResult', resultXdr),
    events: eventsXdr.map((each) => shown('ContractEvent', each)),
  };
  const none = { envelopeXdr: UNKNOWN, resultXdr: UNKNOWN, eventsXdr: events.map(() => UNKNOWN) };
  return { byXdr, byJson: { ...placeOf(index), ...none, json } };
}

/** What is told of an operation, apart from the bytes that it was told by. */
const outcomeOf = (raw: RpcOperation) => parseOperation(raw, contractIdOf);

const NAMES = Object.keys(BODIES);

t.test('every kind of operation that the SDK knows is drawn', async (t) => {
  const arms = xdr.OperationBody as unknown as Record<string, unknown>;
  const known = Object.getOwnPropertyNames(arms).filter((name) => typeof arms[name] === 'function');
  const asArm = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  t.strictSame(
    NAMES.filter((name) => !known.map(asArm).includes(name)),
    [],
  );
  t.strictSame(
    known.map(asArm).filter((name) => !NAMES.includes(name) && !/^(from_|is$)/.test(name)),
    [],
  );
});

for (const name of NAMES)
  t.test(`${name} is the same from XDR and from JSON`, async () => {
    fc.assert(
      fc.property(transactionOf([name]), fc.array(event, { maxLength: 3 }), (transaction, events) => {
        const { byXdr, byJson } = both(transaction, 0, events);
        t.strictSame(outcomeOf(byJson), outcomeOf(byXdr));
      }),
      { numRuns: 40 },
    );
  });

t.test('each operation of a transaction is the same from XDR and from JSON', async () => {
  const some = fc
    .array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 6 })
    .chain((names) => fc.record({ transaction: transactionOf(names), index: fc.nat(names.length - 1) }));
  fc.assert(
    fc.property(some, fc.array(event, { maxLength: 3 }), ({ transaction, index }, events) => {
      const { byXdr, byJson } = both(transaction, index, events);
      t.strictSame(outcomeOf(byJson), outcomeOf(byXdr));
    }),
    draws(100),
  );
});

/** Integers as older servers wrote them, in events. */
const spelledAsBefore = (json: Json): Json =>
  JSON.parse(JSON.stringify(json), (name, value) => {
    if (name !== 'i128') return name === 'u64' && BigInt(value) < 2n ** 53n ? Number(value) : value;
    const bits = BigInt.asUintN(128, BigInt(value));
    return { hi: BigInt.asIntN(64, bits >> 64n).toString(), lo: (bits & (2n ** 64n - 1n)).toString() };
  });

t.test('events are the same in the spelling of older servers', async (t) => {
  fc.assert(
    fc.property(transactionOf(['invoke_host_function']), fc.array(event, { maxLength: 3 }), (transaction, events) => {
      const { byXdr, byJson } = both(transaction, 0, events);
      const before = { ...byJson.json, events: byJson.json.events.map(spelledAsBefore) };
      t.strictSame(outcomeOf({ ...byJson, json: before }), outcomeOf(byXdr));
    }),
    draws(100),
  );
});

t.test('addresses of every kind are those of Stellar’s own code', async (t) => {
  fc.assert(
    fc.property(fc.oneof(holder, muxedAccount), (text) => {
      t.equal(shown('ScAddress', encoded('ScAddress', text)), text);
      const parsed = parseStrkey(text)!;
      t.equal(strkeyOf(parsed.kind, parsed.bytes), text);
    }),
  );
});

t.test('a muxed contract is a contract and an id', async (t) => {
  // No release of Stellar's own code that can be had knows it: these are two of ours, which
  // share nothing.
  t.throws(() => encoded('ScAddress', strkeyOf('W', Buffer.alloc(40))));
  fc.assert(
    fc.property(key, uint64, (bytes, id) => {
      const text = strkeyOf('W', withId(bytes, id));
      t.equal(muxedContract({ contract: StrKey.encodeContract(bytes), id: id.toString() }), text);
      t.equal(contractOf(text), strkeyOf('C', bytes));
      t.match(parseStrkey(text), { kind: 'W' });
    }),
  );
  t.equal(contractIdOf('native'), Asset.native().contractId(PASSPHRASE));
});
