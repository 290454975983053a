/** The local ledger answers like Horizon, and the official SDK works with it unchanged. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Account,
  AccountRequiresMemoError,
  Asset,
  Claimant,
  Horizon,
  Keypair,
  Memo,
  MuxedAccount,
  Operation,
  TransactionBuilder,
} from '@stellar/stellar-sdk';
import { Command } from 'commander';
import t from 'tap';
import { startTestLedger } from '../../../test/helpers/ledger.js';
import { testDatabase } from '../../../test/helpers/mongo.js';
import { registerLedgerCommands } from '../cli.js';
import { createLedgerClient, muxedAddress } from '../client.js';
import { systemClock } from '../clock.js';
import { afterLedger, ledgerOf, toid } from '../toid.js';

const { db } = await testDatabase(t);
const { url, client, ledger } = await startTestLedger(t, { db, closeMs: 20 });
/** The SDK's client, with streaming. */
const server = new Horizon.Server(url, { allowHttp: true });

type Json = Record<string, unknown>;
interface Got {
  status: number;
  headers: Headers;
  text: string;
  body: Json;
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Got> {
  const response = await fetch(url + path, { headers });
  const text = await response.text();
  let body: Json = {};
  try {
    body = JSON.parse(text);
  } catch {
    // Some answers are not JSON.
  }
  return { status: response.status, headers: response.headers, text, body };
}

/** Stops the timer, and ends a close in progress: from now on ledgers close on demand only. */
async function standStill(): Promise<void> {
  ledger.stopTimer();
  await ledger.closeLedger();
}

const records = async (path: string): Promise<Json[]> => {
  const { body } = await get(path);
  return (body._embedded as { records: Json[] }).records;
};
const hrefs = ({ body }: Got) => body._links as Record<'self' | 'next' | 'prev', { href: string }>;

t.test('the whole way with the SDK: fund, build, sign, submit, load, page', async (t) => {
  const [payer, payee] = [Keypair.random(), Keypair.random()];
  const funded = (await server.friendbot(payer.publicKey()).call()) as unknown as Json;
  t.match(funded, { successful: true, hash: /^[0-9a-f]{64}$/, envelope_xdr: String });
  await server.friendbot(payee.publicKey()).call();

  const account = await server.loadAccount(payer.publicKey());
  const timebounds = await server.fetchTimebounds(60);
  const transaction = new TransactionBuilder(account, {
    fee: String(await server.fetchBaseFee()),
    networkPassphrase: ledger.passphrase,
    timebounds,
  })
    .addOperation(Operation.payment({ destination: payee.publicKey(), asset: Asset.native(), amount: '12.5' }))
    .addOperation(Operation.payment({ destination: payee.publicKey(), asset: Asset.native(), amount: '0.0000001' }))
    .addMemo(Memo.text('7KQ4-2MPX'))
    .build();
  transaction.sign(payer);
  const result = await server.submitTransaction(transaction);
  t.match(result, {
    successful: true,
    hash: Buffer.from(transaction.hash()).toString('hex'),
    fee_charged: '200',
    memo: '7KQ4-2MPX',
  });

  const page = await server.payments().forAccount(payee.publicKey()).join('transactions').limit(2).call();
  t.match(page.records, [
    { type: 'create_account', starting_balance: '10000.0000000', account: payee.publicKey() },
    { type: 'payment', amount: '12.5000000', from: payer.publicKey(), to: payee.publicKey(), asset_type: 'native' },
  ]);
  const joined = page.records[1] as unknown as { transaction_attr: Json };
  t.match(joined.transaction_attr, { memo: '7KQ4-2MPX', memo_bytes: 'N0tRNC0yTVBY', memo_type: 'text' });
  const next = await page.next();
  t.match(next.records, [{ amount: '0.0000001', transaction_hash: result.hash }]);
  t.strictSame((await next.next()).records, []);
  t.match((await next.prev()).records[0], { amount: '12.5000000' }, 'the page before is read backwards');

  const stored = await server.transactions().transaction(result.hash).call();
  t.match(stored, { ledger_attr: result.ledger, operation_count: 2, source_account: payer.publicKey() });
  t.match((await stored.operations()).records, [{ type: 'payment' }, { type: 'payment' }]);
  const operation = await server.operations().operation(String(page.records[1]!.id)).call();
  t.equal((operation as unknown as Json).amount, '12.5000000');
  t.equal((await server.loadAccount(payee.publicKey())).balances[0]!.balance, '10012.5000001');
  t.match(await server.feeStats(), { last_ledger_base_fee: '100', fee_charged: { mode: '100' } });
  t.match(await server.ledgers().ledger(result.ledger).call(), {
    sequence: result.ledger,
    successful_transaction_count: 1,
  });

  t.match(await server.submitTransaction(transaction), { hash: result.hash }, 'sent again, it gets the same answer');
  const failing = new TransactionBuilder(await server.loadAccount(payer.publicKey()), {
    fee: '100',
    networkPassphrase: ledger.passphrase,
  })
    .addOperation(Operation.payment({ destination: payee.publicKey(), asset: Asset.native(), amount: '99999' }))
    .setTimeout(30)
    .build();
  failing.sign(payer);
  const refused = await server.submitTransaction(failing).catch((error: unknown) => error);
  t.match(refused, {
    response: {
      status: 400,
      data: { extras: { result_codes: { transaction: 'tx_failed', operations: ['op_underfunded'] } } },
    },
  });
});

t.test('the SDK asks for a memo where an account requires one, and only there', async (t) => {
  const [payer, shop] = [await client.fund(), await client.fund()];
  const required = Operation.manageData({ name: 'config.memo_required', value: '1' });
  await client.submit({ from: Keypair.fromSecret(shop.secret), operations: [required] });
  const pay = async (memo: Memo) => {
    const transaction = new TransactionBuilder(await server.loadAccount(payer.address), {
      fee: '100',
      networkPassphrase: ledger.passphrase,
      memo,
    })
      .addOperation(Operation.payment({ destination: shop.address, asset: Asset.native(), amount: '1' }))
      .setTimeout(30)
      .build();
    transaction.sign(Keypair.fromSecret(payer.secret));
    return server.submitTransaction(transaction);
  };
  t.ok((await pay(Memo.none()).catch((error: unknown) => error)) instanceof AccountRequiresMemoError);
  t.match(await pay(Memo.text('x')), { successful: true });
});

t.test('friendbot helps accounts that have less than ten thousand', async (t) => {
  const redirect = await fetch(`${url}/friendbot?addr=x`, { redirect: 'manual' });
  t.match([redirect.status, redirect.headers.get('location')], [307, /\?addr=x$/]);
  t.match(await get('/friendbot?addr=x'), { status: 400, body: { extras: { invalid_field: 'addr' } } });
  const account = await client.fund();
  t.match(await get(`/friendbot?addr=${account.address}`), {
    status: 400,
    body: {
      type: 'https://stellar.org/friendbot-errors/bad_request',
      detail: 'account already funded to starting balance',
    },
  });
  await client.pay({ to: (await client.fund()).address, amount: '1', fromSecret: account.secret });
  t.match(await get(`/friendbot?addr=${account.address}`), { status: 200 });
  t.equal((await server.loadAccount(account.address)).balances[0]!.balance, '19998.9999900');
  const many = await Promise.all(Array.from({ length: 30 }, () => client.fund()));
  t.equal(new Set(many.map(({ address }) => address)).size, 30, 'all at once, each is funded');
});

/** Names and types of a record's fields; `?` for optional ones. */
const SHAPES: Record<string, Record<string, string>> = {
  operation: {
    _links: 'object',
    id: 'string',
    paging_token: 'string',
    transaction_successful: 'boolean',
    source_account: 'string',
    'source_account_muxed?': 'string',
    'source_account_muxed_id?': 'string',
    type: 'string',
    type_i: 'number',
    created_at: 'string',
    transaction_hash: 'string',
    transaction: 'object',
  },
  create_account: { starting_balance: 'string', funder: 'string', account: 'string' },
  payment: {
    asset_type: 'string',
    'asset_code?': 'string',
    'asset_issuer?': 'string',
    from: 'string',
    to: 'string',
    amount: 'string',
    'from_muxed?': 'string',
    'from_muxed_id?': 'string',
    'to_muxed?': 'string',
    'to_muxed_id?': 'string',
  },
  path_payment: {
    path: 'array',
    source_amount: 'string',
    source_asset_type: 'string',
    'source_asset_code?': 'string',
    'source_asset_issuer?': 'string',
  },
  account_merge: {
    account: 'string',
    into: 'string',
    'into_muxed?': 'string',
    'into_muxed_id?': 'string',
  },
  transaction: {
    'memo?': 'string',
    'memo_bytes?': 'string',
    _links: 'object',
    id: 'string',
    paging_token: 'string',
    successful: 'boolean',
    hash: 'string',
    ledger: 'number',
    created_at: 'string',
    source_account: 'string',
    source_account_sequence: 'string',
    fee_account: 'string',
    fee_charged: 'string',
    max_fee: 'string',
    operation_count: 'number',
    envelope_xdr: 'string',
    result_xdr: 'string',
    fee_meta_xdr: 'string',
    memo_type: 'string',
    signatures: 'array',
    'preconditions?': 'object',
  },
  account: {
    _links: 'object',
    id: 'string',
    account_id: 'string',
    sequence: 'string',
    'sequence_ledger?': 'number',
    'sequence_time?': 'string',
    subentry_count: 'number',
    'home_domain?': 'string',
    last_modified_ledger: 'number',
    last_modified_time: 'string',
    thresholds: 'object',
    flags: 'object',
    balances: 'array',
    signers: 'array',
    data: 'object',
    num_sponsoring: 'number',
    num_sponsored: 'number',
    paging_token: 'string',
  },
  ledger: {
    _links: 'object',
    id: 'string',
    paging_token: 'string',
    hash: 'string',
    prev_hash: 'string',
    sequence: 'number',
    successful_transaction_count: 'number',
    failed_transaction_count: 'number',
    operation_count: 'number',
    tx_set_operation_count: 'number',
    closed_at: 'string',
    total_coins: 'string',
    fee_pool: 'string',
    base_fee_in_stroops: 'number',
    base_reserve_in_stroops: 'number',
    max_tx_set_size: 'number',
    protocol_version: 'number',
    header_xdr: 'string',
  },
  fee_stats: {
    last_ledger: 'string',
    last_ledger_base_fee: 'string',
    ledger_capacity_usage: 'string',
    fee_charged: 'object',
    max_fee: 'object',
  },
  fee_distribution: Object.fromEntries(
    ['max', 'min', 'mode', 'p10', 'p20', 'p30', 'p40', 'p50', 'p60', 'p70', 'p80', 'p90', 'p95', 'p99'].map((name) => [
      name,
      'string',
    ]),
  ),
  native_balance: {
    balance: 'string',
    buying_liabilities: 'string',
    selling_liabilities: 'string',
    asset_type: 'string',
  },
  line: {
    limit: 'string',
    last_modified_ledger: 'number',
    is_authorized: 'boolean',
    is_authorized_to_maintain_liabilities: 'boolean',
    asset_code: 'string',
    asset_issuer: 'string',
  },
  signer: { weight: 'number', key: 'string', type: 'string' },
  page: { _links: 'object', _embedded: 'object' },
  pending: { tx_status: 'string', hash: 'string' },
  problem: { type: 'string', title: 'string', status: 'number', detail: 'string' },
  with_extras: { extras: 'object' },
  invalid_field: { invalid_field: 'string', reason: 'string' },
  refused: { envelope_xdr: 'string', result_xdr: 'string', result_codes: 'object' },
  malformed: { envelope_xdr: 'string' },
  stale: { history_latest_ledger: 'number', core_latest_ledger: 'number' },
  root: {
    _links: 'object',
    horizon_version: 'string',
    core_version: 'string',
    ingest_latest_ledger: 'number',
    history_latest_ledger: 'number',
    history_latest_ledger_closed_at: 'string',
    history_elder_ledger: 'number',
    core_latest_ledger: 'number',
    network_passphrase: 'string',
    current_protocol_version: 'number',
    supported_protocol_version: 'number',
    core_supported_protocol_version: 'number',
  },
  effect: {
    _links: 'object',
    id: 'string',
    paging_token: 'string',
    account: 'string',
    'account_muxed?': 'string',
    'account_muxed_id?': 'string',
    type: 'string',
    type_i: 'number',
    created_at: 'string',
    asset_type: 'string',
    'asset_code?': 'string',
    'asset_issuer?': 'string',
    amount: 'string',
  },
};

/** Faults in the shape of a record; empty without any. */
function faultsOf(record: Json, ...parts: string[]): string[] {
  const shape = Object.assign({}, ...parts.map((part) => SHAPES[part])) as Record<string, string>;
  const typeOf = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value);
  const unknown = Object.keys(record).filter((name) => !(name in shape) && !(`${name}?` in shape));
  const wrong = Object.entries(shape).flatMap(([name, type]) => {
    const value = record[name.replace('?', '')];
    if (value === undefined) return name.endsWith('?') ? [] : [`${name} is missing`];
    return typeOf(value) === type ? [] : [`${name} is ${typeOf(value)}`];
  });
  return [...unknown.map((name) => `${name} is unknown`), ...wrong];
}

t.test('each kind of record has the fields and types of Horizon', async (t) => {
  const [payer, payee] = [await client.fund(), await client.fund()];
  const { assetIssuer } = await client.issue({ code: 'TESTASSET', amount: '10', toSecret: payer.secret });
  const asset = new Asset('TESTASSET', assetIssuer);
  const muxed = (address: string, id: string) => new MuxedAccount(new Account(address, '0'), id).accountId();
  await client.submit({ from: Keypair.fromSecret(payee.secret), operations: [Operation.changeTrust({ asset })] });
  const path = { destination: payee.address, path: [] };
  await client.submit({
    from: Keypair.fromSecret(payer.secret),
    memo: 'shape',
    operations: [
      Operation.payment({
        source: muxed(payer.address, '7'),
        destination: muxed(payee.address, '18446744073709551615'),
        asset,
        amount: '1',
      }),
      Operation.payment({ destination: muxed(payee.address, '0'), asset: Asset.native(), amount: '1' }),
      Operation.pathPaymentStrictSend({ ...path, sendAsset: asset, destAsset: asset, sendAmount: '2', destMin: '1' }),
      Operation.pathPaymentStrictReceive({
        ...path,
        sendAsset: Asset.native(),
        destAsset: Asset.native(),
        sendMax: '3',
        destAmount: '2',
      }),
    ],
  });
  await client.merge({ into: muxed(payee.address, '9') });

  const found = await records(`/accounts/${payee.address}/payments?join=transactions&limit=200`);
  const parts: Record<string, string[]> = {
    create_account: ['create_account'],
    payment: ['payment'],
    path_payment_strict_send: ['payment', 'path_payment'],
    path_payment_strict_receive: ['payment', 'path_payment'],
    account_merge: ['account_merge'],
  };
  t.strictSame(
    found.map(({ type }) => type),
    [
      'create_account',
      'payment',
      'payment',
      'path_payment_strict_send',
      'path_payment_strict_receive',
      'account_merge',
    ],
  );
  for (const { destination_min, source_max, ...record } of found) {
    const type = String(record.type);
    t.strictSame(faultsOf(record, 'operation', ...parts[type]!), [], type);
    t.strictSame(faultsOf(record.transaction as Json, 'transaction'), [], `transaction of ${type}`);
    t.equal(typeof destination_min, type === 'path_payment_strict_send' ? 'string' : 'undefined');
    t.equal(typeof source_max, type === 'path_payment_strict_receive' ? 'string' : 'undefined');
    t.match(record.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    for (const amount of [record.amount, record.starting_balance].filter(Boolean)) t.match(amount, /^\d+\.\d{7}$/);
  }
  t.match(found[1], {
    from_muxed_id: '7',
    source_account: payer.address,
    source_account_muxed: muxed(payer.address, '7'),
    to: payee.address,
    to_muxed_id: '18446744073709551615',
    asset_type: 'credit_alphanum12',
  });
  t.equal(found[2]!.to_muxed, muxed(payee.address, '0'));
  t.notOk('to_muxed_id' in found[2]!, 'the muxed id 0 is left out, as Horizon does');
  t.match(found[5], { into: payee.address, into_muxed_id: '9' });

  t.strictSame(faultsOf((await get('/')).body, 'root'), []);
  t.strictSame(faultsOf((await get('/ledgers/2')).body, 'ledger'), []);
  const account = (await get(`/accounts/${payee.address}`)).body;
  t.strictSame(faultsOf(account, 'account'), []);
  t.match(
    account.balances,
    [{ asset_code: 'TESTASSET', is_authorized: true }, { asset_type: 'native' }],
    'lumens come last',
  );
  t.ok((account._links as Json).data, 'the SDK needs this link');
  const moved = (await records(`/operations/${found[5]!.id}/effects`)) as { type: string; amount?: string }[];
  t.strictSame(
    moved.map(({ type }) => type),
    ['account_debited', 'account_credited', 'account_removed'],
  );
  for (const effect of moved.slice(0, 2)) t.strictSame(faultsOf(effect as unknown as Json, 'effect'), []);
  t.equal(moved[1]!.amount, '9999.9999900');

  const [line, lumens] = account.balances as Json[];
  t.strictSame(faultsOf(line!, 'native_balance', 'line'), []);
  t.strictSame(faultsOf(lumens!, 'native_balance'), []);
  for (const signer of account.signers as Json[]) t.strictSame(faultsOf(signer, 'signer'), []);
  t.strictSame(Object.keys(account._links as Json).sort(), [
    'data',
    'effects',
    'offers',
    'operations',
    'payments',
    'self',
    'trades',
    'transactions',
  ]);
  const fees = (await get('/fee_stats')).body;
  t.strictSame(faultsOf(fees, 'fee_stats'), []);
  for (const of of ['fee_charged', 'max_fee']) t.strictSame(faultsOf(fees[of] as Json, 'fee_distribution'), [], of);
  const page = (await get('/payments?limit=1')).body;
  t.strictSame(faultsOf(page, 'page'), []);
  t.strictSame(Object.keys(page._links as Json).sort(), ['next', 'prev', 'self']);
});

t.test('each kind of refusal has the fields and types of Horizon', async (t) => {
  const { address, secret } = await client.fund();
  const submit = async (path: string, tx: string): Promise<Got> => {
    const response = await fetch(url + path, { method: 'POST', body: new URLSearchParams({ tx }) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  };
  const payment = async (amount: string, sequence?: string) => {
    const account = new Account(address, sequence ?? (await server.loadAccount(address)).sequenceNumber());
    const transaction = new TransactionBuilder(account, { fee: '100', networkPassphrase: ledger.passphrase })
      .addOperation(Operation.payment({ destination: client.root.publicKey(), asset: Asset.native(), amount }))
      .setTimeout(30)
      .build();
    transaction.sign(Keypair.fromSecret(secret));
    return transaction.toXdr();
  };
  const oversized = `tx=${'A'.repeat(250_000)}`;
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const asGot = async (response: Response): Promise<Got> => {
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  };
  const post = (body: string, headers: Record<string, string>) =>
    fetch(`${url}/transactions`, { method: 'POST', body, headers });
  const faulty = async (fault: Parameters<typeof client.faults.add>[0]) => {
    await client.faults.add({ path: '/payments', count: 1, ...fault } as typeof fault);
    return await get('/payments');
  };
  const edge = async () => {
    await client.faults.add({ kind: 'retention', elderLedger: 2 });
    const answer = await get('/ledgers/1');
    await client.faults.clear();
    return answer;
  };
  const cases: [tail: string, status: number, answer: Got, extras: string | null][] = [
    ['bad_request', 400, await get('/payments?limit=0'), 'invalid_field'],
    ['not_found', 404, await get('/nowhere'), null],
    ['not_acceptable', 406, await get('/payments', { accept: 'image/png' }), null],
    ['before_history', 410, await edge(), null],
    ['request_too_large', 413, await asGot(await post(oversized, form)), null],
    ['unsupported_media_type', 415, await asGot(await post('{}', { 'content-type': 'application/json' })), null],
    ['rate_limit_exceeded', 429, await faulty({ kind: 'rate_limited' }), null],
    ['server_error', 500, await faulty({ kind: 'server_error' }), null],
    ['stale_history', 503, await faulty({ kind: 'stale_history' }), 'stale'],
    ['service_unavailable', 503, await faulty({ kind: 'unavailable' }), null],
    ['timeout', 504, await faulty({ kind: 'timeout' }), null],
    ['transaction_malformed', 400, await submit('/transactions', 'AAAA'), 'malformed'],
    ['transaction_malformed', 400, await submit('/transactions_async', 'AAAA'), 'malformed'],
    ['transaction_failed', 400, await submit('/transactions', await payment('99999')), 'refused'],
    ['transaction_failed', 400, await submit('/transactions', await payment('1', '7')), 'refused'],
  ];
  for (const [tail, status, { status: answered, headers, body }, extras] of cases) {
    t.equal(answered, status, tail);
    t.equal(headers.get('content-type'), 'application/problem+json; charset=utf-8', tail);
    t.match(body, { type: `https://stellar.org/horizon-errors/${tail}`, status });
    t.strictSame(faultsOf(body, 'problem', ...(extras === null ? [] : ['with_extras'])), [], tail);
    if (extras !== null) t.strictSame(faultsOf(body.extras as Json, extras), [], `extras of ${tail}`);
  }
  t.strictSame((cases.at(-2)![2].body.extras as Json).result_codes, {
    transaction: 'tx_failed',
    operations: ['op_underfunded'],
  });
  t.strictSame((cases.at(-1)![2].body.extras as Json).result_codes, { transaction: 'tx_bad_seq' });
  const pending = await submit('/transactions_async', await payment('1'));
  t.match(pending.status, 201);
  t.strictSame(faultsOf(pending.body, 'pending'), []);
});

t.test('pages: cursors are exclusive, links continue, nothing is lost or twice', async (t) => {
  const payee = await client.fund();
  const payer = await client.fund();
  const amounts = Array.from({ length: 25 }, (_, index) => `${index + 1}.0000000`);
  const operations = amounts.map((amount) =>
    Operation.payment({ destination: payee.address, asset: Asset.native(), amount }),
  );
  await client.submit({ from: Keypair.fromSecret(payer.secret), operations });
  const path = `/accounts/${payee.address}/payments`;

  const all: Json[] = [];
  let next = `${path}?limit=7&join=transactions`;
  for (;;) {
    const page = await get(next);
    const found = (page.body._embedded as { records: Json[] }).records;
    t.match(hrefs(page).self.href, /\?cursor=\d*&join=transactions&limit=7&order=asc$/);
    if (found.length === 0) {
      t.equal(
        new URL(hrefs(page).next.href).searchParams.get('cursor'),
        all.at(-1)!.id,
        'an empty page stays where it is',
      );
      break;
    }
    all.push(...found);
    next = hrefs(page).next.href.slice(url.length);
  }
  t.strictSame(
    all.slice(1).map(({ amount }) => amount),
    amounts,
  );
  t.equal(
    BigInt(String(all[2]!.id)),
    BigInt(String(all[1]!.id)) + 1n,
    'operations of a transaction follow one another',
  );
  t.equal(Number(BigInt(String(all[1]!.id)) & 0xfffn), 1, 'and count from 1');

  const backwards = await records(`${path}?order=desc&limit=200`);
  t.strictSame(
    backwards.map(({ id }) => id).reverse(),
    all.map(({ id }) => id),
  );
  const before = await get(`${path}?order=desc&limit=3&cursor=${all[10]!.id}`);
  t.strictSame(
    (before.body._embedded as { records: Json[] }).records.map(({ id }) => id),
    [all[9]!.id, all[8]!.id, all[7]!.id],
  );
  t.match(hrefs(before).prev.href, new RegExp(`cursor=${all[9]!.id}&limit=3&order=asc`));
  t.equal((await records(path)).length, 10, 'ten is the default');
  t.strictSame(
    await records(`${path}?cursor=${afterLedger(9_000_000)}`),
    [],
    'a cursor beyond the newest ledger is an empty page',
  );
  t.equal((await get(path, { 'last-event-id': String(all[20]!.id) })).text.match(/"type": "payment"/g)!.length, 5);

  await standStill();
  const now = await get('/payments?cursor=now');
  const { sequence } = await client.status();
  t.match(hrefs(now).next.href, `cursor=${afterLedger(sequence)}&`);
  ledger.startTimer();

  const [header] = await records('/ledgers?order=desc&limit=1');
  const inLedger = ledgerOf(BigInt(String(all[1]!.id)));
  t.equal((await records(`/ledgers/${inLedger}/payments?limit=200`)).length, 25);
  t.match(await records(`/ledgers/${inLedger}/transactions`), [{ ledger: inLedger }]);
  const list = await records(`/ledgers?cursor=${toid(1, 0)}&limit=200`);
  t.strictSame(
    list.map(({ sequence }) => sequence),
    Array.from({ length: list.length }, (_, index) => index + 2),
  );
  for (const [index, ledger] of list.entries()) if (index > 0) t.equal(ledger.prev_hash, list[index - 1]!.hash);
  const times = list.map(({ closed_at }) => String(closed_at));
  t.strictSame(times, [...times].sort(), 'close times never go back');
  t.match(await get(`/ledgers/${Number(header!.sequence) + 1_000_000}`), { status: 404 });
  t.match(await get(`/ledgers/${Number(header!.sequence) + 1_000_000}/payments`), { status: 404 });

  const effects = await records(`/accounts/${payee.address}/effects?limit=5`);
  t.match(
    effects.map(({ type }) => type),
    ['account_created', 'signer_created', 'account_credited', 'account_credited', 'account_credited'],
  );
  const more = await records(`/accounts/${payee.address}/effects?limit=200&cursor=${effects[1]!.paging_token}`);
  t.equal(more.length, 25);
  t.match(effects[0]!.id, /^\d{19}-\d{10}$/);
});

t.test('failed transactions are kept, and hidden unless asked for', async (t) => {
  const [payer, payee] = [await client.fund(), await client.fund()];
  const from = Keypair.fromSecret(payer.secret);
  const operation = Operation.payment({ destination: payee.address, asset: Asset.native(), amount: '99999' });
  const refused = await client.submit({ from, operations: [operation] }).catch((error: unknown) => error);
  t.match(refused, { codes: ['tx_failed', 'op_underfunded'] });
  const path = `/accounts/${payee.address}/payments?join=transactions`;
  t.equal((await records(path)).length, 1);
  const failed = (await records(`${path}&include_failed=true`))[1]!;
  t.match(failed, { transaction_successful: false, amount: '99999.0000000', transaction: { successful: false } });
  t.equal((await records(`/accounts/${payee.address}/transactions`)).length, 1);
  t.equal((await records(`/accounts/${payee.address}/transactions?include_failed=true`)).length, 2);
  t.match(await records(`/transactions/${failed.transaction_hash}/payments`), [{ id: failed.id }], 'by name it shows');
  t.strictSame(await records(`/operations/${failed.id}/effects`), []);
});

t.test('a request that is wrong is told what is wrong, in the words of Horizon', async (t) => {
  const { address } = await client.fund();
  const muxed = new MuxedAccount(new Account(address, '0'), '1').accountId();
  const cases: [path: string, field: string, reason: string][] = [
    ['/payments?limit=0', 'limit', 'invalid limit: non-positive value provided'],
    ['/payments?limit=-1', 'limit', 'invalid limit: non-positive value provided'],
    ['/payments?limit=201', 'limit', 'invalid limit: value provided that is over limit max of 200'],
    ['/payments?limit=x', 'limit', 'unparseable value'],
    ['/payments?order=up', 'order', 'order: invalid value'],
    ['/payments?cursor=x', 'cursor', 'cursor: invalid value'],
    ['/payments?cursor=-1', 'cursor', 'the cursor -1 is a negative number: '],
    ['/payments?join=ledgers', 'join', 'Accepted values: transactions'],
    ['/payments?include_failed=maybe', 'include_failed', 'Filter should be true or false'],
    ['/accounts/GABC/payments', 'account_id', 'Account ID must start with `G` and contain 56 alphanum characters'],
    [`/accounts/${muxed}`, 'account_id', 'Account ID must start with `G` and contain 56 alphanum characters'],
    ['/transactions/XYZ', 'tx_id', 'Transaction hash must be a hex-encoded, lowercase SHA-256 hash'],
  ];
  for (const [path, invalid_field, reason] of cases) {
    const answer = await get(path);
    t.match(answer.body, {
      type: 'https://stellar.org/horizon-errors/bad_request',
      title: 'Bad Request',
      status: 400,
      extras: { invalid_field, reason },
    });
    t.match(
      [answer.status, answer.headers.get('content-type')],
      [400, 'application/problem+json; charset=utf-8'],
      path,
    );
  }
  const nobody = Keypair.random().publicKey();
  for (const path of [
    `/accounts/${nobody}`,
    `/accounts/${nobody}/payments`,
    '/accounts//payments',
    '/nothing',
    `/transactions/${'0'.repeat(64)}`,
    `/operations/${toid(1, 1, 1)}`,
  ]) {
    t.match(await get(path), { status: 404, body: { type: 'https://stellar.org/horizon-errors/not_found' } }, path);
  }
  t.match(await get('/payments', { accept: 'text/html' }), { status: 406 });
  t.match(await get('/payments/', { accept: 'text/html, */*' }), { status: 200 });
  const post = (body: string | FormData | URLSearchParams, type?: string) =>
    fetch(`${url}/transactions`, { method: 'POST', body, ...(type && { headers: { 'content-type': type } }) });
  t.equal((await post('{}', 'application/json')).status, 415);
  t.equal((await post(new URLSearchParams({ tx: 'x'.repeat(250_000) }))).status, 413);
  const form = new FormData();
  form.set('tx', 'AAAA');
  t.match(await (await post(form)).json(), { title: 'Transaction Malformed', extras: { envelope_xdr: 'AAAA' } });
});

t.test('headers and bodies are written as Horizon writes them', async (t) => {
  const { address } = await client.fund();
  const page = await get('/payments', { origin: 'https://wallet.example', 'x-forwarded-proto': 'https' });
  t.match(Object.fromEntries(page.headers), {
    'content-type': 'application/hal+json; charset=utf-8',
    'content-disposition': 'inline',
    'cache-control': 'no-cache, no-store, max-age=0',
    vary: 'Origin',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'Date, Latest-Ledger',
    'x-ratelimit-limit': '101',
    'x-ratelimit-remaining': '100',
    'x-ratelimit-reset': '1',
    date: String,
  });
  t.notOk(page.headers.has('latest-ledger'));
  t.match((await get(`/accounts/${address}`)).headers.get('latest-ledger'), /^\d+$/);
  t.match(page.text, /\n {2}"_embedded": \{/, 'indented by two');
  t.match(page.text, /cursor=\\u0026limit=10\\u0026order=asc/, 'an ampersand is escaped');
  t.match(hrefs(page).self.href, /^https:/, 'the scheme that the proxy names');
  t.equal((await get('/ledgers?limit=50', { 'accept-encoding': 'gzip' })).headers.get('content-encoding'), 'gzip');
  t.notOk((await get('/ledgers?limit=50', { 'accept-encoding': 'identity' })).headers.has('content-encoding'));
  t.strictSame((await get('/health')).body, { database_connected: true, core_up: true, core_synced: true });
  t.notOk((await get('/faults', { origin: 'https://evil.example' })).headers.has('access-control-allow-origin'));
  const refused = async (path: string, method: string) => {
    // A foreign name that resolves to this machine, as with DNS rebinding.
    const sent = request(url + path, { method, headers: { host: 'evil.example:8000' } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  for (const path of ['/', '/faults', '/local-ledger', '/records', '/payments', `/friendbot?addr=${address}`]) {
    t.equal(await refused(path, 'GET'), 403, `${path} is not for a rebound name`);
  }
  t.equal(await refused('/faults', 'DELETE'), 403);
});

t.test('a payment can name its purpose by text memo, id memo or muxed destination, and each shows', async (t) => {
  const payee = await client.fund();
  const [id, largest] = ['273721555615310671', '18446744073709551615'];
  const { secret } = await client.fund();
  await client.pay({ to: payee.address, amount: '1', memo: '7K3M9QWX2RTF' });
  await client.pay({ to: payee.address, amount: '2', memoId: id });
  await client.pay({ to: payee.address, amount: '3', muxedId: largest, memoId: '0' });
  await client.pay({ to: muxedAddress(payee.address, '0'), amount: '4', fromMuxedId: '0', fromSecret: secret });
  const page = await server.payments().forAccount(payee.address).join('transactions').call();
  const [, text, byId, muxed, zero] = page.records as unknown as (Json & { transaction_attr: Json })[];
  t.match(text!.transaction_attr, { memo_type: 'text', memo: '7K3M9QWX2RTF' });
  t.match(byId, { to: payee.address, transaction_attr: { memo_type: 'id', memo: id } });
  t.notOk('to_muxed' in byId!);
  t.match(muxed, {
    to: payee.address,
    to_muxed: muxedAddress(payee.address, largest),
    to_muxed_id: largest,
    transaction_attr: { memo_type: 'id', memo: '0' },
  });
  t.match(zero, {
    to_muxed: /^M/,
    from_muxed: /^M/,
    source_account_muxed: /^M/,
    transaction_attr: { memo_type: 'none' },
  });
  for (const field of ['to_muxed_id', 'from_muxed_id', 'source_account_muxed_id']) {
    t.notOk(field in zero!, `${field} is left out for the id 0`);
  }
  t.match(
    await records(`/operations/${muxed!.id}/effects`),
    [
      { type: 'account_credited', account: payee.address, account_muxed: muxed!.to_muxed, account_muxed_id: largest },
      { type: 'account_debited', account_muxed: undefined },
    ],
    'effects name the muxed address, too',
  );
});

t.test('a stream says hello, sends each record once, and ends with byebye', async (t) => {
  const payee = await client.fund();
  const response = await fetch(`${url}/accounts/${payee.address}/payments?limit=3`, {
    headers: { accept: 'text/event-stream' },
  });
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  t.notOk(response.headers.has('x-ratelimit-limit'));
  await client.pay({ to: payee.address, amount: '1' });
  await client.pay({ to: payee.address, amount: '2' });
  const text = await response.text();
  const [hello, first, second, third, bye] = text.split('\n\n');
  t.equal(hello, 'retry: 1000\nevent: open\ndata: "hello"');
  const event = /^id: (\d+)\ndata: (\{.*\})$/;
  const ids = [first, second, third].map((part) => {
    const [, id, data] = event.exec(part!)!;
    t.equal((JSON.parse(data!) as Json).paging_token, id);
    return id;
  });
  t.equal(bye, 'retry: 10\nevent: close\ndata: "byebye"');
  t.equal(text.split('\n\n').length, 6);

  const resumed = await fetch(`${url}/accounts/${payee.address}/payments?limit=1`, {
    headers: { accept: 'text/event-stream', 'last-event-id': ids[1]! },
  });
  t.match(await resumed.text(), `id: ${ids[2]}\n`);
  const unknown = `${url}/accounts/${Keypair.random().publicKey()}/payments`;
  const refused = await fetch(unknown, { headers: { accept: 'text/event-stream' } });
  t.match([refused.status, await refused.json()], [404, { title: 'Resource Missing' }]);

  const seen: string[] = [];
  let stop = () => {};
  const done = new Promise<void>((resolve) => {
    stop = server
      .payments()
      .forAccount(payee.address)
      .cursor(ids[2]!)
      .stream({
        onmessage: (record) => {
          const { amount } = record as unknown as Horizon.ServerApi.PaymentOperationRecord;
          seen.push(amount);
          if (seen.length === 2) resolve();
        },
      });
  });
  await client.pay({ to: payee.address, amount: '3' });
  await client.pay({ to: payee.address, amount: '4' });
  await done;
  stop();
  t.strictSame(seen, ['3.0000000', '4.0000000'], 'the stream of the SDK works, too');
  const account = await fetch(`${url}/accounts/${payee.address}?cursor=now`, {
    headers: { accept: 'text/event-stream' },
  });
  const reader = account.body!.getReader();
  let head = '';
  while (!head.includes('account_id')) head += new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  t.match(head, payee.address);
});

t.test('submission without waiting says what it knows', async (t) => {
  const [payer, payee] = [await client.fund(), await client.fund()];
  const transaction = new TransactionBuilder(await server.loadAccount(payer.address), {
    fee: '100',
    networkPassphrase: ledger.passphrase,
  })
    .addOperation(Operation.payment({ destination: payee.address, asset: Asset.native(), amount: '1' }))
    .setTimeout(30)
    .build();
  transaction.sign(Keypair.fromSecret(payer.secret));
  const hash = Buffer.from(transaction.hash()).toString('hex');
  await standStill();
  t.match(await server.submitAsyncTransaction(transaction), { tx_status: 'PENDING', hash });
  t.match(await get(`/transactions/${hash}`), { status: 404 }, 'not in a ledger yet');
  const post = () =>
    fetch(`${url}/transactions_async`, { method: 'POST', body: new URLSearchParams({ tx: transaction.toXdr() }) });
  const again = await post();
  t.match([again.status, await again.json()], [409, { tx_status: 'DUPLICATE', hash }]);
  await ledger.closeLedger();
  t.match(await get(`/transactions/${hash}`), { status: 200 });
  const late = await post();
  t.match(
    [late.status, await late.json()],
    [400, { tx_status: 'ERROR', error_result_xdr: 'AAAAAAAAAAD////7AAAAAA==' }],
  );
  await t.rejects(server.submitAsyncTransaction(transaction));
  ledger.startTimer();
});

t.test('every fault can be had on demand, for so many requests, and is over then', async (t) => {
  const { address } = await client.fund();
  const path = `/accounts/${address}/payments`;
  const once_ = async (fault: Parameters<typeof client.faults.add>[0]) => {
    await client.faults.add({ count: 1, path, ...fault } as typeof fault);
  };

  await once_({ kind: 'rate_limited', retryAfterSeconds: 7 });
  const limited = await get(path);
  t.match(limited, { status: 429, body: { title: 'Rate Limit Exceeded' } });
  t.equal(limited.headers.get('retry-after'), '7');
  await once_({ kind: 'unavailable', retryAfterSeconds: 3 });
  t.match(await get(path), { status: 503, body: { title: 'Service Unavailable' } });
  await once_({ kind: 'stale_history' });
  t.match(await get(path), { status: 503, body: { extras: { core_latest_ledger: Number } } });
  await once_({ kind: 'timeout' });
  t.match(await get(path), { status: 504, body: { title: 'Timeout' } });
  await once_({ kind: 'timeout', emptyBody: true });
  t.match(await get(path), { status: 504, text: '' });
  await once_({ kind: 'server_error' });
  t.match(await get(path), { status: 500 });
  await once_({ kind: 'html' });
  t.match(await get(path), { status: 200, text: /^<!DOCTYPE html>/ });
  await once_({ kind: 'bad_gateway' });
  t.match(await get(path), { status: 502, text: /^<!DOCTYPE html>/ });
  await once_({ kind: 'cut_json' });
  const cut = await get(path);
  t.match(cut, { status: 200, text: /^\{/ });
  t.throws(() => JSON.parse(cut.text));
  await once_({ kind: 'reset_connection' });
  await t.rejects(get(path), { cause: { code: /ECONNRESET|UND_ERR_SOCKET/ } });
  await once_({ kind: 'hang' });
  await t.rejects(fetch(url + path, { signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' });
  await once_({ kind: 'slow', delayMs: 60 });
  const startMs = Date.now();
  t.match(await get(path), { status: 200 });
  t.ok(Date.now() - startMs >= 55);
  await once_({ kind: 'byebye' });
  const stream = await fetch(url + path, { headers: { accept: 'text/event-stream' } });
  t.equal(
    await stream.text(),
    'retry: 1000\nevent: open\ndata: "hello"\n\nretry: 10\nevent: close\ndata: "byebye"\n\n',
  );
  await client.faults.add({ kind: 'wrong_passphrase', count: 1 });
  t.match((await get('/')).body, { network_passphrase: 'Test SDF Network ; September 2015' });
  t.match((await get('/')).body, { network_passphrase: ledger.passphrase });

  await client.faults.add({ kind: 'lost_answer', method: 'POST', path: '/transactions', count: 1 });
  const lost = client.pay({ to: address, amount: '1', memo: 'lost' });
  await t.rejects(lost, 'the answer is lost');
  t.equal((await records(path)).length, 2, 'the payment is not');

  await client.faults.add({ kind: 'rate_limit', perHour: 3600, burst: 2, path: '/fee_stats' });
  const statuses: number[] = [];
  for (let request = 0; request < 4; request++) statuses.push((await get('/fee_stats')).status);
  t.strictSame(statuses, [200, 200, 200, 429], 'a real limit lets the burst through');
  t.equal((await get('/fee_stats')).headers.get('retry-after'), '1');

  t.match(await client.faults.list(), [{ fault: { kind: 'rate_limit' } }], 'all others are over');
  await client.faults.clear();

  await standStill();
  await client.faults.add({ kind: 'rate_limit', perHour: 1, burst: 2, path: '/payments' });
  const looks = await fetch(`${url}/payments?cursor=now`, { headers: { accept: 'text/event-stream' } });
  t.equal(looks.status, 200, 'a stream costs one unit when it begins');
  for (let look = 0; look < 2; look++) {
    t.equal((await client.faults.list())[0]!.hits, look + 1);
    await ledger.closeLedger();
    while ((await client.faults.list())[0]!.hits === look + 1) await systemClock.sleep(5);
  }
  await ledger.closeLedger();
  t.match(
    await looks.text(),
    /^retry: 1000\nevent: open\ndata: "hello"\n\nevent: error\ndata: problem: rate_limit_exceeded\. full details: .+\n\n$/,
    'and one for each ledger, until nothing is left',
  );
  const spent = await fetch(`${url}/payments`, { headers: { accept: 'text/event-stream' } });
  t.match([spent.status, await spent.json()], [429, { title: 'Rate Limit Exceeded' }]);
  t.equal((await get('/payments')).status, 429, 'streams and pages spend the same');
  ledger.startTimer();
  await client.faults.clear();
  t.strictSame(await client.faults.list(), []);
  t.match(await get(path), { status: 200 });
  const refused = await fetch(`${url}/faults`, {
    method: 'POST',
    body: '{"kind":"nonsense"}',
    headers: { 'content-type': 'application/json' },
  });
  t.equal(refused.status, 400);
});

t.test('a ledger that lags answers as of then, and shows all of it later', async (t) => {
  const payee = await client.fund();
  await standStill();
  await client.faults.add({ kind: 'lag', ledgers: 3 });
  const core = (await client.status()).sequence;
  t.match((await get('/')).body, { history_latest_ledger: core - 3, core_latest_ledger: core });
  const paid = client.pay({ to: payee.address, amount: '1', fromSecret: client.root.secret() });
  while (
    (await db
      .collection('ledger_operations')
      .countDocuments({ 'record.amount': '1.0000000', accounts: payee.address })) === 0
  ) {
    await ledger.closeLedger();
    await systemClock.sleep(5);
  }
  const path = `/accounts/${payee.address}/payments?order=desc&limit=1`;
  t.not((await records(path).catch(() => [{} as Json]))[0]?.amount, '1.0000000', 'closed, not visible yet');
  for (let more = 0; more < 3; more++) await ledger.closeLedger();
  t.equal((await records(path))[0]!.amount, '1.0000000');
  await paid;
  await client.faults.clear();
  ledger.startTimer();
});

t.test('an account shows as of the ledger that shows, with all that it had then', async (t) => {
  const [holder, other] = [await client.fund(), await client.fund()];
  const { assetIssuer } = await client.issue({ code: 'OLD', amount: '7', toSecret: holder.secret });
  const path = `/accounts/${holder.address}`;
  const before = await get(path);
  await standStill();
  await client.faults.add({ kind: 'lag', ledgers: 2 });
  const child = Keypair.random().publicKey();
  const asset = new Asset('OLD', assetIssuer);
  // In one transaction, hence in one ledger.
  const submitted = client.submit({
    from: Keypair.fromSecret(holder.secret),
    signers: [Keypair.fromSecret(other.secret)],
    operations: [
      Operation.payment({ destination: assetIssuer, asset, amount: '7' }),
      Operation.changeTrust({ asset, limit: '0' }),
      Operation.manageData({ name: 'new', value: 'x' }),
      Operation.createAccount({ destination: child, startingBalance: '5' }),
      Operation.accountMerge({ destination: holder.address, source: other.address }),
    ],
  });
  while ((await db.collection('ledger_entries').countDocuments({ owner: child })) === 0) {
    await ledger.closeLedger();
    await systemClock.sleep(5);
  }
  const hidden = await get(path);
  t.strictSame(hidden.body, before.body, 'lines, data, lumens and sequence are as they were');
  t.equal(Number(hidden.headers.get('latest-ledger')), (await client.status()).sequence - 2);
  t.match(await get(`/accounts/${child}`), { status: 404 }, 'what was made later is not there yet');
  t.match(await get(`/accounts/${other.address}`), { status: 200 }, 'what was merged later is still there');
  for (let more = 0; more < 2; more++) await ledger.closeLedger();
  await submitted;
  t.match((await get(path)).body, { balances: [{ asset_type: 'native' }], data: { new: 'eA==' } });
  t.match(await get(`/accounts/${child}`), { status: 200 });
  t.match(await get(`/accounts/${other.address}`), { status: 404 });
  await client.faults.clear();
  ledger.startTimer();
});

t.test('at the retention edge old history is gone, in the ways of Horizon', async (t) => {
  const payee = await client.fund();
  await client.pay({ to: payee.address, amount: '1' });
  const [first, second] = await records(`/accounts/${payee.address}/payments`);
  const edge = ledgerOf(BigInt(String(second!.id)));
  await client.faults.add({ kind: 'retention', elderLedger: edge });
  t.match((await get('/')).body, { history_elder_ledger: edge });
  t.strictSame(
    (await records(`/accounts/${payee.address}/payments?cursor=1`)).map(({ id }) => id),
    [second!.id],
    'forwards it is silent',
  );
  t.match(await get(`/payments?order=desc&cursor=${toid(edge - 1, 0)}`), {
    status: 410,
    body: { title: /Before Recorded/ },
  });
  t.match(await get(`/ledgers/${edge - 1}`), { status: 410 });
  t.match(await get(`/operations/${first!.id}`), { status: 410 });
  t.match(await get(`/transactions/${first!.transaction_hash}`), { status: 404 });
  t.equal((await records('/ledgers?limit=1'))[0]!.sequence, edge);
  await ledger.closeLedger();
  await client.faults.clear();
  await client.faults.add({ kind: 'retention', elderLedger: (await client.status()).sequence });
  t.match(await get(`/accounts/${payee.address}/payments`), { status: 404 }, 'no history left is an unknown account');
  t.match(await get(`/accounts/${payee.address}`), { status: 200 }, 'though the account is there');
  await client.faults.clear();
});

t.test('effects and fees add up to every balance, whatever moved it', async (t) => {
  const [account, other] = [await client.fund(), await client.fund()];
  const [me, friend] = [Keypair.fromSecret(account.secret), Keypair.fromSecret(other.secret)];
  const { assetIssuer, issuerSecret } = await client.issue({ code: 'AUD', amount: '50', toSecret: account.secret });
  const asset = new Asset('AUD', assetIssuer);
  const [to, native] = [other.address, Asset.native()];
  const created = await client.submit({
    from: me,
    operations: [
      Operation.payment({ destination: to, asset: native, amount: '3' }),
      Operation.payment({ destination: account.address, asset: native, amount: '2' }),
      Operation.createClaimableBalance({ asset, amount: '7', claimants: [new Claimant(account.address)] }),
      Operation.createClaimableBalance({ asset: native, amount: '9', claimants: [new Claimant(to)] }),
    ],
  });
  const [balance] = (await server.claimableBalances().claimant(account.address).call()).records;
  await client.submit({ from: me, operations: [Operation.claimClaimableBalance({ balanceId: balance!.id })] });
  await client.submit({
    from: friend,
    operations: [Operation.payment({ destination: account.address, asset: native, amount: '4' })],
  });
  await client.pay({ to: account.address, amount: '2', assetCode: 'AUD', assetIssuer });
  await client.pay({ to: assetIssuer, amount: '1', assetCode: 'AUD', assetIssuer, fromSecret: account.secret });
  await client.merge({ into: account.address });
  await t.rejects(client.pay({ to, amount: '99999', fromSecret: account.secret }), /op_underfunded/);
  await client.pay({ to: account.address, amount: '1', fromSecret: issuerSecret });

  const stroops = (text: unknown) => BigInt(String(text).replace('.', ''));
  const sums = new Map<string, bigint>();
  const add = (key: string, amount: bigint) => sums.set(key, (sums.get(key) ?? 0n) + amount);
  for (const { type, asset_code, amount, starting_balance } of await records(
    `/accounts/${account.address}/effects?limit=200`,
  )) {
    if (type === 'account_created') add('XLM', stroops(starting_balance));
    if (type === 'account_credited') add(String(asset_code ?? 'XLM'), stroops(amount));
    if (type === 'account_debited') add(String(asset_code ?? 'XLM'), -stroops(amount));
  }
  const transactions = await records(`/accounts/${account.address}/transactions?include_failed=true&limit=200`);
  t.ok(transactions.some(({ successful }) => !successful));
  for (const { fee_account, fee_charged } of transactions) {
    if (fee_account === account.address) add('XLM', -BigInt(String(fee_charged)));
  }
  const [line, lumens] = (await server.loadAccount(account.address)).balances;
  t.strictSame([sums.get('AUD'), sums.get('XLM')], [stroops(line!.balance), stroops(lumens!.balance)]);
  t.match(line, { last_modified_ledger: Number });
  const { last_modified_ledger } = await server.loadAccount(account.address);
  t.ok(last_modified_ledger > created.ledger, 'an account tells when it changed last');
});

t.test('a record can be hidden from lists while the balance shows it', async (t) => {
  const payee = await client.fund();
  const path = `/accounts/${payee.address}`;
  const pay = async (amount: string) => (await client.pay({ to: payee.address, amount })).hash;
  const amounts = async (list: string) =>
    (await records(`${list}?limit=200&order=desc`)).flatMap(({ to, amount }) => (to === payee.address ? [amount] : []));
  await pay('1');
  const fault = await client.faults.add({ kind: 'hide', account: payee.address, count: 2 });
  const [hash] = [await pay('2'), await pay('3'), await pay('4')];
  for (const list of [`${path}/payments`, `${path}/operations`, '/payments', '/operations']) {
    t.strictSame(await amounts(list), ['4.0000000', '1.0000000'], list);
  }
  t.equal((await server.loadAccount(payee.address)).balances[0]!.balance, '10010.0000000');
  const [operation] = await records(`/transactions/${hash}/operations`);
  t.match(operation, { amount: '2.0000000' }, 'by its hash it is found');
  t.match(await get(`/operations/${operation!.id}`), { status: 200 });
  t.equal((await records(`${path}/effects?limit=200`)).length, 6, 'effects show it unless they are to hide it');
  t.match(await client.faults.list(), [{ id: fault.id, hits: 2 }]);
  await client.faults.remove(fault.id);
  t.equal((await amounts(`${path}/payments`)).length, 4);

  const hide = { kind: 'hide' as const, operation: String(operation!.id) };
  await client.faults.add({ ...hide, from: ['accounts'], lists: ['effects'] });
  t.equal((await records(`${path}/effects?limit=200`)).length, 5);
  t.equal((await amounts(`${path}/payments`)).length, 4);
  await client.faults.add({ ...hide, from: ['accounts'] });
  t.strictSame(await amounts(`${path}/payments`), ['4.0000000', '3.0000000', '1.0000000']);
  t.equal((await amounts('/payments')).length, 4, 'the feed has it');
  await client.faults.clear();
});

t.test('made-up records stand in real ledgers', async (t) => {
  const { address } = await client.fund();
  const id = await client.inject({
    accounts: [address],
    record: {
      type: 'invoke_host_function',
      type_i: 24,
      asset_balance_changes: [{ type: 'transfer', to: address, amount: '5.0000000' }],
    },
    transaction: { memo: 'soroban', memo_type: 'text' },
    omit: ['source_account'],
  });
  const found = await records(`/accounts/${address}/payments?join=transactions&order=desc&limit=1`);
  t.match(found, [
    { id, type: 'invoke_host_function', asset_balance_changes: [{ to: address }], transaction: { memo: 'soroban' } },
  ]);
  t.notOk('source_account' in found[0]!);
  t.match(await get(`/operations/${id}`), { status: 200 });
  t.match(await get(`/transactions/${found[0]!.transaction_hash}`), { status: 200 });
});

t.test('test accounts pay without a wallet, and payments at once do not clash', async (t) => {
  const payee = await client.fund();
  const { assetIssuer } = await client.issue({ code: 'EUR', amount: '5', toSecret: payee.secret });
  const namesake = await client.issue({ code: 'EUR', name: 'other', amount: '5', toSecret: payee.secret });
  t.not(namesake.assetIssuer, assetIssuer, 'a name makes another issuer of the same code');
  const elsewhere = createLedgerClient({ url, passphrase: ledger.passphrase });
  await Promise.all([
    ...Array.from({ length: 5 }, () => client.pay({ to: payee.address, amount: '1', memo: 'a' })),
    client.pay({ to: payee.address, amount: '250000', memo: 'large' }),
    client.pay({ to: payee.address, amount: '2', assetCode: 'EUR', assetIssuer, memo: 'b' }),
    elsewhere.pay({ to: payee.address, amount: '3', assetCode: 'EUR', assetIssuer, memo: Memo.id('7') }),
    elsewhere.pay({ to: payee.address, amount: '4', assetCode: 'EUR', assetIssuer: namesake.assetIssuer }),
  ]);
  await Promise.all(
    ['1', '2', '3'].map((amount) => client.pay({ to: client.root.publicKey(), amount, fromSecret: payee.secret })),
  );
  const account = await server.loadAccount(payee.address);
  const euros = account.balances.flatMap((line) => ('asset_code' in line ? [line.balance] : []));
  t.same(new Set(euros), new Set(['10.0000000', '9.0000000']));
  t.equal(account.balances.at(-1)!.balance, '259998.9999300');
  const stranger = Keypair.random().publicKey();
  await t.rejects(
    client.pay({ to: payee.address, amount: '1', assetCode: 'EUR', assetIssuer: stranger }),
    /was not issued here/,
  );
  await t.rejects(client.pay({ to: stranger, amount: '1' }), { message: /tx_failed, op_no_destination/ });
});

t.test('a person can play it from a shell', async (t) => {
  const run = async (...args: string[]): Promise<string> => {
    const written = t.capture(process.stdout, 'write');
    try {
      const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
      registerLedgerCommands(program.command('ledger'), () => ({ url }));
      await program.parseAsync(['ledger', ...args], { from: 'user' });
      return written()
        .map(({ args: [text] }) => String(text))
        .join('');
    } finally {
      written.restore();
    }
  };
  const serve = async () => {
    const server = createServer((_req, res) => void res.end('{"hello":"world"}')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };
  const { server: somethingElse, origin: stranger } = await serve();
  t.teardown(() => somethingElse.close());
  const { server: gone, origin: dead } = await serve();
  gone.close();
  const me = JSON.parse(await run('fund', '--json')) as { address: string; secret: string };
  const issued = JSON.parse(await run('issue', '--code', 'GOLD', '--amount', '7', '--json')) as Json;
  const asset = `GOLD:${issued.assetIssuer}`;
  t.match(await run('trust', '--secret', me.secret, '--asset', asset), /^hash {4}[0-9a-f]{64}\nledger {2}\d+\n$/);
  const hash = '11'.repeat(32);
  await run('pay', '--to', me.address, '--amount', '2.5', '--asset', asset, '--memo', hash, '--memo-type', 'hash');
  await run('pay', '--to', me.address, '--amount', '1', '--from', String(issued.secret), '--memo-id', '42');
  await run('pay', '--to', me.address, '--amount', '3', '--muxed-id', '7');
  await run('pay', '--to', muxedAddress(me.address, '8'), '--amount', '4');
  await run('merge', '--into', me.address, '--memo', 'the end');
  t.match(await records(`/accounts/${me.address}/payments?join=transactions`), [
    { type: 'create_account' },
    { amount: '2.5000000', asset_code: 'GOLD', transaction: { memo: Buffer.from(hash, 'hex').toString('base64') } },
    { amount: '1.0000000', from: issued.address, transaction: { memo: '42', memo_type: 'id' } },
    { amount: '3.0000000', to_muxed_id: '7' },
    { amount: '4.0000000', to_muxed_id: '8' },
    { type: 'account_merge', transaction: { memo: 'the end' } },
  ]);
  const wallet = await run(
    '--rpc',
    'pay-by-contract',
    '--to',
    me.address,
    '--amount',
    '5',
    '--muxed-id',
    '6',
    '--json',
  );
  t.match(await get(`/operations/${(JSON.parse(wallet) as Json).id}`), {
    body: { asset_balance_changes: [{ to: me.address, amount: '5.0000000', destination_muxed_id: '6' }] },
  });
  await run('faults', 'add', 'unavailable', '--api', 'horizon', '--path', '/accounts');
  t.match(await run('--rpc', 'pay', '--to', me.address, '--amount', '6', '--from', String(issued.secret)), /^hash /);
  await run('--rpc', 'pay', '--to', me.address, '--amount', '7', '--asset', asset);
  await run('faults', 'clear');
  await run('faults', 'add', 'rate_limited', '--path', '/fee_stats', '--count', '2', '--set', 'retryAfterSeconds=9');
  t.equal((await get('/fee_stats')).headers.get('retry-after'), '9');
  const [fault] = JSON.parse(await run('faults', 'list', '--json')) as { id: number; hits: number }[];
  t.equal(fault!.hits, 1);
  await run('faults', 'clear', String(fault!.id));
  t.equal(await run('faults', 'list'), 'none\n');
  t.match(await run('status'), /^databaseId +[0-9a-f]{32}\nsequence +\d+\n/);

  const [stray, straySecret] = [Keypair.random().publicKey(), Keypair.random().secret()];
  const wrong: [string[], RegExp][] = [
    [['faults', 'add', 'earthquake'], /Must be one of rate_limited, /],
    [['faults', 'add', 'lag'], /the ledger refused: .*ledgers/s],
    [['faults', 'add', 'html', '--count', 'many'], /'--count <number>' argument 'many' is invalid.*whole number/],
    [['faults', 'add', 'html', '--probability', '2'], /'--probability <share>' argument '2' is invalid/],
    [['faults', 'add', 'html', '--path', 'payments'], /'--path <prefix>' argument 'payments' is invalid/],
    [['faults', 'add', 'slow', '--set', 'delayMs'], /option '--set' value 'delayMs' is not name=value/],
    [['faults', 'clear', 'all'], /argument 'id'.*whole number/],
    [['pay', '--to', 'nobody', '--amount', '1'], /'--to <address>' argument 'nobody' is invalid/],
    [['pay', '--to', me.address, '--amount', '1,5'], /'--amount <amount>' argument '1,5' is invalid.*7 decimals/],
    [['pay', '--to', me.address, '--amount', '0'], /'--amount <amount>' argument '0' is invalid/],
    [['pay', '--to', me.address, '--amount', '922337203685.4775808'], /'--amount <amount>' argument/],
    [['pay', '--to', me.address, '--amount', '1', '--from', 'SABC'], /'--from <secret>' argument 'SABC' is invalid/],
    [['pay', '--to', me.address, '--amount', '1', '--memo', 'x'.repeat(29)], /option '--memo' value .* 28 bytes/],
    [
      ['pay', '--to', me.address, '--amount', '1', '--memo', '-1', '--memo-type', 'id'],
      /'--memo' value '-1' is no memo/,
    ],
    [['pay', '--to', me.address, '--amount', '1', '--memo-id', '18446744073709551616'], /'--memo-id <id>' argument/],
    [['pay', '--to', me.address, '--amount', '1', '--memo-id', '1', '--memo', 'x'], /cannot be used with option/],
    [['pay', '--to', muxedAddress(me.address, '8'), '--amount', '1', '--muxed-id', '1'], /G\.\.\. address/],
    [
      ['--rpc', 'pay', '--to', stray, '--amount', '1'],
      /the ledger refused the transaction: tx_failed, op_no_destination/,
    ],
    [
      ['--rpc', 'pay', '--to', me.address, '--amount', '1', '--from', straySecret],
      /there is no account G\w+ on the ledger/,
    ],
    [['merge', '--into', 'G'], /'--into <address>' argument 'G' is invalid/],
    [['issue', '--code', 'NO-PE'], /'--code <code>' argument 'NO-PE' is invalid/],
    [
      ['trust', '--secret', me.secret, '--asset', asset, '--limit', '-1'],
      /'--limit <amount>' argument '-1' is invalid/,
    ],
    [['pay', '--to', me.address, '--amount', '1', '--asset', 'GOLD'], /CODE:ISSUER/],
    [['fund', 'GABC'], /value 'GABC' is invalid for argument 'address'.*checksum/],
    [
      ['--url', dead, 'pay', '--to', me.address, '--amount', '1', '--from', me.secret],
      /no local ledger answers at http:\/\/127.0.0.1:\d+ \(nothing listens there\): start .*npm run ledger.*--url/,
    ],
    [['--url', dead, 'status'], /no local ledger answers at http:\/\/127.0.0.1:\d+ \(nothing listens/],
    [['--url', stranger, 'status'], /the server at http:\/\/127.0.0.1:\d+ is not a local ledger: start/],
  ];
  for (const [args, message] of wrong) await t.rejects(run(...args), { message }, args.join(' '));
});

t.test('a reset begins at ledger 1 with nothing but the root account', async (t) => {
  const { address } = await client.fund();
  const before = (await get('/ledgers/1')).body.hash;
  const { sequence } = await client.status();
  await client.reset();
  t.ok((await client.status()).sequence < sequence);
  t.match((await get('/')).body, { network_passphrase: ledger.passphrase });
  t.not((await get('/ledgers/1')).body.hash, before);
  t.match(await get(`/accounts/${address}`), { status: 404 });
  t.match(await get(`/accounts/${address}/payments`), { status: 404 });
  t.strictSame(
    await records(`/payments?cursor=${afterLedger(sequence)}`),
    [],
    'an old cursor is beyond the newest ledger',
  );
  const again = await client.fund();
  await client.pay({ to: again.address, amount: '1' });
  t.equal((await records(`/accounts/${again.address}/payments`)).length, 2);
});

t.test(
  'a clock that is set forward between two closes: no ledger closes before the second of what happened in it',
  async (t) => {
    let aheadMs = 0;
    const nowMs = () => systemClock.nowMs() + aheadMs;
    const clock = { ...systemClock, nowMs, now: () => new Date(nowMs()) };
    const own = await startTestLedger(t, { db: (await testDatabase(t)).db, closeMs: 500, clock });
    const payee = await own.client.fund();
    for (let time = 0; time < 3; time += 1) {
      aheadMs += 60_000;
      const sentAt = nowMs();
      const { hash } = await own.client.pay({ to: payee.address, amount: '1' });
      const { created_at: closedAt } = await own.client.server.transactions().transaction(hash).call();
      t.ok(
        Date.parse(closedAt) >= Math.floor(sentAt / 1000) * 1000,
        `${closedAt} for ${new Date(sentAt).toISOString()}`,
      );
    }
  },
);
