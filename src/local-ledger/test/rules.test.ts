/** The local ledger judges transactions like core: every result code by a real
 *  signed transaction. */
import { createHash } from 'node:crypto';
import {
  Account,
  Asset,
  AuthClawbackEnabledFlag,
  AuthImmutableFlag,
  AuthRequiredFlag,
  AuthRevocableFlag,
  Claimant,
  Keypair,
  LiquidityPoolAsset,
  Memo,
  MuxedAccount,
  Operation,
  StrKey,
  TimeoutInfinite,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk';
import t from 'tap';
import { startTestLedger } from '../../../test/helpers/ledger.js';
import { testDatabase } from '../../../test/helpers/mongo.js';
import { MAX_INT64, STROOPS_PER_UNIT, toAmount } from '../stroops.js';

interface Answer {
  status: number;
  transaction: string;
  inner?: string;
  operations?: string[];
  resultXdr: string;
  body: Record<string, unknown>;
}

const { db } = await testDatabase(t);
const { url, client, ledger } = await startTestLedger(t, { db, closeMs: 15 });
const { passphrase } = ledger;

async function post(envelope: string): Promise<Answer> {
  const response = await fetch(`${url}/transactions`, { method: 'POST', body: new URLSearchParams({ tx: envelope }) });
  const body = (await response.json()) as Record<string, never>;
  const extras = body.extras as undefined | { result_xdr: string; result_codes: Record<string, never> };
  return {
    status: response.status,
    transaction: extras?.result_codes?.transaction ?? (response.status === 200 ? 'tx_success' : ''),
    inner: extras?.result_codes?.inner_transaction,
    operations: extras?.result_codes?.operations,
    resultXdr: extras?.result_xdr ?? '',
    body,
  };
}

interface Shape {
  fee?: string;
  sequence?: string;
  signers?: Keypair[];
  change?: (builder: TransactionBuilder) => unknown;
  hasTimeBounds?: boolean;
}

/** Signed and ready to be posted; by default with the right fee, sequence and signature, and
 *  without time bounds. */
async function build(source: Keypair, operations: xdr.Operation[], shape: Shape = {}) {
  const address = source.publicKey();
  const known = shape.sequence ?? (await client.server.loadAccount(address)).sequenceNumber();
  const builder = new TransactionBuilder(new Account(address, known), {
    fee: shape.fee ?? '100',
    networkPassphrase: passphrase,
  });
  for (const operation of operations) builder.addOperation(operation);
  shape.change?.(builder);
  // The builder requires an explicit time bound.
  if (!shape.hasTimeBounds) builder.setTimeout(TimeoutInfinite);
  const transaction = builder.build();
  const signers = shape.signers ?? [source];
  if (signers.length > 0) transaction.sign(...signers);
  return transaction;
}

const apply = async (source: Keypair, operations: xdr.Operation[], shape?: Shape): Promise<Answer> =>
  post((await build(source, operations, shape)).toXdr());

const fresh = async (): Promise<Keypair> => Keypair.fromSecret((await client.fund()).secret);
const native = Asset.native();
const pay = (destination: string, amount: string, asset = native, source?: string) =>
  Operation.payment({ destination, asset, amount, source });
const nobody = Keypair.random().publicKey();

/** An account holding an asset of its own issuer. */
async function withAsset(amount = '100', flags?: number) {
  const [issuer, holder] = await Promise.all([fresh(), fresh()]);
  const asset = new Asset('TEST', issuer.publicKey());
  if (flags !== undefined) {
    await client.submit({ from: issuer, operations: [Operation.setOptions({ setFlags: flags as 1 })] });
  }
  const operations = [Operation.changeTrust({ asset, limit: '1000' })];
  if (flags === undefined) operations.push(pay(holder.publicKey(), amount, asset, issuer.publicKey()));
  await client.submit({ from: holder, operations, signers: flags === undefined ? [issuer] : [] });
  return { issuer, holder, asset };
}

const signedPayload = (of: Keypair): string =>
  StrKey.encodeSignedPayload(
    new xdr.SignerKeyEd25519SignedPayload({ ed25519: of.rawPublicKey(), payload: Buffer.from('payload') }).toXdr(),
  );

const nowSeconds = () => Math.floor(Date.now() / 1000);

t.test('a transaction that core turns away leaves no trace, and its answer says why', async (t) => {
  const [source, other] = await Promise.all([fresh(), fresh()]);
  const id = source.publicKey();
  const payment = pay(other.publicKey(), '1');
  const poor = Keypair.random();
  await client.submit({
    from: other,
    operations: [Operation.createAccount({ destination: poor.publicKey(), startingBalance: '1' })],
  });
  const sequence = (await client.server.loadAccount(id)).sequenceNumber();
  const latest = (await client.status()).sequence;
  const version0 = () => {
    const key = xdr.PublicKey.publicKeyTypeEd25519(source.rawPublicKey()).ed25519;
    const tx = new xdr.TransactionV0({
      sourceAccountEd25519: key,
      fee: 100,
      seqNum: xdr.Int64.fromString((BigInt(sequence) + 1n).toString()),
      timeBounds: null,
      memo: xdr.Memo.memoNone(),
      operations: [payment],
      ext: xdr.TransactionV0Ext.v0(),
    });
    return new xdr.TransactionV0Envelope({ tx, signatures: [] });
  };
  const bounds = (minTime: number, maxTime: number): Shape => ({
    change: (builder) => builder.setTimebounds(minTime, maxTime),
    hasTimeBounds: true,
  });

  const cases: [name: string, envelope: () => Promise<string>, code: string, resultXdr?: string][] = [
    ['version 0', async () => xdr.TransactionEnvelope.envelopeTypeTxV0(version0()).toXdr('base64'), 'tx_not_supported'],
    ['no operation', async () => (await build(source, [])).toXdr(), 'tx_missing_operation'],
    [
      'too early',
      async () => (await build(source, [payment], bounds(nowSeconds() + 3600, 0))).toXdr(),
      'tx_too_early',
      'AAAAAAAAAAD////+AAAAAA==',
    ],
    ['too late', async () => (await build(source, [payment], bounds(0, nowSeconds() - 3600))).toXdr(), 'tx_too_late'],
    [
      'ledger bounds behind',
      async () => (await build(source, [payment], { change: (b) => b.setLedgerbounds(0, latest) })).toXdr(),
      'tx_too_late',
    ],
    [
      'ledger bounds ahead',
      async () => (await build(source, [payment], { change: (b) => b.setLedgerbounds(1_000_000, 0) })).toXdr(),
      'tx_too_early',
    ],
    [
      'fee below the minimum of all its operations',
      async () => {
        const transaction = await build(source, [payment, payment], { signers: [] });
        const envelope = transaction.toEnvelope();
        Object.assign(xdr.expectUnionVariant(envelope, 'envelopeTypeTx').v1.tx, { fee: 199 });
        return envelope.toXdr('base64');
      },
      'tx_insufficient_fee',
      'AAAAAAAAAAD////3AAAAAA==',
    ],
    [
      'unknown source',
      async () => (await build(Keypair.random(), [payment], { sequence: '1' })).toXdr(),
      'tx_no_source_account',
      'AAAAAAAAAAD////4AAAAAA==',
    ],
    [
      'sequence number used before',
      async () => (await build(source, [payment], { sequence: (BigInt(sequence) - 1n).toString() })).toXdr(),
      'tx_bad_seq',
      'AAAAAAAAAAD////7AAAAAA==',
    ],
    [
      'sequence number too far ahead',
      async () => (await build(source, [payment], { sequence: (BigInt(sequence) + 1n).toString() })).toXdr(),
      'tx_bad_seq',
    ],
    [
      'sequence number younger than it asks for',
      async () =>
        (await build(source, [payment], { change: (b) => b.setMinAccountSequenceLedgerGap(1_000_000) })).toXdr(),
      'tx_bad_minseq_age_or_gap',
    ],
    [
      'no signature',
      async () => (await build(source, [payment], { signers: [] })).toXdr(),
      'tx_bad_auth',
      'AAAAAAAAAAD////6AAAAAA==',
    ],
    [
      'signed by another account',
      async () => (await build(source, [payment], { signers: [other] })).toXdr(),
      'tx_bad_auth',
    ],
    [
      'signed for another network',
      async () => {
        const foreign = TransactionBuilder.fromXdr(
          (await build(source, [payment], { signers: [] })).toXdr(),
          'elsewhere',
        );
        foreign.sign(source);
        return foreign.toXdr();
      },
      'tx_bad_auth',
    ],
    [
      'an extra signer that is missing',
      async () => (await build(source, [payment], { change: (b) => b.setExtraSigners([nobody]) })).toXdr(),
      'tx_bad_auth',
    ],
    [
      'all of its lumens are reserved',
      async () => (await build(poor, [payment])).toXdr(),
      'tx_insufficient_balance',
      'AAAAAAAAAAD////5AAAAAA==',
    ],
    [
      'a signature that is not needed',
      async () => (await build(source, [payment], { signers: [source, other] })).toXdr(),
      'tx_bad_auth_extra',
      'AAAAAAAAAAD////2AAAAAA==',
    ],
  ];
  for (const [name, envelope, code, resultXdr] of cases) {
    const answer = await post(await envelope());
    t.match(answer, { status: 400, transaction: code, operations: undefined }, `${name}: ${code}`);
    if (resultXdr !== undefined) t.equal(answer.resultXdr, resultXdr, `${name}: result as core writes it`);
    t.match(answer.body, { title: 'Transaction Failed', status: 400, extras: { envelope_xdr: String } });
  }

  const account = await client.server.loadAccount(id);
  t.equal(account.sequenceNumber(), sequence, 'the sequence number is as before');
  t.equal(account.balances.at(-1)!.balance, '10000.0000000', 'and so is the balance');

  for (const garbage of ['', 'AAAA', '%%%', `${(await build(source, [payment])).toXdr()}AAAA`]) {
    const answer = await post(garbage);
    t.match(answer, { status: 400, body: { title: 'Transaction Malformed', extras: { envelope_xdr: garbage } } });
  }
});

t.test('operations that core refuses before a ledger: one has the code, nothing is charged', async (t) => {
  const [source, other] = await Promise.all([fresh(), fresh()]);
  const id = source.publicKey();
  const pool = new LiquidityPoolAsset(native, new Asset('TEST', other.publicKey()), 30);
  const malformedPayment = () => {
    const operation = pay(other.publicKey(), '1');
    Object.assign(xdr.expectUnionVariant(operation.body, 'payment').paymentOp, { amount: 0n });
    return operation;
  };
  const cases: [name: string, operation: xdr.Operation, code: string][] = [
    ['source that does not sign', pay(id, '1', native, other.publicKey()), 'op_bad_auth'],
    ['source that is nowhere and does not sign', pay(id, '1', native, nobody), 'op_bad_auth'],
    ['amount of nothing', malformedPayment(), 'op_malformed'],
    ['account that creates itself', Operation.createAccount({ destination: id, startingBalance: '5' }), 'op_malformed'],
    ['merge into itself', Operation.accountMerge({ destination: id }), 'op_malformed'],
    ['trust in pool shares', Operation.changeTrust({ asset: pool }), 'op_malformed'],
    [
      'both set and clear',
      Operation.setOptions({ setFlags: AuthRequiredFlag, clearFlags: AuthRequiredFlag }),
      'op_bad_flags',
    ],
    ['a flag that is none', Operation.setOptions({ setFlags: 16 as 1 }), 'op_unknown_flag'],
    ['itself as a signer', Operation.setOptions({ signer: { ed25519PublicKey: id, weight: 1 } }), 'op_bad_signer'],
    [
      'a transaction as a signer',
      Operation.setOptions({ signer: { preAuthTx: Buffer.alloc(32, 1), weight: 1 } }),
      'op_bad_signer',
    ],
    [
      'a signed payload as a signer',
      Operation.setOptions({ signer: { ed25519SignedPayload: signedPayload(other), weight: 1 } }),
      'op_bad_signer',
    ],
    [
      'flags on a line of another issuer',
      Operation.setTrustLineFlags({
        trustor: id,
        asset: new Asset('TEST', other.publicKey()),
        flags: { authorized: true },
      }),
      'op_malformed',
    ],
    ['bump_sequence', Operation.bumpSequence({ bumpTo: '9' }), 'op_not_supported'],
    ['inflation', Operation.inflation({}), 'op_not_supported'],
    [
      'an offer of an asset for itself',
      Operation.manageSellOffer({ selling: native, buying: native, amount: '1', price: '1' }),
      'op_malformed',
    ],
    [
      'an offer that ends before it began',
      Operation.manageBuyOffer({ selling: native, buying: new Asset('TEST', id), buyAmount: '0', price: '1' }),
      'op_malformed',
    ],
    ['a bump of the sequence number', Operation.bumpSequence({ bumpTo: '1' }), 'op_not_supported'],
  ];
  const before = await client.server.loadAccount(id);
  for (const [name, operation, code] of cases) {
    const answer = await apply(source, [pay(other.publicKey(), '1'), operation]);
    t.match(answer, { status: 400, transaction: 'tx_failed', operations: ['op_success', code] }, `${name}: ${code}`);
  }
  const after = await client.server.loadAccount(id);
  t.equal(after.sequenceNumber(), before.sequenceNumber(), 'the sequence number is as before');

  const single = await apply(source, [pay(id, '1', native, other.publicKey())]);
  t.equal(single.resultXdr, 'AAAAAAAAAGT/////AAAAAf////8AAAAA', 'the result is as core writes it');
});

t.test('operations that fail in a ledger: the fee is taken, the effects are not', async (t) => {
  const [source, other] = await Promise.all([fresh(), fresh()]);
  const id = source.publicKey();
  const { issuer, holder, asset } = await withAsset();
  const strict = await withAsset('0', AuthRequiredFlag | AuthRevocableFlag);
  const full = await withAsset('1000');
  const rich = await fresh();
  const owner = await fresh();
  await client.submit({ from: owner, operations: [Operation.manageData({ name: 'a', value: 'b' })] });
  const frozen = await fresh();
  await client.submit({ from: frozen, operations: [Operation.setOptions({ setFlags: AuthImmutableFlag })] });
  const poor = Keypair.random();
  const create = Operation.createAccount({ destination: poor.publicKey(), startingBalance: '1.4' });
  await client.submit({ from: other, operations: [create] });
  const unknown = new Asset('TEST', nobody);
  const send = { sendAsset: native, destination: other.publicKey(), destAsset: native, path: [] };
  const toIssuer = new Asset('TEST', issuer.publicKey());

  type Case = [name: string, from: Keypair, operation: xdr.Operation, code: string, resultXdr?: string];
  const cases: Case[] = [
    [
      'create_account that is there',
      source,
      Operation.createAccount({ destination: other.publicKey(), startingBalance: '5' }),
      'op_already_exists',
      'AAAAAAAAAGT/////AAAAAQAAAAAAAAAA/////AAAAAA=',
    ],
    [
      'create_account below the reserve',
      source,
      Operation.createAccount({ destination: nobody, startingBalance: '0.9999999' }),
      'op_low_reserve',
    ],
    [
      'create_account with more than it has',
      source,
      Operation.createAccount({ destination: nobody, startingBalance: '10000' }),
      'op_underfunded',
    ],
    [
      'payment to an unknown account',
      source,
      pay(nobody, '1'),
      'op_no_destination',
      'AAAAAAAAAGT/////AAAAAQAAAAAAAAAB////+wAAAAA=',
    ],
    [
      'payment of more than it has',
      source,
      pay(other.publicKey(), '10000'),
      'op_underfunded',
      'AAAAAAAAAGT/////AAAAAQAAAAAAAAAB/////gAAAAA=',
    ],
    ['payment of what is reserved', source, pay(other.publicKey(), '9999.5'), 'op_underfunded'],
    ['payment of an asset to an unknown account', holder, pay(nobody, '1', asset), 'op_no_destination'],
    [
      'payment without trust at the destination',
      holder,
      pay(other.publicKey(), '1', asset),
      'op_no_trust',
      'AAAAAAAAAGT/////AAAAAQAAAAAAAAAB////+gAAAAA=',
    ],
    [
      'payment to a line that waits for its issuer',
      strict.issuer,
      pay(strict.holder.publicKey(), '1', strict.asset),
      'op_not_authorized',
      'AAAAAAAAAGT/////AAAAAQAAAAAAAAAB////+QAAAAA=',
    ],
    [
      'payment over the limit',
      full.issuer,
      pay(full.holder.publicKey(), '0.0000001', full.asset),
      'op_line_full',
      'AAAAAAAAAGT/////AAAAAQAAAAAAAAAB////+AAAAAA=',
    ],
    [
      'payment without trust at the source',
      source,
      pay(holder.publicKey(), '1', asset),
      'op_src_no_trust',
      'AAAAAAAAAGT/////AAAAAQAAAAAAAAAB/////QAAAAA=',
    ],
    [
      'payment from a line that waits',
      strict.holder,
      pay(strict.issuer.publicKey(), '1', strict.asset),
      'op_src_not_authorized',
    ],
    [
      'payment of more of an asset than it has',
      holder,
      pay(issuer.publicKey(), '100.0000001', toIssuer),
      'op_underfunded',
    ],
    ['lumens beyond int64', client.root, pay(id, toAmount(MAX_INT64)), 'op_line_full'],
    [
      'path payment over its bound',
      source,
      Operation.pathPaymentStrictReceive({ ...send, sendMax: '1', destAmount: '2' }),
      'op_over_source_max',
    ],
    [
      'path payment under its bound',
      source,
      Operation.pathPaymentStrictSend({ ...send, sendAmount: '1', destMin: '2' }),
      'op_under_dest_min',
    ],
    [
      'path payment from an asset to another',
      source,
      Operation.pathPaymentStrictReceive({ ...send, sendAsset: asset, sendMax: '1', destAmount: '1' }),
      'op_too_few_offers',
    ],
    [
      'path payment to an unknown account',
      source,
      Operation.pathPaymentStrictReceive({ ...send, destination: nobody, sendMax: '2', destAmount: '2' }),
      'op_no_destination',
    ],
    ['trust in oneself', issuer, Operation.changeTrust({ asset }), 'op_self_not_allowed'],
    ['trust in an issuer that is not there', source, Operation.changeTrust({ asset: unknown }), 'op_no_issuer'],
    ['end of a trust that is not there', source, Operation.changeTrust({ asset, limit: '0' }), 'op_invalid_limit'],
    ['end of a trust with money in it', holder, Operation.changeTrust({ asset, limit: '0' }), 'op_invalid_limit'],
    ['limit below the balance', holder, Operation.changeTrust({ asset, limit: '99' }), 'op_invalid_limit'],
    ['trust without the reserve for it', poor, Operation.changeTrust({ asset }), 'op_low_reserve'],
    ['merge into an unknown account', source, Operation.accountMerge({ destination: nobody }), 'op_no_account'],
    ['merge of an account with data', owner, Operation.accountMerge({ destination: id }), 'op_has_sub_entries'],
    ['merge of an account with a trustline', holder, Operation.accountMerge({ destination: id }), 'op_has_sub_entries'],
    ['merge of an account that shall stay', frozen, Operation.accountMerge({ destination: id }), 'op_immutable_set'],
    ['data without the reserve for it', poor, Operation.manageData({ name: 'a', value: 'b' }), 'op_low_reserve'],
    [
      'end of data that is not there',
      source,
      Operation.manageData({ name: 'a', value: null }),
      'op_data_name_not_found',
    ],
    [
      'flags of an account that shall stay',
      frozen,
      Operation.setOptions({ setFlags: AuthRequiredFlag }),
      'op_cant_change',
    ],
    [
      'clawback without revocable',
      source,
      Operation.setOptions({ setFlags: AuthClawbackEnabledFlag }),
      'op_auth_revocable_required',
    ],
    [
      'inflation to an unknown account',
      source,
      Operation.setOptions({ inflationDest: nobody }),
      'op_invalid_inflation',
    ],
    [
      'end of a signer that is none',
      source,
      Operation.setOptions({ signer: { ed25519PublicKey: nobody, weight: 0 } }),
      'op_bad_signer',
    ],
    [
      'a signer without the reserve for it',
      poor,
      Operation.setOptions({ signer: { ed25519PublicKey: nobody, weight: 1 } }),
      'op_low_reserve',
    ],
    [
      'flags of a line that is not there',
      issuer,
      Operation.setTrustLineFlags({ trustor: id, asset, flags: { authorized: true } }),
      'op_no_trust_line',
    ],
    [
      'a line taken back by an account that may not',
      issuer,
      Operation.setTrustLineFlags({ trustor: holder.publicKey(), asset, flags: { authorized: false } }),
      'op_cant_revoke',
    ],
  ];
  const spenders = new Map<string, { sequence: bigint; stroops: bigint; transactions: bigint }>();
  const stroopsOf = async (address: string) => {
    const account = await client.server.loadAccount(address);
    const stroops = BigInt(account.balances.at(-1)!.balance.replace('.', ''));
    return { sequence: BigInt(account.sequenceNumber()), stroops };
  };
  const envelopes: string[] = [];
  for (const [name, from, operation] of cases) {
    const address = from.publicKey();
    const spender = spenders.get(address) ?? { ...(await stroopsOf(address)), transactions: 0n };
    const sequence = (spender.sequence + spender.transactions).toString();
    const envelope = (await build(from, [operation], { sequence })).toXdr();
    envelopes.push(envelope);
    spenders.set(address, { ...spender, transactions: spender.transactions + 1n });
    // All wait for the same ledger or two, in sequence for each account.
    const response = await fetch(`${url}/transactions_async`, {
      method: 'POST',
      body: new URLSearchParams({ tx: envelope }),
    });
    t.match([response.status, await response.json()], [201, { tx_status: 'PENDING' }], `${name}: may enter a ledger`);
  }
  for (const [index, [name, , , code, resultXdr]] of cases.entries()) {
    const answer = await post(envelopes[index]!);
    t.match(answer, { status: 400, transaction: 'tx_failed', operations: [code] }, `${name}: ${code}`);
    if (resultXdr !== undefined) t.equal(answer.resultXdr, resultXdr, `${name}: result as core writes it`);
    t.strictSame(await post(envelopes[index]!), answer, `${name}: sent again, it gets the same answer`);
  }
  for (const [address, { sequence, stroops, transactions }] of spenders) {
    const after = await stroopsOf(address);
    t.equal(stroops - after.stroops, 100n * transactions, 'the fees and nothing else are gone');
    t.equal(after.sequence - sequence, transactions, 'each has used a sequence number');
  }

  await client.submit({ from: rich, operations: [pay(id, '1')] });
  const merge = await build(rich, [
    Operation.createAccount({ destination: poor.publicKey(), startingBalance: '5' }),
    Operation.accountMerge({ destination: id }),
    pay(id, '1'),
  ]);
  t.match(
    await post(merge.toXdr()),
    { transaction: 'tx_failed', operations: ['op_already_exists', 'op_success', 'op_no_source_account'] },
    'the operations after a failure are judged on the state that is thrown away',
  );
});

t.test('too many entries, or more lumens than fit → refused with the code of core', async (t) => {
  const [source, heir] = await Promise.all([fresh(), fresh()]);
  const names = Array.from({ length: 1000 }, (_, index) => `entry ${index}`);
  for (let done = 0; done < names.length; done += 100) {
    const operations = names.slice(done, done + 100).map((name) => Operation.manageData({ name, value: 'x' }));
    await client.submit({ from: source, operations });
  }
  const one = Operation.manageData({ name: 'one more', value: 'x' });
  t.match(await apply(source, [one]), { transaction: 'tx_failed', operations: ['op_too_many_subentries'] }, 'data');
  const line = Operation.changeTrust({ asset: new Asset('TEST', heir.publicKey()) });
  t.match(await apply(source, [line]), { operations: ['op_too_many_subentries'] }, 'a trustline');
  const signer = Operation.setOptions({ signer: { ed25519PublicKey: heir.publicKey(), weight: 1 } });
  t.match(await apply(source, [signer]), { operations: ['op_too_many_subentries'] }, 'a signer');
  const swap = [Operation.manageData({ name: 'entry 7', value: null }), one];
  t.match(await apply(source, swap, { fee: '100' }), { status: 200 }, 'one for another fits');

  // All existing lumens would fit into one account: only a tampered ledger has more.
  const key = { _id: `account:${heir.publicKey()}` as never };
  const holds = (balance: bigint) => db.collection('ledger_entries').updateOne(key, { $set: { balance } });
  await holds(MAX_INT64 - 10n);
  const rich = await fresh();
  const merge = Operation.accountMerge({ destination: heir.publicKey() });
  t.match(await apply(rich, [merge]), { transaction: 'tx_failed', operations: ['op_dest_full'] });
  t.match(await apply(rich, [pay(heir.publicKey(), '0.0000011')]), { operations: ['op_line_full'] });
  await holds(10_000n * STROOPS_PER_UNIT);
});

t.test('what is new in this ledger cannot be merged in it', async (t) => {
  const source = await fresh();
  const child = Keypair.random();
  const operations = [
    Operation.createAccount({ destination: child.publicKey(), startingBalance: '5' }),
    Operation.accountMerge({ source: child.publicKey(), destination: source.publicKey() }),
  ];
  const answer = await apply(source, operations, { signers: [source, child] });
  t.match(answer, { transaction: 'tx_failed', operations: ['op_success', 'op_seq_num_too_far'] });
});

t.test('each operation moves its money to the stroop', async (t) => {
  const balanceOf = async (address: string, code?: string) =>
    (await client.server.loadAccount(address)).balances.find((line) =>
      code === undefined ? line.asset_type === 'native' : 'asset_code' in line && line.asset_code === code,
    )?.balance;

  const { issuer, holder, asset } = await withAsset('100');
  const friend = await fresh();
  await client.submit({ from: friend, operations: [Operation.changeTrust({ asset })] });
  const muxed = new MuxedAccount(new Account(friend.publicKey(), '0'), '42').accountId();
  t.match(await apply(holder, [pay(muxed, '30.5', asset)]), { status: 200 });
  t.match(
    await apply(friend, [pay(issuer.publicKey(), '0.5', asset)]),
    { status: 200 },
    'paid back to its issuer it burns',
  );
  t.equal(await balanceOf(holder.publicKey(), 'TEST'), '69.5000000');
  t.equal(await balanceOf(friend.publicKey(), 'TEST'), '30.0000000');

  const before = BigInt((await balanceOf(holder.publicKey()))!.replace('.', ''));
  const path = { sendAsset: native, destination: friend.publicKey(), destAsset: native, path: [] };
  const two = await apply(holder, [
    Operation.pathPaymentStrictReceive({ ...path, sendMax: '3', destAmount: '2.5' }),
    Operation.pathPaymentStrictSend({ ...path, sendAmount: '1.5', destMin: '1' }),
    pay(holder.publicKey(), '50000'),
  ]);
  t.match(two, { status: 200 }, 'a payment to oneself succeeds whatever the amount');
  t.equal(before - BigInt((await balanceOf(holder.publicKey()))!.replace('.', '')), 40_000_300n);

  const heir = await fresh();
  const merged = await apply(friend, [Operation.changeTrust({ asset, limit: '0' })]);
  t.match(merged, { operations: ['op_invalid_limit'] });
  t.match(await apply(friend, [pay(holder.publicKey(), '30', asset), Operation.changeTrust({ asset, limit: '0' })]), {
    status: 200,
  });
  const left = (await balanceOf(friend.publicKey()))!;
  const end = await apply(friend, [Operation.accountMerge({ destination: heir.publicKey() })]);
  t.match(end, { status: 200 });
  const result = xdr.TransactionResult.fromXdr(String(end.body.result_xdr), 'base64');
  const [merge] = xdr.expectUnionVariant(result.result, 'txSuccess').results;
  const outcome = xdr.expectUnionVariant(xdr.expectUnionVariant(merge!, 'opInner').tr, 'accountMerge');
  const moved = xdr
    .expectUnionVariant(outcome.accountMergeResult, 'accountMergeSuccess')
    .sourceAccountBalance.toString();
  t.equal(BigInt(moved), BigInt(left.replace('.', '')) - 100n, 'the result carries what was moved');
  t.equal(BigInt((await balanceOf(heir.publicKey()))!.replace('.', '')), 100_000_000_000n + BigInt(moved));
  await t.rejects(client.server.loadAccount(friend.publicKey()), { message: 'Not Found' });

  const all = await db.collection('ledger_entries', { useBigInt64: true }).find({ kind: 'account' }).toArray();
  const fees = (await db.collection('ledger_head', { useBigInt64: true }).findOne({}))!.tail.feePool as bigint;
  const sum = all.reduce((total: bigint, account) => total + account.balance, 0n);
  t.equal(sum + fees, 10n ** 18n, 'no lumen was made or lost');
});

t.test('a claimable balance waits outside of accounts for those who may claim it', async (t) => {
  const { issuer, holder, asset } = await withAsset('100');
  const [payee, stranger] = await Promise.all([fresh(), fresh()]);
  const [from, to] = [holder.publicKey(), payee.publicKey()];
  const lumens = async (of: string) =>
    BigInt((await client.server.loadAccount(of)).balances.at(-1)!.balance.replace('.', ''));
  const create = (amount: string, of = asset, claimants = [new Claimant(to)]) =>
    Operation.createClaimableBalance({ asset: of, amount, claimants });
  const refusals: [Keypair, xdr.Operation, string][] = [
    [holder, create('1', asset, [new Claimant(to), new Claimant(to)]), 'op_malformed'],
    [holder, create('100.0000001'), 'op_underfunded'],
    [holder, create('20000', native), 'op_underfunded'],
    [holder, create('9998.3', native), 'op_low_reserve'],
    [stranger, create('1'), 'op_no_trust'],
    [payee, Operation.claimClaimableBalance({ balanceId: '0'.repeat(72) }), 'op_does_not_exist'],
  ];
  for (const [source, operation, code] of refusals) {
    t.strictSame((await apply(source, [operation])).operations, [code], code);
  }

  const made = await build(holder, [create('30'), create('5', native)]);
  const [ofAsset, ofLumens] = [made.getClaimableBalanceId(0), made.getClaimableBalanceId(1)];
  t.match(await post(made.toXdr()), { status: 200 });
  t.match(await client.server.claimableBalances().claimableBalance(ofAsset).call(), {
    id: ofAsset,
    asset: `TEST:${issuer.publicKey()}`,
    amount: '30.0000000',
    sponsor: from,
    claimants: [{ destination: to, predicate: { unconditional: true } }],
  });
  const waiting = async (limit = 10) =>
    (await client.server.claimableBalances().claimant(to).limit(limit).call()).records.map(({ id }) => id);
  t.strictSame((await waiting()).sort(), [ofAsset, ofLumens].sort());
  t.strictSame(await waiting(1), (await waiting()).slice(0, 1));
  t.match(await client.server.loadAccount(from), { num_sponsoring: 2 });

  const claim = (balanceId: string) => Operation.claimClaimableBalance({ balanceId });
  t.match(await apply(stranger, [claim(ofAsset)]), { operations: ['op_cannot_claim'] });
  t.match(await apply(payee, [claim(ofAsset)]), { operations: ['op_no_trust'] });
  const trust = Operation.changeTrust({ asset });
  const before = await lumens(to);
  t.match(await apply(payee, [trust, claim(ofAsset), claim(ofLumens)]), { status: 200 });
  t.equal((await lumens(to)) - before, 50_000_000n - 300n);
  t.match((await client.server.loadAccount(to)).balances, [{ balance: '30.0000000' }, {}]);
  t.match(await client.server.loadAccount(from), { num_sponsoring: 0 });
  t.strictSame(await waiting(), []);
  t.match(await apply(payee, [claim(ofAsset)]), { operations: ['op_does_not_exist'] });
  const { records } = await client.server.effects().forAccount(to).order('desc').limit(4).call();
  t.match(records, [
    { type: 'account_credited', asset_type: 'native', amount: '5.0000000' },
    { type: 'claimable_balance_claimed', balance_id: ofLumens, asset: 'native' },
    { type: 'account_credited', asset_code: 'TEST', amount: '30.0000000' },
    { type: 'claimable_balance_claimed', balance_id: ofAsset },
  ]);

  ledger.stopTimer();
  const late = await build(holder, [create('7')]);
  const taken = await build(payee, [claim(late.getClaimableBalanceId(0))]);
  for (const transaction of [late, taken]) await client.server.submitAsyncTransaction(transaction);
  await ledger.closeLedger();
  ledger.startTimer();
  const both = await Promise.all([late, taken].map((one) => post(one.toXdr())));
  t.match(both, [{ status: 200 }, { status: 200 }], 'made and claimed in one ledger');
  t.equal(both[0]!.body.ledger, both[1]!.body.ledger);
});

t.test('an issuer claws back what its line allows, and nothing else', async (t) => {
  const { issuer, holder, asset } = await withAsset('0', AuthRevocableFlag | AuthClawbackEnabledFlag);
  const plain = await withAsset('5');
  const from = holder.publicKey();
  const muxed = new MuxedAccount(new Account(from, '0'), '9').accountId();
  t.match(await apply(issuer, [pay(from, '10', asset)]), { status: 200 });
  const clawback = (amount: string, of = from, what = asset) => Operation.clawback({ asset: what, from: of, amount });
  const refusals: [Keypair, xdr.Operation, string][] = [
    [holder, clawback('1'), 'op_malformed'],
    [issuer, clawback('1', nobody), 'op_no_trust'],
    [issuer, clawback('11'), 'op_underfunded'],
    [plain.issuer, clawback('1', plain.holder.publicKey(), plain.asset), 'op_not_clawback_enabled'],
  ];
  for (const [source, operation, code] of refusals) {
    t.strictSame((await apply(source, [operation])).operations, [code], code);
  }
  t.match(await apply(issuer, [clawback('4', muxed)]), { status: 200 });
  t.match((await client.server.loadAccount(from)).balances, [{ balance: '6.0000000' }, {}]);
  const [operation] = (await client.server.operations().forAccount(from).order('desc').limit(1).call()).records;
  t.match(operation, { type: 'clawback', from, from_muxed: muxed, from_muxed_id: '9', amount: '4.0000000' });
  t.match((await client.server.effects().forOperation(operation!.id).call()).records, [
    { type: 'account_credited', account: issuer.publicKey(), amount: '4.0000000' },
    { type: 'account_debited', account: from, account_muxed: muxed, amount: '4.0000000' },
  ]);
});

t.test('an issuer can authorize a line, freeze it, and take both back', async (t) => {
  const { issuer, holder, asset } = await withAsset('0', AuthRequiredFlag | AuthRevocableFlag);
  const trustor = holder.publicKey();
  const flags = (authorized: boolean, maintain: boolean) =>
    apply(issuer, [
      Operation.setTrustLineFlags({ trustor, asset, flags: { authorized, authorizedToMaintainLiabilities: maintain } }),
    ]);
  const line = async () =>
    (await client.server.loadAccount(trustor)).balances.find((balance) => 'asset_code' in balance) as unknown;
  t.match(await line(), { is_authorized: false, is_authorized_to_maintain_liabilities: false });
  t.match(await flags(true, false), { status: 200 });
  t.match(await line(), { is_authorized: true, is_authorized_to_maintain_liabilities: true });
  t.match(await apply(issuer, [pay(trustor, '5', asset)]), { status: 200 });
  t.match(await flags(false, true), { status: 200 });
  t.match(await line(), { is_authorized: false, is_authorized_to_maintain_liabilities: true });
  t.match(await apply(holder, [pay(issuer.publicKey(), '5', asset)]), { operations: ['op_src_not_authorized'] });
});

t.test('a sponsor pays the reserves of another, and is free of them when what it paid for is gone', async (t) => {
  const [sponsor, issuer] = await Promise.all([fresh(), fresh()]);
  const [payer, child] = [sponsor.publicKey(), Keypair.random()];
  const id = child.publicKey();
  const begin = (sponsoredId = id, source = payer) => Operation.beginSponsoringFutureReserves({ sponsoredId, source });
  const end = (source = id) => Operation.endSponsoringFutureReserves({ source });
  const create = (startingBalance: string) => Operation.createAccount({ destination: id, startingBalance });
  const asset = new Asset('TEST', issuer.publicKey());
  const merge = Operation.accountMerge({ destination: issuer.publicKey() });
  const both = { signers: [sponsor, child] };
  const shown = async (address: string) => {
    const {
      num_sponsoring,
      num_sponsored,
      sponsor: paidBy,
      balances,
      signers,
    } = (await client.server.loadAccount(address)) as unknown as Record<string, never>;
    return { num_sponsoring, num_sponsored, sponsor: paidBy, balances, signers } as Record<string, any>;
  };

  t.match(await apply(sponsor, [begin(payer)]), { operations: ['op_malformed'] });
  t.match(await apply(sponsor, [create('0.9')]), { operations: ['op_low_reserve'] }, 'without a sponsor');
  t.match(await apply(sponsor, [begin()]), { transaction: 'tx_bad_sponsorship', operations: undefined }, 'never ended');
  t.match(await apply(sponsor, [end(payer)]), { operations: ['op_not_sponsored'] });
  t.match(await apply(sponsor, [begin(), begin()]), { operations: ['op_success', 'op_already_sponsored'] });
  const circle = [begin(issuer.publicKey()), begin(id, issuer.publicKey())];
  t.match(await apply(sponsor, circle, { signers: [sponsor, issuer] }), { operations: ['op_success', 'op_recursive'] });
  t.match(await apply(sponsor, [begin(), merge]), { operations: ['op_success', 'op_is_sponsor'] }, 'just now');

  const made = await apply(
    sponsor,
    [
      begin(),
      create('0'),
      Operation.changeTrust({ asset, source: id }),
      Operation.manageData({ name: 'a', value: 'b', source: id }),
      Operation.setOptions({ signer: { ed25519PublicKey: issuer.publicKey(), weight: 1 }, source: id }),
      end(),
    ],
    both,
  );
  t.match(made, { status: 200 }, 'an account can live without a lumen');
  t.match(await shown(payer), { num_sponsoring: 5, num_sponsored: 0 });
  t.match(await shown(id), {
    num_sponsoring: 0,
    num_sponsored: 5,
    sponsor: payer,
    balances: [{ sponsor: payer }, { asset_type: 'native', balance: '0.0000000' }],
    signers: [{ sponsor: payer }, { key: id }],
  });
  const hash = made.body.hash as string;
  const rows = (await (await fetch(`${url}/transactions/${hash}/operations`)).json()) as any;
  t.match(rows._embedded.records, [
    { type: 'begin_sponsoring_future_reserves', type_i: 16, sponsored_id: id },
    { type: 'create_account', sponsor: payer },
    { type: 'change_trust', sponsor: payer },
    { type: 'manage_data', sponsor: payer },
    { type: 'set_options', sponsor: payer },
    { type: 'end_sponsoring_future_reserves', type_i: 17, begin_sponsor: payer },
  ]);
  t.notOk('sponsor' in rows._embedded.records[5]);

  t.match(await apply(sponsor, [merge]), { transaction: 'tx_failed', operations: ['op_is_sponsor'] });
  t.match(
    await apply(sponsor, [pay(issuer.publicKey(), '9996.6')]),
    { operations: ['op_underfunded'] },
    '3.5 are kept',
  );
  t.match(await apply(sponsor, [pay(issuer.publicKey(), '9996')]), { status: 200 });
  const more = [begin(), Operation.manageData({ name: 'c', value: 'd', source: id }), end()];
  t.match(await apply(sponsor, more, both), { operations: ['op_success', 'op_low_reserve', 'op_success'] });

  const gone = [
    Operation.changeTrust({ asset, limit: '0', source: id }),
    Operation.manageData({ name: 'a', value: null, source: id }),
    Operation.accountMerge({ destination: payer, source: id }),
  ];
  t.match(await apply(sponsor, gone, both), { status: 200 });
  t.match(await shown(payer), { num_sponsoring: 0, num_sponsored: 0 });
  t.match(await apply(sponsor, [merge]), { status: 200 }, 'and may go itself');
});

t.test('several keys sign for an account, each with its weight', async (t) => {
  const [source, helper, other] = await Promise.all([fresh(), fresh(), fresh()]);
  const preimage = Buffer.from('a secret that opens');
  const hashX = createHash('sha256').update(preimage).digest();
  await client.submit({
    from: source,
    operations: [
      Operation.setOptions({ signer: { ed25519PublicKey: helper.publicKey(), weight: 1 } }),
      Operation.setOptions({ signer: { sha256Hash: hashX, weight: 1 } }),
      Operation.setOptions({ masterWeight: 1, lowThreshold: 1, medThreshold: 2, highThreshold: 3 }),
    ],
  });
  const payment = pay(other.publicKey(), '1');
  t.match(await apply(source, [payment]), { transaction: 'tx_failed', operations: ['op_bad_auth'] }, 'one is too few');
  t.match(await apply(source, [payment], { signers: [source, helper] }), { status: 200 }, 'two are enough to pay');
  const lower = Operation.setOptions({ medThreshold: 1 });
  t.match(
    await apply(source, [lower], { signers: [source, helper] }),
    { operations: ['op_bad_auth'] },
    'not to change keys',
  );
  const withPreimage = await build(source, [lower], { signers: [source, helper] });
  withPreimage.signHashX(preimage);
  t.match(await post(withPreimage.toXdr()), { status: 200 }, 'a preimage signs, too');
  t.match(await apply(source, [payment], { signers: [helper] }), { status: 200 });
  const account = await client.server.loadAccount(source.publicKey());
  t.strictSame(
    account.signers.map(({ type, weight }) => [type, weight]),
    [
      ['ed25519_public_key', 1],
      ['sha256_hash', 1],
      ['ed25519_public_key', 1],
    ],
  );
});

t.test('a fee bump pays for another, and its answers name both', async (t) => {
  const [source, payer, other] = await Promise.all([fresh(), fresh(), fresh()]);
  const inner = async (amount = '1', shape?: Shape) => build(source, [pay(other.publicKey(), amount)], shape);
  const bump = async (of: Awaited<ReturnType<typeof inner>>, fee = '200', signers = [payer], from = payer) => {
    const transaction = TransactionBuilder.buildFeeBumpTransaction(from, fee, of, passphrase);
    if (signers.length > 0) transaction.sign(...signers);
    return transaction;
  };

  const stale = await inner('1', { sequence: '5' });
  t.match(await post((await bump(stale)).toXdr()), {
    status: 400,
    transaction: 'tx_fee_bump_inner_failed',
    inner: 'tx_bad_seq',
    operations: undefined,
  });
  t.match(await post((await bump(await inner(), '200', [])).toXdr()), { transaction: 'tx_bad_auth', inner: undefined });
  t.match(await post((await bump(await inner(), '200', [payer, other])).toXdr()), { transaction: 'tx_bad_auth_extra' });
  const stranger = Keypair.random();
  t.match(await post((await bump(await inner(), '200', [stranger], stranger)).toXdr()), {
    transaction: 'tx_no_source_account',
  });
  const cheap = (await bump(await inner(), '200', [])).toEnvelope();
  Object.assign(xdr.expectUnionVariant(cheap, 'envelopeTypeTxFeeBump').feeBump.tx, { fee: 199n });
  t.match(await post(cheap.toXdr('base64')), { transaction: 'tx_insufficient_fee' });
  t.match(await post((await bump(await inner('1', { signers: [] }))).toXdr()), { inner: 'tx_bad_auth' });

  const failing = await bump(await inner('99999'));
  t.match(await post(failing.toXdr()), {
    transaction: 'tx_fee_bump_inner_failed',
    inner: 'tx_failed',
    operations: ['op_underfunded'],
  });

  const good = await inner('2');
  const outer = await bump(good, '300');
  const answer = await post(outer.toXdr());
  const [innerHash, outerHash] = [good, outer].map((of) => Buffer.from(of.hash()).toString('hex'));
  const signature = (of: typeof good | typeof outer) =>
    Buffer.from(of.signatures[0]!.signature.value).toString('base64');
  t.match(answer.body, {
    hash: outerHash,
    source_account: source.publicKey(),
    fee_account: payer.publicKey(),
    fee_charged: '200',
    max_fee: '600',
    operation_count: 1,
    signatures: [signature(outer)],
    fee_bump_transaction: { hash: outerHash, signatures: [signature(outer)] },
    inner_transaction: { hash: innerHash, signatures: [signature(good)], max_fee: '100' },
  });
  const byInner = await client.server.transactions().transaction(innerHash!).call();
  t.match(byInner, { id: innerHash, hash: innerHash, signatures: [signature(good)] }, 'found by the inner hash, too');
  t.match(
    await post(good.toXdr()),
    { status: 200, body: { hash: innerHash } },
    'sending the inner one again is answered',
  );
  const payments = await client.server.payments().forTransaction(outerHash!).call();
  t.equal(payments.records[0]!.transaction_hash, outerHash);
  const spent = await client.server.loadAccount(payer.publicKey());
  t.equal(spent.balances.at(-1)!.balance, '9999.9999600', 'the payer paid both fees, at the base fee');
});

t.test('an unusual but valid memo reaches the record as Horizon would show it', async (t) => {
  const [source, other] = await Promise.all([fresh(), fresh()]);
  const bytes = Buffer.from([0x49, 0x4e, 0x56, 0x00, 0x2d, 0xff, 0xc3, 0xa9]);
  const hash = createHash('sha256').update('x').digest();
  const cases: [Memo, Record<string, string | undefined>][] = [
    [Memo.none(), { memo: undefined, memo_bytes: undefined, memo_type: 'none' }],
    [Memo.text(''), { memo: '', memo_bytes: '', memo_type: 'text' }],
    [Memo.text(bytes as never), { memo: 'INV-\ufffdé', memo_bytes: bytes.toString('base64'), memo_type: 'text' }],
    [Memo.id('18446744073709551615'), { memo: '18446744073709551615', memo_bytes: undefined, memo_type: 'id' }],
    [Memo.hash(hash.toString('hex')), { memo: hash.toString('base64'), memo_type: 'hash' }],
    [Memo.return(hash.toString('hex')), { memo: hash.toString('base64'), memo_type: 'return' }],
  ];
  for (const [memo, expected] of cases) {
    const answer = await apply(source, [pay(other.publicKey(), '1')], { change: (builder) => builder.addMemo(memo) });
    for (const [field, value] of Object.entries(expected)) t.equal(answer.body[field], value, `${memo.type} ${field}`);
  }
});
