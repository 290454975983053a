/** The examples of the README and of the reference pages, taken from them and run as they stand. */
import { spawnSync } from 'node:child_process';
import type { KeyObject } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { newKeySeed, privateKeyOf, signWithKey } from '../../src/domain/signature.js';
import { systemClock } from '../../src/kit/clock.js';
import { createSecretBox } from '../../src/kit/secrets.js';
import { createKeyring } from '../../src/webhooks/keyring.js';
import { ROOT, type Running, run, start } from '../helpers/command.js';
import { bash, blocksOf, end, literally } from '../helpers/documents.js';
import { createHappenings } from '../helpers/happenings.js';
import { LONG } from '../helpers/long.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

const webhooksPage = await readFile(join(ROOT, 'docs/reference/webhooks.md'), 'utf8');
const block = blocksOf(
  'README.md',
  'docs/reference/webhooks.md',
  'docs/reference/cli.md',
  'docs/operations/ledger-sources.md',
);
const tsx = import.meta.resolve('tsx');
const CLIENT = JSON.stringify(`${ROOT}src/client/index.ts`);

const has = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;
const php = has('php', '--version') ? false : 'php is not installed (apt-get install php-cli)';
const phpSodium = has('php', '-r', 'exit(extension_loaded("sodium") ? 0 : 1);') ? false : 'php has no sodium';
const go = has('go', 'version') ? false : 'go is not installed (apt-get install golang-go)';
const python = has('python3', '--version') ? false : 'python3 is not installed';
const pythonLibrary = has('python3', '-c', 'import standardwebhooks')
  ? false
  : 'the library is not installed; its use is only checked for syntax';

async function prepare(t: { teardown(end: () => unknown): void }) {
  const database = await testDatabase(t);
  const service = await startTestService(t, { database });
  const env = {
    MONGODB_URI: database.uri,
    SECRETS_KEY: TEST_SECRETS_KEY,
    DATA_DIR: service.dataDir,
    HORIZON_URLS_LOCAL: service.context.localLedger!.url,
  };
  return { service, env };
}

t.test(
  'what is sold with curl is paid with the cli and reaches the endpoints in TypeScript, Python and PHP',
  async (t) => {
    const { service, env } = await prepare(t);
    const { address } = await service.context.localLedger!.client.fund();
    await service.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' });

    const endpoints = block('sh', 'receive_webhook.py').split('\n');
    const [setting, ...commands] = endpoints.filter((line) => line !== '');
    t.equal(commands.length, 3);
    const receivers: { command: string; running: Running; listen: Running }[] = [];
    for (const command of commands) {
      const missing = command.startsWith('php') ? php : command.startsWith('python3') ? python : false;
      if (missing) {
        t.pass(command, { skip: missing });
        continue;
      }
      const port = String(await freePort());
      const open = { $API_KEY: service.apiKey, ':4000': `:${port}` };
      const listen = bash(
        `${literally(block('sh', 'webhook listen').trim(), service, open)} --url ${service.url}`,
        env,
      );
      t.teardown(() => end(listen));
      const [secret] = await listen.says(/whsec_\S+/);
      const script = `${setting!.replace('4000', port).replace('whsec_…', secret)}\nexec ${command}`;
      const running = bash(script, {});
      t.teardown(() => end(running));
      receivers.push({ command, running, listen });
    }
    for (const { command, running } of receivers) {
      // PHP's server says everything on stderr.
      await t.resolves(running.says(command.startsWith('php') ? /^/ : /listening/), command);
    }

    const sold = await bash(literally(block('sh', 'ledger pay --to'), service, { 'sk_…': service.apiKey }), env).ended;
    t.equal(sold.code, 0, sold.stderr);
    const payments = JSON.parse(sold.stdout.trim().split('\n').at(-1)!);
    t.match(payments.data, [{ status: 'COMPLETED', amount: '10.5', assetCode: 'XLM' }]);
    t.match(sold.stdout, new RegExp(`^${service.url}/p/\\S+$`, 'm'), 'the url of the page is printed');

    for (const { command, running, listen } of receivers) {
      const shipped = /ship it: 10\.5 XLM arrived \((pay_\w+)\)/;
      const printed = () => shipped.exec(running.stdout() + running.stderr());
      for (let tries = 0; !printed() && tries < 600; tries += 1)
        await new Promise((resolve) => setTimeout(resolve, 100));
      t.equal(printed()?.[1], payments.data[0].id, `${command}: ${running.stderr()} ${listen.stderr()}`);
      // It says so once the endpoint has answered, which comes after what the endpoint prints.
      await t.resolves(listen.says(/payment\.completed {2}COMPLETED {2}10\.5 XLM/), command);
    }
  },
);

for (const [command, missing] of [
  [['python3', 'scripts/examples/receive_webhook.py'], python],
  [['php', '-S', '127.0.0.1:PORT', 'scripts/examples/receive-webhook.php'], php],
] as const) {
  t.test(`${command.at(-1)} refuses what is forged, old or of another secret`, async (t) => {
    if (missing) return void t.pass('run', { skip: missing });
    const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    const port = String(await freePort());
    const [program, ...args] = command.map((word) => word.replace('PORT', port));
    const endpoint = start(program!, args, { env: { WEBHOOK_SECRET: secret, PORT: port } });
    t.teardown(() => endpoint.process.kill());
    const body =
      '{"id":"evt_1","type":"payment.completed","data":{"payment":{"id":"pay_1","amount":"1","assetCode":"é"}}}';
    const post = async (signature: string, at = new Date(), sent = body) => {
      const timestamp = String(Math.floor(at.getTime() / 1000));
      const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': timestamp, 'webhook-signature': signature };
      const send = () => fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', body: sent, headers });
      for (let tries = 0; ; tries += 1) {
        const answer = await send().catch(() => null);
        if (answer) return answer.status;
        if (tries === 300) throw new Error(`it does not answer: ${endpoint.stderr()}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    const webhook = new Webhook(secret);
    const now = new Date();
    const genuine = webhook.sign('evt_1', now, body);
    const other = new Webhook(`whsec_${Buffer.alloc(32, 2).toString('base64')}`).sign('evt_1', now, body);
    const old = new Date(now.getTime() - 301_000);
    t.equal(await post(genuine, now), 204);
    t.equal(await post(`${other} ${genuine}`, now), 204, 'one of several signatures is enough');
    t.equal(await post(other, now), 400);
    t.equal(await post(genuine, now, body.replace('"1"', '"9"')), 400);
    t.equal(await post(webhook.sign('evt_1', old, body), old), 400);
    t.equal(await post(''), 400);
  });
}

t.test(
  'endpoints without a secret take what the service signs, through a rotation, and refuse what is forged or old',
  async (t) => {
    const { service } = await prepare(t);
    const secrets = createSecretBox(Buffer.from(TEST_SECRETS_KEY, 'base64'), systemClock);
    const { webhookKeys } = service.context.stores.system;
    const keyring = createKeyring({
      webhookKeys,
      secrets,
      clock: systemClock,
    });
    const foreign = privateKeyOf(newKeySeed(systemClock));
    const body =
      '{"id":"evt_1","type":"payment.completed","data":{"payment":{"id":"pay_1","amount":"1","assetCode":"é"}}}';
    /** As a delivery, whose signature by the secret comes first. */
    const signed = async (at: Date, ...own: KeyObject[]) => {
      const timestamp = String(Math.floor(at.getTime() / 1000));
      const keys = own.length > 0 ? own : await keyring.signers(systemClock.now());
      const signatures = [
        `v1,${Buffer.alloc(32).toString('base64')}`,
        ...(await Promise.all(keys.map((key) => signWithKey(key, 'evt_1', timestamp, body)))),
      ];
      return { 'webhook-id': 'evt_1', 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
    };
    const endpoints: { name: string; url: string; endpoint: Running }[] = [];
    for (const [line, missing] of [
      ['npx tsx scripts/examples/verify-v1a.ts', false],
      ['python3 scripts/examples/verify_v1a.py', python],
      ['php -S 127.0.0.1:$PORT scripts/examples/verify-v1a.php', php || phpSodium],
      ['go run scripts/examples/verify_v1a.go', go],
    ] as const) {
      t.ok(webhooksPage.includes(line.split(' ').at(-1)!), `${line} is documented`);
      if (missing) {
        t.pass(line, { skip: missing });
        continue;
      }
      const port = String(await freePort());
      const endpoint = bash(`exec ${line}`, { COLLECT_URL: service.url, PORT: port });
      t.teardown(() => end(endpoint));
      endpoints.push({ name: line, url: `http://127.0.0.1:${port}/hook`, endpoint });
    }
    const post = async (url: string, headers: Record<string, string>, sent = body) => {
      const answer = await fetch(url, { method: 'POST', headers, body: sent });
      return answer.status;
    };
    const now = new Date();
    const genuine = await signed(now);
    for (const { name, url, endpoint } of endpoints) {
      const answers = () => post(url, genuine).catch(() => null);
      t.equal(await eventually(answers, `${name}: ${endpoint.stderr()}`, 60_000), 204, name);
      await eventually(async () => /ship it: 1 é arrived \(pay_1\)/.test(endpoint.stdout() + endpoint.stderr()), name);
      t.equal(await post(url, await signed(now, foreign)), 400, `${name}: a key that is not published`);
      t.equal(await post(url, genuine, body.replace('"1"', '"9"')), 400, `${name}: another body`);
      t.equal(await post(url, { ...genuine, 'webhook-id': 'evt_2' }), 400, `${name}: another id`);
      t.equal(await post(url, await signed(new Date(now.getTime() - 301_000))), 400, `${name}: old`);
      t.equal(
        await post(url, { ...genuine, 'webhook-signature': 'v1,AAAA v1a,AAAA v1a,' }),
        400,
        `${name}: no signature`,
      );
      t.equal(await post(url, {}), 400, `${name}: no headers`);
    }
    await keyring.rotate(async (id) => {
      const since = new Date();
      return (await webhookKeys.begin(id, '', since)) ? since : null;
    });
    const both = await signed(new Date());
    t.equal(both['webhook-signature'].split(' v1a,').length, 3);
    for (const { name, url } of endpoints) t.equal(await post(url, both), 204, `${name}: by the new key and the old`);
  },
);

t.test('the consumer of the examples does everything once, however often it is killed', LONG, async (t) => {
  const { service, env } = await prepare(t);
  const { happen } = await createHappenings(t, env.MONGODB_URI);
  const folder = await mkdtemp(join(tmpdir(), 'stellar-collect-readme-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const FILE = join(folder, 'orders.jsonl');
  const lines = async () => (await readFile(FILE, 'utf8').catch(() => '')).split('\n').slice(0, -1);
  const consume = () => {
    const consumer = start(process.execPath, [`--import=${tsx}`, 'scripts/examples/read-events.ts'], {
      env: { COLLECT_URL: service.url, API_KEY: service.apiKey, FILE },
    });
    t.teardown(() => consumer.process.kill('SIGKILL'));
    return consumer;
  };
  let total = 0;
  let isOver = false;
  const producing = (async () => {
    while (!isOver) total += (await happen(service.accountId, 'payment.received', 'payment.completed')).length;
  })();
  for (let round = 1; round <= 3; round += 1) {
    const before = (await lines()).length;
    const consumer = consume();
    await eventually(async () => (await lines()).length > before + 20, 'it works', 60_000);
    consumer.process.kill('SIGKILL');
    await consumer.ended;
    // As if the kill had come within a write.
    await appendFile(FILE, '{"sequence":');
  }
  isOver = true;
  await producing;
  consume();
  await eventually(async () => (await lines()).length >= total, `all ${total} are done`, 60_000);
  const done = (await lines()).map((line) => JSON.parse(line));
  t.same(
    done.map(({ sequence }) => sequence),
    Array.from({ length: total }, (_, index) => index + 1),
  );
  t.equal(new Set(done.map(({ paid }) => paid).filter((id) => id !== null)).size, total / 2);
});

t.test('the shop of the examples sells, ships what was paid, and only that', async (t) => {
  const { service, env } = await prepare(t);
  const ledger = service.context.localLedger!.client;
  const { product, wallet } = await startSelling(service);
  const port = String(await freePort());
  const open = { $API_KEY: service.apiKey, ':4000': `:${port}` };
  const listen = bash(`${literally(block('sh', 'webhook listen').trim(), service, open)} --url ${service.url}`, env);
  t.teardown(() => end(listen));
  const [WEBHOOK_SECRET] = await listen.says(/whsec_\S+/);
  const shop = start(process.execPath, [`--import=${tsx}`, 'scripts/examples/shop.ts'], {
    env: { COLLECT_URL: service.url, API_KEY: service.apiKey, PRODUCT: product.id, PORT: port, WEBHOOK_SECRET },
  });
  t.teardown(() => shop.process.kill());
  await shop.says(/open http/);
  const buy = async () => {
    const { status, headers } = await fetch(`http://127.0.0.1:${port}/orders`, { method: 'POST', redirect: 'manual' });
    t.equal(status, 303);
    return headers.get('location')!;
  };
  const [paid, waiting] = [await buy(), await buy()];
  t.match(await (await fetch(paid)).text(), /Pay 25 XLM/);
  const checkouts = (await service.api('GET', '/checkouts')).data;
  const { memo } = checkouts.find(({ url }: { url: string }) => url === paid);
  await ledger.pay({ to: wallet.address, amount: '10', memo });
  await ledger.pay({ to: wallet.address, amount: '15', memo });
  await shop.says(/ship order-1: 25 XLM arrived/);
  const order = async (name: string) => (await fetch(`http://127.0.0.1:${port}/orders/${name}`)).text();
  t.equal(await order('order-1'), 'Your order is shipped.');
  t.equal(await order('order-2'), 'Your order is waiting.');
  t.match(await (await fetch(paid)).text(), /orders\/order-1\?checkout=chk_/);
  t.match(await (await fetch(waiting)).text(), /Pay 25 XLM/);
});

t.test('the few lines with the libraries', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stellar-collect-readme-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
  const rawBody = JSON.stringify({ type: 'payment.completed', data: { payment: { id: 'pay_1' } } });
  const at = new Date();
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', at, rawBody),
  };
  const forged = { ...headers, 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` };

  t.test('TypeScript', async (t) => {
    const text = block('ts', 'verifyWebhook').replace("'stellar-collect-client'", CLIENT);
    const withHeaders = async (sent: object) => {
      const given = `const [secret, rawBody, request] = ${JSON.stringify([secret, rawBody, { headers: sent }])} as any;
        const ship = (payment: { id: string }) => console.log('shipped', payment.id);\n`;
      await writeFile(join(folder, 'library.mts'), given + text);
      return run(process.execPath, [`--import=${tsx}`, join(folder, 'library.mts')]);
    };
    t.match(await withHeaders(headers), { code: 0, stdout: 'shipped pay_1\n' });
    t.match(await withHeaders(forged), { code: 1, stdout: '' });
  });

  t.test('Python', async (t) => {
    if (python) return void t.pass('run', { skip: python });
    const text = block('python', 'standardwebhooks');
    const parsed = await run('python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.buffer.read())'], { input: text });
    t.match(parsed, { code: 0, stderr: '' });
    if (pythonLibrary) return void t.pass('run', { skip: pythonLibrary });
    const withHeaders = (sent: object) => {
      const given = `import json
secret, body, sent = json.loads(${JSON.stringify(JSON.stringify([secret, rawBody, sent]))})
class request:
    headers = sent
    get_data = staticmethod(lambda as_text: body)
ship = lambda payment: print("shipped", payment["id"])\n`;
      return run('python3', ['-'], { input: given + text });
    };
    t.match(await withHeaders(headers), { code: 0, stdout: 'shipped pay_1\n' });
    t.match(await withHeaders(forged), { code: 1, stdout: '' });
  });

  t.test('PHP', async (t) => {
    if (php) return void t.pass('run', { skip: php });
    const parsed = await run('php', ['-l'], { input: `<?php\n${block('php', 'StandardWebhooks')}` });
    t.equal(parsed.code, 0, parsed.stdout);
  });
});

t.test('the typed client and the administration are used as documented', LONG, async (t) => {
  const { service, env } = await prepare(t);
  const { product } = await startSelling(service);
  const folder = await mkdtemp(join(tmpdir(), 'stellar-collect-readme-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const text = block('ts', 'createClient')
    .replace("'stellar-collect-client'", CLIENT)
    .replace('http://127.0.0.1:3000', service.url);
  const given = `const apiKey = '${service.apiKey}', productId = '${product.id}';
    const response = { redirect: (status: number, url: string) => console.log(status, url) };\n`;
  const program = given + text;
  await writeFile(join(folder, 'client.mts'), program);
  const ran = await run(process.execPath, [`--import=${tsx}`, join(folder, 'client.mts')]);
  t.match(ran, { code: 0, stdout: new RegExp(`^303 ${service.url}/c/\\S+\n$`) });

  const administration = block('sh', 'parked list')
    .replaceAll('acct_…', service.accountId)
    .replaceAll('NAME', 'Second');
  const done = await bash(literally(administration, service), env).ended;
  t.equal(done.code, 0, done.stderr);
  t.match(done.stdout, /API key +key_\w+ +sk_\w+/);
  const [, create] = block('sh', 'NETWORKS=TESTNET npm start').trim().split('\n');
  const made = await bash(literally(create!, service), env).ended;
  t.match(JSON.parse(made.stdout), { account: { name: 'My shop' }, apiKey: { key: /^sk_/ } });

  const register = block('sh', 'https://shop.example/hook');
  const helpers = block('sh', 'ledger pay --to')
    .split('\n')
    .filter((line) => /^(API_KEY|COLLECT_URL|call\(\))/.test(line))
    .join('\n');
  const registered = await bash(literally(`${helpers}\n${register}`, service, { 'sk_…': service.apiKey }), env).ended;
  t.match(JSON.parse(registered.stdout).data, { name: 'shop', secret: /^whsec_/ });
});
