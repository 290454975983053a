// biome-ignore-all lint/suspicious/noExplicitAny: the answers of older releases have no types here.
/** `node --import=tsx scripts/database-fixture.ts CHECKOUT OUT.json.gz`: lets the service of another checkout (of a release) fill a database, kills it, and
 *  writes the database as a fixture for the migration test, together with the API's last answers. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { networkInfo } from '../contracts/networks.js';
import { createLedgerClient } from '../src/local-ledger/index.js';
import { DEVELOPMENT_CA_FILE } from '../src/webhooks/development-ca.js';
import { type DatabaseFixture, dumpDatabase, packFixture } from '../test/helpers/database-fixture.js';
import { freePort, testDatabase } from '../test/helpers/mongo.js';
import { startReceiver, testAuthority } from '../test/helpers/receiver.js';
import { eventually, TEST_SECRETS_KEY } from '../test/helpers/service.js';

const MAX_BYTES = 300_000;
const [checkout = '', out = ''] = process.argv.slice(2);
const ends: (() => unknown)[] = [];
const t = { teardown: (end: () => unknown) => void ends.unshift(end) };

interface Started {
  url: string;
  ledgerUrl: string;
  demoKey: string;
  env: NodeJS.ProcessEnv;
  kill(): Promise<void>;
}

async function startService(mongodbUri: string): Promise<Started> {
  const dataDir = mkdtempSync(join(tmpdir(), 'stellar-collect-fixture-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  writeFileSync(join(dataDir, DEVELOPMENT_CA_FILE), (await testAuthority()).cert);
  const [port, ledgerPort] = [await freePort(), await freePort()];
  const env = {
    ...process.env,
    MONGODB_URI: mongodbUri,
    SECRETS_KEY: TEST_SECRETS_KEY,
    DATA_DIR: dataDir,
    PORT: String(port),
    LOCAL_LEDGER_PORT: String(ledgerPort),
    LOCAL_LEDGER_CLOSE_MS: '250',
    POLL_INTERVAL_MS: '100',
    WEBHOOK_MAX_ATTEMPTS: '2',
    WEBHOOK_RETRY_BASE_MS: '4000',
    LOG_LEVEL: 'warn',
  };
  const child = spawn(process.execPath, ['--import=tsx', 'src/main.ts'], { cwd: checkout, env });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += chunk));
  child.stderr.pipe(process.stderr);
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  t.teardown(() => child.kill('SIGKILL'));
  const demoKey = await eventually(async () => /API key +(sk_\S+)/.exec(printed)?.[1], 'the demo account', 90_000);
  return {
    url: `http://127.0.0.1:${port}`,
    ledgerUrl: `http://127.0.0.1:${ledgerPort}`,
    demoKey,
    env,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Makes another account with the release's own cli. */
function openAccount(env: NodeJS.ProcessEnv): string {
  const cli = ['src/cli/main.ts', 'src/cli.ts'].find((path) => existsSync(join(checkout, path)))!;
  const args = ['--import=tsx', cli, 'account', 'create', '--name', 'Second', '--json'];
  return /sk_\w+/.exec(execFileSync(process.execPath, args, { cwd: checkout, env, encoding: 'utf8' }))![0];
}

type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<any>;

const callerOf =
  (url: string, apiKey: string): Call =>
  async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { data, error } = response.status === 204 ? { data: null, error: null } : ((await response.json()) as any);
    if (error) throw new Error(`${method} ${path}: ${JSON.stringify(error)}`);
    return data;
  };

async function listAll(call: Call): Promise<Record<string, any>> {
  const list = (path: string) => call('GET', `${path}${path.includes('?') ? '&' : '?'}pageSize=100`);
  const statuses = ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'].map((status) => `status=${status}`).join('&');
  const answers: Record<string, any> = {};
  for (const path of [
    '/api-keys',
    '/wallets',
    '/products',
    '/payment-links',
    `/payments?${statuses}`,
    '/events',
    '/webhooks',
  ]) {
    answers[path] = await list(path);
  }
  for (const { id } of answers['/webhooks'])
    answers[`/webhooks/${id}/deliveries`] = await list(`/webhooks/${id}/deliveries`);
  return answers;
}

async function main(): Promise<DatabaseFixture> {
  const { uri, db } = await testDatabase(t);
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  receiver.behave(({ path }) => ({ status: path === '/failing' ? 500 : 200 }));
  const service = await startService(uri);
  const ledger = createLedgerClient({ url: service.ledgerUrl, passphrase: networkInfo.LOCAL.passphrase });
  const call = callerOf(service.url, service.demoKey);
  const secondKey = openAccount(service.env);
  const second = callerOf(service.url, secondKey);
  const webhook = (by: Call, name: string) =>
    by('POST', '/webhooks', {
      name,
      url: `${receiver.origin}/${name}`,
      events: ['payment.received', 'payment.completed'],
    });

  const [demoWallet] = await call('GET', '/wallets');
  const [tip, coffee] = await call('GET', '/products');
  const linkOf = (by: Call, productId: string) => by('POST', '/payment-links', { productId });
  const good = await webhook(call, 'good');
  const failing = await webhook(call, 'failing');
  const paused = await webhook(call, 'paused');
  await call('PATCH', `/webhooks/${paused.id}`, { status: 'PAUSED' });
  const rotated = await call('POST', `/webhooks/${good.id}/rotate-secret`);
  const secondWebhook = await webhook(second, 'second');

  const walletOf = async (by: Call, name: string, address?: string) =>
    by('POST', '/wallets', { name, address: address ?? (await ledger.fund()).address, network: 'LOCAL' });
  const other = await walletOf(call, 'Other');
  const closed = await walletOf(call, 'Closed');
  const shared = await walletOf(second, 'Shared', demoWallet.address);
  const product = (by: Call, walletId: string, fields: object) =>
    by('POST', '/products', { walletId, assetCode: 'XLM', priceType: 'FIXED', price: '10', ...fields });
  const shirt = await product(call, other.id, { name: 'T-shirt' });
  const issued = await ledger.issue({ code: 'USD', amount: '100' });
  const dollars = await product(call, demoWallet.id, {
    name: 'Dollars',
    assetCode: 'USD',
    assetIssuer: issued.assetIssuer,
  });
  const theirs = await product(second, shared.id, { name: 'Theirs' });
  const [coffeeLink, tipLink, shirtLink, dollarLink, theirLink] = await Promise.all([
    linkOf(call, coffee.id),
    linkOf(call, tip.id),
    linkOf(call, shirt.id),
    linkOf(call, dollars.id),
    linkOf(second, theirs.id),
  ]);
  const closedLink = await linkOf(call, coffee.id);
  const idempotencyKey = 'made-before-the-upgrade';
  const body = { productId: tip.id };
  const replayed = await call('POST', '/payment-links', body, { 'idempotency-key': idempotencyKey });
  const reader = await call('POST', '/api-keys', { name: 'Reader', scope: 'READ' });
  const revoked = await call('POST', '/api-keys', { name: 'Revoked', scope: 'FULL' });
  await call('DELETE', `/api-keys/${revoked.id}`);

  const pay = (to: string, amount: string, memo: string | null) => ledger.pay({ to, amount, memo });
  const seen = (by: Call, count: number) =>
    eventually(
      async () =>
        (await listAll(by))[`/payments?status=COMPLETED&status=UNDERPAID&status=REJECTED&status=UNMATCHED`].length >=
        count,
      `${count} payments`,
      60_000,
    );
  await pay(demoWallet.address, '25', coffeeLink.memo);
  await pay(demoWallet.address, '30', coffeeLink.memo);
  await pay(demoWallet.address, '20', coffeeLink.memo);
  await pay(demoWallet.address, '0.5', tipLink.memo);
  await pay(demoWallet.address, '10', dollarLink.memo);
  await pay(demoWallet.address, '3', null);
  await pay(demoWallet.address, '4', 'NO SUCH MEMO');
  await pay(demoWallet.address, '10', theirLink.memo);
  await pay(other.address, '10', shirtLink.memo);
  await seen(call, 8);
  await call('PATCH', `/payment-links/${closedLink.id}`, { active: false });
  await call('PATCH', `/products/${coffee.id}`, { price: '26' });
  await call('PATCH', `/products/${shirt.id}`, { walletId: demoWallet.id });
  await call('PATCH', `/wallets/${closed.id}`, { active: false });
  await delay(1000);
  await pay(demoWallet.address, '26', closedLink.memo);
  await pay(demoWallet.address, '10', shirtLink.memo);
  const stored = await call('GET', '/payments?status=UNDERPAID&status=UNMATCHED&pageSize=100');
  const find = (amount: string) => stored.find((payment: any) => payment.amount === amount);
  await call('POST', `/payments/${find('0.5').id}/accept`);
  await call('POST', `/payments/${find('3').id}/assign`, { paymentLinkId: tipLink.id });

  const statusesOf = async (id: string) =>
    (await call('GET', `/webhooks/${id}/deliveries?pageSize=100`)).map((each: any) => each.status) as string[];
  await eventually(
    async () => (await statusesOf(failing.id)).every((status) => status === 'FAILED'),
    'failed deliveries',
    60_000,
  );
  // The last payment: its delivery has failed once when the service is killed.
  await pay(demoWallet.address, '26', coffeeLink.memo);
  await eventually(
    async () => {
      const [latest] = await call('GET', `/webhooks/${failing.id}/deliveries?status=PENDING`);
      return latest && latest.attemptCount === 1;
    },
    'a delivery that is to be tried again',
    60_000,
  );
  await eventually(
    async () => (await statusesOf(good.id)).every((status) => status === 'DELIVERED'),
    'delivered',
    60_000,
  );
  const accounts = [
    { apiKey: service.demoKey, answers: await listAll(call) },
    { apiKey: secondKey, answers: await listAll(second) },
  ];
  await service.kill();
  return {
    release: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: checkout, encoding: 'utf8' }).trim(),
    accounts,
    readerKey: reader.key,
    webhookSecrets: {
      [good.id]: [rotated.secret, good.secret],
      [failing.id]: [failing.secret],
      [paused.id]: [paused.secret],
      [secondWebhook.id]: [secondWebhook.secret],
    },
    idempotent: { key: idempotencyKey, body, answer: replayed },
    links: { coffee: coffeeLink, shirt: shirtLink, closed: closedLink, tip: tipLink },
    collections: await dumpDatabase(db),
  };
}

try {
  if (!existsSync(resolve(checkout, 'src/main.ts')) || out === '') throw new Error('needs CHECKOUT and OUT.json.gz');
  const packed = packFixture(await main());
  if (packed.length > MAX_BYTES) throw new Error(`${packed.length} bytes are too many for the repository`);
  writeFileSync(out, packed);
  console.log(`${out}: ${packed.length} bytes`);
} finally {
  for (const end of ends) await end();
}
process.exit();
