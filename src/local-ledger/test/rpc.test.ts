/** The local ledger answers like Stellar RPC, and the official SDK works with it unchanged. */
import {
  Address,
  Asset,
  BASE_FEE,
  Claimant,
  Keypair,
  Memo,
  Operation,
  rpc,
  StrKey,
  scValToNative,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk';
import t from 'tap';
import { startTestLedger } from '../../../test/helpers/ledger.js';
import { testDatabase } from '../../../test/helpers/mongo.js';
import { muxedAddress } from '../client.js';

const { db } = await testDatabase(t);
const { url, client, ledger } = await startTestLedger(t, { db, closeMs: 20 });
const server = new rpc.Server(`${url}/rpc`, { allowHttp: true });

type Json = Record<string, unknown>;

const symbol = (text: string) => xdr.ScVal.scvSymbol(text).toXdr('base64');
const address = (text: string) => Address.fromString(text).toScVal().toXdr('base64');

/** The answer to a POST of this body. */
async function post(body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) {
  const response = await fetch(`${url}/rpc`, { method: 'POST', body, headers });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: /^\{.*\}$/s.test(text) ? JSON.parse(text) : null,
  };
}

const call = async (method: string, params?: unknown): Promise<Json> =>
  (await post(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))).body;

interface Told {
  topics: unknown[];
  value: unknown;
  event: rpc.Api.EventResponse;
}

/** Decoded events with these topics from a ledger on; amounts are BigInts. */
async function events(startLedger: number, ...topics: string[][]): Promise<Told[]> {
  const found = await server.getEvents({ startLedger, filters: [{ type: 'contract', topics }], limit: 1000 });
  return found.events.map((event) => ({
    topics: event.topic.map((topic) => scValToNative(topic)),
    value: scValToNative(event.value),
    event,
  }));
}

const involving = (account: string): string[][] => [
  ['*', address(account), '**'],
  [symbol('transfer'), '*', address(account), '*'],
];

t.test('the whole way with the SDK: fund, build, sign, send, poll, read', async (t) => {
  t.match(await server.getHealth(), { status: 'healthy', oldestLedger: 1, latestLedger: Number });
  t.match(await server.getNetwork(), {
    passphrase: ledger.passphrase,
    protocolVersion: 23,
    friendbotUrl: `${url}/friendbot`,
  });
  t.match(await server.getVersionInfo(), { protocolVersion: 23, version: String });
  t.match(await server.getFeeStats(), {
    inclusionFee: { mode: '100', transactionCount: String },
    latestLedger: Number,
  });
  const payer = Keypair.random();
  t.match(await server.fundAddress(payer.publicKey()), { status: 'SUCCESS', txHash: /^[0-9a-f]{64}$/ });
  const payee = await client.fund();

  const account = await server.getAccount(payer.publicKey());
  const transaction = new TransactionBuilder(account, { fee: BASE_FEE, networkPassphrase: ledger.passphrase })
    .addOperation(Operation.payment({ destination: payee.address, asset: Asset.native(), amount: '12.5' }))
    .addOperation(Operation.payment({ destination: payee.address, asset: Asset.native(), amount: '0.0000001' }))
    .addMemo(Memo.text('7KQ4-2MPX'))
    .setTimeout(30)
    .build();
  transaction.sign(payer);
  const hash = Buffer.from(transaction.hash()).toString('hex');
  ledger.stopTimer();
  await ledger.closeLedger();
  t.match(await server.sendTransaction(transaction), { status: 'PENDING', hash, latestLedger: Number });
  t.match(await server.sendTransaction(transaction), { status: 'DUPLICATE', hash }, 'sent again while it waits');
  t.match(await server.getTransaction(hash), { status: 'NOT_FOUND', txHash: hash });
  ledger.startTimer();
  const done = await server.pollTransaction(hash, { attempts: 100, sleepStrategy: () => 20 });
  if (done.status !== rpc.Api.GetTransactionStatus.SUCCESS) return t.fail('it is in a ledger');
  t.equal(done.envelopeXdr.toXdr('base64'), transaction.toXdr());
  t.equal(done.resultXdr.result.type, 'txSuccess');
  t.match(done, { feeBump: false, applicationOrder: 1, ledger: Number, createdAt: String });
  t.equal(done.events.contractEventsXdr.length, 2, 'one list of events an operation');
  t.equal(done.events.transactionEventsXdr.length, 1, 'and the fee');
  t.match(await server.sendTransaction(transaction), { status: 'ERROR', errorResult: xdr.TransactionResult });

  const { entries, latestLedger } = await server.getLedgerEntries(
    xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: payer.xdrAccountId() })),
    xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: Keypair.random().xdrAccountId() })),
  );
  t.equal(entries.length, 1, 'what is not there is left out');
  t.match(entries[0]!.val, { type: 'account', account: { balance: 99874999799n } });
  t.equal(entries[0]!.lastModifiedLedgerSeq, done.ledger);
  t.ok(latestLedger >= done.ledger);
  await t.rejects(server.getAccount(Keypair.random().publicKey()), /not found/i);

  const page = await server.getTransactions({ startLedger: done.ledger, pagination: { limit: 1 } });
  t.match(page.transactions, [{ txHash: hash, status: 'SUCCESS', ledger: done.ledger, createdAt: Number }]);
  const rest = await server.getTransactions({ pagination: { cursor: page.cursor } });
  t.strictSame(rest.transactions, [], 'a cursor is exclusive');
  const latest = await server.getLatestLedger();
  t.equal(latest.headerXdr.ledgerSeq, latest.sequence);
  const { ledgers } = await server.getLedgers({ startLedger: done.ledger, pagination: { limit: 1 } });
  t.equal(ledgers[0]!.headerXdr.header.ledgerSeq, done.ledger);
  const [processed] = (ledgers[0]!.metadataXdr.value as unknown as xdr.LedgerCloseMetaV1).txProcessing;
  t.equal(processed!.result.transactionHash.toXdr('hex'), hash);
});

t.test('every movement is told once, in the terms of CAP-67', async (t) => {
  const [payer, payee] = [await client.fund(), await client.fund()];
  const [from, to] = [payer.address, payee.address];
  const { assetIssuer: issuer, issuerSecret } = await client.issue({
    code: 'EUR',
    amount: '100',
    toSecret: payer.secret,
  });
  const asset = new Asset('EUR', issuer);
  const named = `EUR:${issuer}`;
  const [me, friend, mint] = [payer.secret, payee.secret, issuerSecret].map((secret) => Keypair.fromSecret(secret));
  const start = (await server.getLatestLedger()).sequence;
  await client.trust({ secret: payee.secret, assetCode: 'EUR', assetIssuer: issuer });
  const largest = '18446744073709551615';
  const text = Memo.text('7K3M9QWX2RTF');
  const hash = Memo.hash('11'.repeat(32));
  const pay = (destination: string, amount = '1', of = asset, source?: string) =>
    Operation.payment({ destination, asset: of, amount, source });
  const cases: [
    name: string,
    memo: Memo,
    signer: Keypair,
    operations: xdr.Operation[],
    topics: unknown[][],
    values: unknown[],
  ][] = [
    ['no memo', Memo.none(), me!, [pay(to)], [['transfer', from, to, named]], [10_000_000n]],
    [
      'text',
      text,
      me!,
      [pay(to)],
      [['transfer', from, to, named]],
      [{ amount: 10_000_000n, to_muxed_id: '7K3M9QWX2RTF' }],
    ],
    ['id', Memo.id(largest), me!, [pay(to)], [['transfer', from, to, named]], [{ to_muxed_id: BigInt(largest) }]],
    ['hash', hash, me!, [pay(to)], [['transfer', from, to, named]], [{ to_muxed_id: Buffer.alloc(32, 0x11) }]],
    [
      'a muxed destination hides the memo',
      text,
      me!,
      [pay(muxedAddress(to, '0'), '2', Asset.native())],
      [['transfer', from, to, 'native']],
      [{ amount: 20_000_000n, to_muxed_id: 0n }],
    ],
    ['to the issuer', text, me!, [pay(issuer, '3')], [['burn', from, named]], [30_000_000n]],
    [
      'from the issuer',
      text,
      mint!,
      [pay(to, '4')],
      [['mint', to, named]],
      [{ amount: 40_000_000n, to_muxed_id: '7K3M9QWX2RTF' }],
    ],
    [
      'path payments and an account',
      Memo.none(),
      me!,
      [
        Operation.pathPaymentStrictSend({
          sendAsset: asset,
          sendAmount: '5',
          destination: to,
          destAsset: asset,
          destMin: '1',
          path: [],
        }),
        pay(from, '6', Asset.native()),
      ],
      [
        ['transfer', from, to, named],
        ['transfer', from, from, 'native'],
      ],
      [50_000_000n, 60_000_000n],
    ],
  ];
  for (const [name, memo, signer, operations, topics, values] of cases) {
    const { ledger: closed, hash: txHash } = await client.submit({ from: signer, operations, memo });
    const told = (await events(closed, ['**'])).filter(({ event }) => event.txHash === txHash);
    const [fee, ...moved] = told;
    t.match(fee, { topics: ['fee', signer.publicKey()], value: BigInt(100 * operations.length) }, `the fee: ${name}`);
    t.strictSame(
      moved.map((one) => one.topics),
      topics,
      name,
    );
    t.match(
      moved.map(({ value }) => value),
      values,
      name,
    );
    for (const { event } of told.slice(1)) {
      const of = scValToNative(event.topic.at(-1)!);
      const contract = (of === 'native' ? Asset.native() : asset).contractId(ledger.passphrase);
      t.equal(event.contractId?.contractId(), contract, 'the contract of the asset tells it');
    }
  }

  await client.submit({
    from: friend!,
    operations: [Operation.createClaimableBalance({ asset, amount: '1.5', claimants: [new Claimant(from)] })],
    memo: text,
  });
  const [balance] = (await client.server.claimableBalances().claimant(from).call()).records;
  await client.submit({
    from: me!,
    operations: [Operation.claimClaimableBalance({ balanceId: balance!.id })],
    memo: text,
  });
  const waiting = StrKey.encodeClaimableBalance(Buffer.from(balance!.id.slice(6), 'hex'));
  const claims = await events(start, [symbol('transfer'), address(to), '**'], ['*', '*', address(from), '*']);
  t.match(
    claims.map(({ topics, value }) => [topics, value]).filter(([topics]) => (topics as string[]).includes(waiting)),
    [
      [['transfer', to, waiting, named], 15_000_000n],
      [['transfer', waiting, from, named], { amount: 15_000_000n, to_muxed_id: '7K3M9QWX2RTF' }],
    ],
    'a claimable balance is a party',
  );
  const { entries } = await server.getLedgerEntries(
    xdr.LedgerKey.trustline(
      new xdr.LedgerKeyTrustLine({ accountId: me!.xdrAccountId(), asset: asset.toTrustLineXDRObject() }),
    ),
  );
  t.match(entries[0]!.val, { type: 'trustline', trustLine: { balance: 895000000n } });

  const merged = await client.merge({ into: muxedAddress(to, '9'), memo: 'the end' });
  const [, transfer] = (await events(merged.ledger, ['**'])).filter(({ event }) => event.txHash === merged.hash);
  t.match(transfer, { topics: ['transfer', String, to, 'native'], value: { to_muxed_id: 9n } });

  await t.rejects(client.pay({ to, amount: '99999', fromSecret: payer.secret }));
  const failed = (await client.server.transactions().forAccount(from).includeFailed(true).order('desc').limit(1).call())
    .records[0]!;
  const only = (await events(failed.ledger_attr, ['**'])).filter(({ event }) => event.txHash === failed.hash);
  t.match(only, [{ topics: ['fee', from], value: 100n }], 'a failed transaction costs its fee, no more');
  t.match(await server.getTransaction(failed.hash), { status: 'FAILED', resultXdr: xdr.TransactionResult });
});

t.test('an audit of events comes to the balance of the ledger', async (t) => {
  const account = await client.fund();
  const { address: me, secret } = account;
  await client.pay({ to: me, amount: '5', memo: 'in' });
  await client.pay({ to: (await client.fund()).address, amount: '3', fromSecret: secret });
  await t.rejects(client.pay({ to: client.root.publicKey(), amount: '99999', fromSecret: secret }));
  await client.payByContract({ to: me, amount: '7', muxedId: '8' });
  await client.merge({ into: me });
  let sum = 0n;
  for (const { topics, value } of await events(1, ...involving(me))) {
    const amount = typeof value === 'bigint' ? value : (value as { amount: bigint }).amount;
    if (topics[2] === me) sum += amount;
    if (topics[1] === me) sum -= amount;
  }
  t.equal(sum, BigInt((await client.server.loadAccount(me)).balances[0]!.balance.replace('.', '')));
});

t.test('the same payment has the same identity from both sides', async (t) => {
  const [payer, payee] = [await client.fund(), await client.fund()];
  const operations = ['1', '2', '3'].map((amount) =>
    Operation.payment({ destination: payee.address, asset: Asset.native(), amount }),
  );
  await client.submit({ from: Keypair.fromSecret(payer.secret), operations });
  await client.payByContract({ to: payee.address, amount: '4', muxedId: '5' });
  const horizon = (await client.server.payments().forAccount(payee.address).limit(50).call()).records;
  const told = await events(1, [symbol('transfer'), '*', address(payee.address), '*']);
  const ids = told.map(({ event: { ledger: closed, transactionIndex, operationIndex } }) =>
    ((BigInt(closed) << 32n) | (BigInt(transactionIndex) << 12n) | BigInt(operationIndex + 1)).toString(),
  );
  t.strictSame(
    ids,
    horizon.map(({ id }) => id),
  );
  t.strictSame(
    told.map(({ event }) => event.txHash),
    horizon.map(({ transaction_hash }) => transaction_hash),
  );
  for (const { event } of told) {
    t.match(event.id, /^\d{19}-\d{10}$/);
    const transaction = await server.getTransaction(event.txHash);
    t.equal(transaction.status, 'SUCCESS');
  }
});

t.test('a payment by contract shows in Horizon and RPC alike', async (t) => {
  const payee = await client.fund();
  const issued = await client.issue({ code: 'USD', amount: '10', toSecret: payee.secret });
  const { assetIssuer: issuer } = issued;
  const usd = { assetCode: 'USD', assetIssuer: issuer };
  const to = payee.address;
  await client.payByContract({ to, amount: '1.5', ...usd, muxedId: '0' });
  await client.payByContract({ to, from: issuer, amount: '2', ...usd });
  await client.payByContract({ to: issuer, from: to, amount: '0.5', ...usd });
  const { records } = await client.server.payments().forAccount(to).order('desc').limit(3).call();
  const changes = records.flatMap((one) => (one as unknown as { asset_balance_changes: Json[] }).asset_balance_changes);
  t.match(changes, [
    { type: 'burn', from: to, amount: '0.5000000', asset_code: 'USD' },
    { type: 'mint', to, amount: '2.0000000' },
    { type: 'transfer', to, from: /^C/, amount: '1.5000000', destination_muxed_id: '0' },
  ]);
  t.notOk('to' in changes[0]!);
  const named = `USD:${issuer}`;
  const told = await events(
    issued.ledger + 1,
    ['*', '*', address(to), '*'],
    [symbol('mint'), address(to), '*'],
    [symbol('burn'), '**'],
  );
  t.match(told, [
    { topics: ['transfer', /^C/, to, named], value: { amount: 15_000_000n, to_muxed_id: 0n } },
    { topics: ['mint', to, named], value: 20_000_000n },
    { topics: ['burn', to, named], value: 5_000_000n },
  ]);
  t.equal((await client.server.loadAccount(to)).balances[0]!.balance, '13.0000000', 'and the balance follows');
  const found = await server.getTransaction(told[0]!.event.txHash);
  if (found.status !== rpc.Api.GetTransactionStatus.SUCCESS) return t.fail('it is there');
  t.equal(
    xdr.expectUnionVariant(found.envelopeXdr, 'envelopeTypeTx').v1.tx.operations[0]!.body.type,
    'invokeHostFunction',
  );
  t.equal(found.events.contractEventsXdr[0]!.length, 1);
});

t.test('a forged transfer is emitted by a contract that is not the asset’s', async (t) => {
  const { address: to } = await client.fund();
  const id = await client.forge({ to, amount: '1000', muxedId: '5' });
  const [, forged] = await events(1, [symbol('transfer'), '*', address(to), '*']);
  t.match(forged, { topics: ['transfer', /^C/, to, 'native'], value: { amount: 10_000_000_000n, to_muxed_id: 5n } });
  t.not(forged!.event.contractId?.contractId(), Asset.native().contractId(ledger.passphrase));
  t.equal((await client.server.loadAccount(to)).balances[0]!.balance, '10000.0000000', 'no money came');
  t.equal((await client.server.payments().forAccount(to).call()).records.length, 1, 'nor does Horizon say so');
  t.match(await client.server.operations().operation(id).call(), { type: 'invoke_host_function' });
  const own = [
    { type: 'contract' as const, contractIds: [Asset.native().contractId(ledger.passphrase)], topics: involving(to) },
  ];
  const { events: genuine } = await server.getEvents({ startLedger: 1, filters: own });
  t.equal(genuine.length, 1, 'the filter by contract leaves it out');
});

t.test('events are read page by page, each once, and the cursor goes on without any', async (t) => {
  const payee = await client.fund();
  const payer = await client.fund();
  const start = (await client.status()).sequence;
  const operations = Array.from({ length: 7 }, (_, index) =>
    Operation.payment({ destination: payee.address, asset: Asset.native(), amount: String(index + 1) }),
  );
  await client.submit({ from: Keypair.fromSecret(payer.secret), operations });
  const filters = [{ type: 'contract' as const, topics: [['*', '*', address(payee.address), '*']] }];
  const seen: string[] = [];
  let page = await server.getEvents({ startLedger: start, filters, limit: 3 });
  const sizes = [page.events.length];
  for (; page.events.length > 0; sizes.push(page.events.length)) {
    seen.push(...page.events.map(({ id }) => id));
    page = await server.getEvents({ cursor: page.cursor, filters, limit: 3 });
  }
  t.strictSame(sizes, [3, 3, 1, 0]);
  t.equal(new Set(seen).size, 7);
  t.strictSame(seen, [...seen].sort());
  t.match(page, { cursor: /^\d{19}-4294967295$/, latestLedger: Number, oldestLedger: 1 });
  t.ok(BigInt(page.cursor.slice(0, 19)) >> 32n >= BigInt(start + 1), 'an empty page moves on all the same');
  await client.pay({ to: payee.address, amount: '8' });
  t.equal((await server.getEvents({ cursor: page.cursor, filters })).events.length, 1);
  const bounded = await server.getEvents({ startLedger: start, endLedger: start + 1, filters });
  t.strictSame(bounded.events, [], 'the end is exclusive');
  t.equal(bounded.cursor, `${((BigInt(start + 1) << 32n) - 1n).toString().padStart(19, '0')}-4294967295`);
});

t.test('filters choose by topic, length and contract', async (t) => {
  const { address: to } = await client.fund();
  const { assetIssuer } = await client.issue({ code: 'CHF', amount: '5', to: undefined });
  const issued = address(assetIssuer);
  await client.pay({ to, amount: '1' });
  const count = async (...topics: string[][]) => (await events(1, ...topics)).length;
  const me = address(to);
  t.equal(await count([symbol('transfer'), '*', me, '*']), 2);
  t.equal(await count([symbol('transfer'), '*', me]), 0, 'without ** the length is exact');
  t.equal(await count([symbol('transfer'), '*', me, '**']), 2);
  t.equal(await count([symbol('transfer'), '*', me, '*', '**']), 2, '** may stand for nothing');
  t.equal(await count([symbol('transfer'), me, '**']), 0);
  t.equal(await count([me, '**']), 0, 'a topic is where the filter has it');
  t.equal(
    await count([symbol('fee'), issued], [symbol('transfer'), '*', me, '*']),
    2 + (await count([symbol('fee'), issued])),
  );
  t.ok((await count(['**'])) > (await count(['*', '*', '*', '*'])));
  const system = await server.getEvents({ startLedger: 1, filters: [{ type: 'system' }] });
  t.strictSame(system.events, []);
});

t.test('a call that is wrong is told what is wrong', async (t) => {
  const latest = async () => (await client.status()).sequence;
  const ok = { startLedger: 1, filters: [] };
  const many = (of: unknown) => Array.from({ length: 6 }, () => of);
  const cases: [method: string, params: unknown, code: number, message: RegExp][] = [
    ['getEvents', { ...ok, startLedger: 0 }, -32602, /startLedger must be positive/],
    [
      'getEvents',
      { ...ok, startLedger: (await latest()) + 1000 },
      -32600,
      /^startLedger must be within the ledger range: 1 - \d+$/,
    ],
    ['getEvents', { ...ok, pagination: { cursor: 'x' } }, -32602, /ledger ranges and cursor cannot both be set/],
    ['getEvents', { filters: [], pagination: { cursor: 'x' } }, -32602, /invalid cursor/],
    ['getEvents', { ...ok, pagination: { limit: 10_001 } }, -32602, /limit must not exceed 10000/],
    ['getEvents', { ...ok, filters: many({}) }, -32602, /maximum 5 filters per request/],
    ['getEvents', { ...ok, filters: [{ topics: many(['*']) }] }, -32602, /maximum 5 topics per filter/],
    ['getEvents', { ...ok, filters: [{ contractIds: ['C'] }] }, -32602, /contract ID 1 invalid/],
    ['getEvents', { ...ok, filters: [{ type: 'diagnostic' }] }, -32602, /type must be either/],
    ['getEvents', { ...ok, filters: [{ topics: [['**', '*']] }] }, -32602, /only allowed as the last segment/],
    ['getEvents', { ...ok, filters: [{ topics: [many('*')] }] }, -32602, /more than 4 segments/],
    ['getEvents', { ...ok, filters: [{ topics: [[]] }] }, -32602, /at least 1 segment/],
    ['getEvents', { ...ok, filters: [{ topics: [['transfer']] }] }, -32602, /segment 1 invalid/],
    ['getEvents', { startLedger: 'now' }, -32602, /invalid parameters/],
    ['getTransaction', { hash: 'abc' }, -32602, /unexpected hash length \(3\)/],
    ['getTransaction', { hash: 'x'.repeat(64) }, -32602, /incorrect hash/],
    ['getTransactions', { startLedger: 1, pagination: { limit: 201 } }, -32602, /limit must not exceed 200/],
    ['getTransactions', { startLedger: (await latest()) + 1000 }, -32600, /within the ledger range/],
    ['getLedgerEntries', { keys: ['AAAA'] }, -32602, /cannot unmarshal key value/],
    ['getLedgerEntries', { keys: Array.from({ length: 201 }, () => 'A') }, -32602, /exceeds maximum supported/],
    ['sendTransaction', { transaction: 'AAAA' }, -32602, /invalid_xdr/],
    ['getNothing', {}, -32601, /method not found/],
  ];
  for (const [method, params, code, message] of cases) {
    t.match(await call(method, params), { jsonrpc: '2.0', id: 7, error: { code, message } }, `${method}: ${message}`);
  }
  t.match((await post('{')).body, { id: null, error: { code: -32700 } });
  t.match((await post('{}')).body, { id: null, error: { code: -32600 } });
  t.equal((await post('{"jsonrpc":"2.0","method":"getHealth"}')).status, 204, 'a notification has no answer');
  t.equal((await post('x'.repeat(600_000))).status, 413);
  t.equal((await post('{}', { 'content-type': 'text/plain' })).status, 415);
  t.equal((await fetch(`${url}/rpc`)).status, 405);
  const batch = await post(
    JSON.stringify(['getHealth', 'getNothing'].map((method, id) => ({ jsonrpc: '2.0', id, method }))),
  );
  t.match(JSON.parse(batch.text), [
    { id: 0, result: { status: 'healthy' } },
    { id: 1, error: { code: -32601 } },
  ]);
});

t.test('faults reach RPC as they reach Horizon, or one of the two alone', async (t) => {
  const { address: to } = await client.fund();
  const ask = (method = 'getHealth') => post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }));
  const rpcOnce = { api: 'rpc' as const, count: 1 };
  const cases: [Parameters<typeof client.faults.add>[0], number, RegExp][] = [
    [{ kind: 'rate_limited', retryAfterSeconds: 7, ...rpcOnce }, 429, /^Rate Limit Exceeded$/],
    [{ kind: 'unavailable', ...rpcOnce }, 503, /^Service Unavailable$/],
    [{ kind: 'timeout', ...rpcOnce }, 504, /^Timeout$/],
    [{ kind: 'timeout', emptyBody: true, ...rpcOnce }, 504, /^$/],
    [{ kind: 'html', ...rpcOnce }, 200, /^<!DOCTYPE html>/],
    [{ kind: 'cut_json', ...rpcOnce }, 200, /^\{[^}]*$/],
  ];
  for (const [fault, status, text] of cases) {
    await client.faults.add(fault);
    t.match((await fetch(`${url}/payments`)).status, 200, 'Horizon is well');
    t.match(await ask(), { status, text }, fault.kind);
    t.match(await ask(), { status: 200 }, 'and over it is');
  }
  await client.faults.add({ kind: 'reset_connection', ...rpcOnce });
  await t.rejects(ask());
  await client.faults.add({ kind: 'hang', ...rpcOnce });
  const impatient = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
  await t.rejects(fetch(`${url}/rpc`, { ...impatient, signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' });
  await client.faults.add({ kind: 'unavailable', path: '/rpc/getEvents' });
  t.strictSame([(await ask()).status, (await ask('getEvents')).status], [200, 503], 'one method alone');
  await client.faults.clear();
  await client.faults.add({ kind: 'unavailable', api: 'horizon' });
  t.strictSame([(await ask()).status, (await fetch(`${url}/payments`)).status], [200, 503]);
  await client.faults.clear();
  await client.faults.add({ kind: 'wrong_passphrase', count: 1 });
  t.match(await server.getNetwork(), { passphrase: 'Test SDF Network ; September 2015' });

  ledger.stopTimer();
  await ledger.closeLedger();
  const { sequence } = await client.status();
  await client.faults.add({ kind: 'lag', ledgers: 3, api: 'rpc' });
  t.match(await server.getHealth(), { latestLedger: sequence - 3 });
  t.match((await (await fetch(url)).json()) as Json, { history_latest_ledger: sequence });
  t.match(await call('getEvents', { startLedger: sequence }), {
    error: { code: -32600, message: `startLedger must be within the ledger range: 1 - ${sequence - 3}` },
  });
  await client.faults.clear();
  await client.faults.add({ kind: 'retention', elderLedger: sequence, api: 'rpc' });
  t.match(await server.getHealth(), { oldestLedger: sequence });
  t.match(await call('getEvents', { startLedger: sequence - 1 }), { error: { code: -32600 } });
  const cursor = `${((BigInt(sequence - 1) << 32n) | 0xffffffffn).toString().padStart(19, '0')}-4294967295`;
  t.match(
    await call('getEvents', { pagination: { cursor } }),
    { error: { code: -32600 } },
    'a cursor at the edge, too',
  );
  t.match((await (await fetch(url)).json()) as Json, { history_elder_ledger: 1 });
  await client.faults.clear();
  ledger.startTimer();

  const paid = await client.pay({ to, amount: '1' });
  await client.payByContract({ to, amount: '2' });
  await client.faults.add({ kind: 'blind' });
  t.match(
    (await events(paid.ledger, ['**'])).map(({ topics }) => topics[0]),
    ['transfer'],
    'a blind server shows what contracts say, no fees and no payments',
  );
  const found = await server.getTransaction(paid.hash);
  t.match(found, { status: 'SUCCESS', events: { transactionEventsXdr: [] } });
  await client.faults.clear();
  const [hidden] = await events(paid.ledger, [symbol('transfer'), '*', address(to), '*']);
  const { ledger: closed, transactionIndex, operationIndex } = hidden!.event;
  const operation = (BigInt(closed) << 32n) | (BigInt(transactionIndex) << 12n) | BigInt(operationIndex + 1);
  await client.faults.add({ kind: 'hide', operation: operation.toString(), from: ['rpc'] });
  t.equal((await events(paid.ledger, [symbol('transfer'), '*', address(to), '*'])).length, 1);
  await client.faults.clear();
});

t.test('after a reset there is nothing left of the events', async (t) => {
  await client.reset();
  t.match((await events(1, ['**'])).length, 0);
});
