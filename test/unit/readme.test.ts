/** The README and the settings page say what the code does. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import express from 'express';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { misspeltIn, readConfig } from '../../src/app/config.js';
import { SECRETS, SETTINGS } from '../../src/app/settings.js';
import { freePort } from '../helpers/mongo.js';

const page = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

t.test('the README stays short enough to be read', async (t) => {
  t.ok(page('README.md').split('\n').length <= 150);
});

t.test('the documented settings, defaults and meanings are those of the code', async (t) => {
  const table = page('docs/reference/settings.md');
  const rows = [...table.matchAll(/^\| `([A-Z_]+)` \| (.*) \| (.*) \|$/gm)];
  t.same(
    rows.map(([, name]) => name),
    Object.keys(SETTINGS),
  );
  for (const [, name, fallback, meaning] of rows) {
    t.equal(fallback!.replace(/`/g, ''), SETTINGS[name!]!.default.replace(/`/g, ''), `default of ${name}`);
    t.equal(meaning, SETTINGS[name!]!.meaning);
  }
});

t.test(
  'a secret is read from the file that NAME_FILE names, and a file that cannot be is one line without its content',
  async (t) => {
    const folder = t.testdir({
      uri: 'mongodb://db.example/shop\n',
      key: `${Buffer.alloc(32, 7).toString('base64')}\r\n`,
      smtp: 'smtps://u:p@mail.example',
      coingecko: 'cg-key',
      empty: '\n',
      lines: 'hidden-one\nhidden-two\n',
      wrong: 'hidden-value',
      large: 'x'.repeat(70_000),
    });
    const documented = page('docs/reference/settings.md').split('## Secrets from files')[1]!;
    t.same(
      [...documented.split(' can each be given')[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
      SECRETS,
    );
    const config = readConfig({
      MONGODB_URI_FILE: `${folder}/uri`,
      SECRETS_KEY_FILE: `${folder}/key`,
      SMTP_URL_FILE: `${folder}/smtp`,
      MAIL_FROM: 'shop@example.com',
      COINGECKO_API_KEY_FILE: `${folder}/coingecko`,
      RATE_SOURCES: 'coingecko',
    });
    t.equal(config.mongodbUri, 'mongodb://db.example/shop');
    t.same(config.secretsKeys, [Buffer.alloc(32, 7)]);
    t.match(config.mail, { host: 'mail.example' });
    t.equal(config.rates.coingeckoApiKey, 'cg-key');

    const others = { MAIL_FROM: 'shop@example.com', RATE_SOURCES: 'coingecko', COINGECKO_API_KEY: 'cg-key' };
    for (const name of SECRETS)
      for (const [file, more] of [
        [`${folder}/uri`, { [name]: 'hidden' }],
        [`${folder}/none-hidden`, {}],
        [`${folder}/empty`, {}],
        [`${folder}/lines`, {}],
        [`${folder}/large`, {}],
        [folder, {}],
        ['/dev/zero', {}],
        ...(name === 'COINGECKO_API_KEY' ? [] : ([[`${folder}/wrong`, {}]] as const)),
      ] as const) {
        const { [name as 'MAIL_FROM']: _none, ...rest } = others;
        const fault = { name: 'StartupError', message: new RegExp(`^${name}_FILE (?!.*hidden)[^\\n]+$`) };
        t.throws(() => readConfig({ ...rest, ...more, [`${name}_FILE`]: file }), fault, `${name}_FILE ${file}`);
      }
    t.equal(readConfig({ MONGODB_URI_FILE: ' ' }).mongodbUri, null, 'an empty variable is none');
    t.match(misspeltIn({ SECRET_KEY_FILE: 'x', SMTP_URL_FILE: 'x' }), [/SECRET_KEY_FILE .* SECRETS_KEY_FILE/]);
  },
);

t.test('a setting that cannot be is one line that names it', async (t) => {
  const bad: Record<string, string> = {
    PORT: '70000',
    PUBLIC_URL: 'ftp://x',
    MONGODB_URI: 'postgres://x',
    MONGODB_DOWNLOADS: 'http://127.0.0.1/downloads',
    NETWORKS: 'LOCAL,MARS',
    HORIZON_URLS_TESTNET: 'https://ok.example,nonsense',
    RPC_URLS_TESTNET: 'https://ok.example, ftp://rpc.example',
    RPC_URLS_LOCAL: 'localhost:8000/rpc',
    ARCHIVE_URLS_PUBLIC: 'https://ok.example,http://history.example',
    ARCHIVE_URLS_TESTNET: 'nonsense',
    ARCHIVE_URLS_LOCAL: 'ftp://127.0.0.1/archive',
    HORIZON_REQUESTS_PER_HOUR: '29',
    POLL_INTERVAL_MS: '1s',
    LOCAL_LEDGER_PORT: '-1',
    LOCAL_LEDGER_CLOSE_MS: '0',
    SECRETS_KEY: 'c2hvcnQ=',
    WEBHOOK_ALLOW_PRIVATE: 'yes',
    WEBHOOK_TIMEOUT_MS: '1e3',
    WEBHOOK_RETRY_BASE_MS: '',
    WEBHOOK_MAX_ATTEMPTS: '0',
    RATE_LIMIT_PER_MINUTE: 'many',
    PUBLIC_RATE_LIMIT_PER_MINUTE: '-1',
    MAX_WEBHOOKS_PER_ACCOUNT: '0',
    MAX_API_KEYS_PER_ACCOUNT: '-5',
    MAX_WALLETS_PER_ACCOUNT: 'all',
    TRUST_PROXY: 'true',
    METRICS_PORT: '0',
    RETENTION_DAYS: '1.5',
    DUST_AMOUNT: '1e-3',
    LOG_LEVEL: 'loud',
    HOST: 'a b',
  };
  for (const [name, value] of Object.entries(bad)) {
    if (value === '') continue;
    t.throws(
      () => readConfig({ [name]: value }),
      { name: 'StartupError', message: new RegExp(`^${name} [^\\n]+$`) },
      name,
    );
  }
  const urls = [
    'https:shop.example',
    'https:///x',
    'https://u:p@x',
    'https://x?a=1',
    'https://x/?',
    'https://x/#a',
    'https://@x',
    'https://https://pay.example',
    'https://a,b',
    'https://a.example,https://b.example',
  ];
  for (const [name, value] of [
    ['TRUST_PROXY', 'loopback,my-proxy'],
    ['TRUST_PROXY', '999'],
    ['MONGODB_DOWNLOADS', 'https://me:secret@downloads.example'],
    ['TRUST_PROXY', '0x7f'],
    ['HORIZON_URLS_LOCAL', 'http:localhost:8000'],
    ...urls.map((url) => ['PUBLIC_URL', url] as const),
  ] as const) {
    t.throws(() => readConfig({ [name]: value }), { message: new RegExp(`^${name} [^\\n]+$`) }, value);
  }
  for (const url of ['http://[::1]:3000', 'https://127.0.0.1/pay', 'https://a_b.example/x//y', 'https://bär.example'])
    t.equal(readConfig({ PUBLIC_URL: url }).publicUrl, url);
  for (const HOST of ['fe80::1%eth0', '999.1.1.1'])
    t.throws(() => readConfig({ HOST }), { name: 'StartupError', message: /^HOST [^\n]+ PUBLIC_URL\.$/ }, HOST);
  t.equal(readConfig({ HOST: 'fe80::1%eth0', PUBLIC_URL: 'http://x' }).host, 'fe80::1%eth0');
  for (const [taken, name] of [
    [{ PORT: '4000', METRICS_PORT: '4000' }, 'METRICS_PORT'],
    [{ PORT: '4000', LOCAL_LEDGER_PORT: '4000' }, 'LOCAL_LEDGER_PORT'],
    [{ METRICS_PORT: '8000' }, 'LOCAL_LEDGER_PORT'],
  ] as const) {
    t.throws(() => readConfig(taken), { message: new RegExp(`^${name} is \\d+, the same as [A-Z_]+:`) });
  }
  t.ok(readConfig({ NETWORKS: 'TESTNET', PORT: '8000', SECRETS_KEY: undefined }), 'no ledger, no clash');
  const { archiveUrls } = readConfig({ ARCHIVE_URLS_TESTNET: 'https://a.example/x/,http://127.0.0.1:81' });
  t.strictSame(archiveUrls, { PUBLIC: [], TESTNET: ['https://a.example/x', 'http://127.0.0.1:81'], LOCAL: [] });
  t.throws(() => readConfig({ MONGODB_URI: 'mongodb://h/?replicaSet=r' }), { message: /^SECRETS_KEY is required/ });
  const { horizonUrls, rpcUrls } = readConfig({ RPC_URLS_TESTNET: 'https://a.example/, https://b.example' });
  t.strictSame(rpcUrls.TESTNET, ['https://a.example', 'https://b.example']);
  t.strictSame([horizonUrls.TESTNET, horizonUrls.PUBLIC.length], [[], 1], 'RPC alone where only RPC is set');
  t.notMatch(
    (() => {
      try {
        return readConfig({ HORIZON_URLS_PUBLIC: 'ftp://key:s3cret@h' });
      } catch (error) {
        return (error as Error).message;
      }
    })(),
    /s3cret/,
    'a URL may hold a key',
  );
});

t.test(
  'a variable that is nearly a setting is named with the setting that is meant, and never with its value',
  async (t) => {
    for (const [variable, setting] of [
      ['NETWORK', 'NETWORKS'],
      ['SECRET_KEY', 'SECRETS_KEY'],
      ['SECRETSKEY', 'SECRETS_KEY'],
      ['HORIZON_URL_PUBLIC', 'HORIZON_URLS_PUBLIC'],
      ['HORIZONURLPUBLIC', 'HORIZON_URLS_PUBLIC'],
      ['MONGO_DB_URI', 'MONGODB_URI'],
      ['PUBLIC_URI', 'PUBLIC_URL'],
      ['PUBLC_URL', 'PUBLIC_URL'],
      ['networks', 'NETWORKS'],
      ['MAX_WEBHOOK_PER_ACCOUNT', 'MAX_WEBHOOKS_PER_ACCOUNT'],
    ] as const) {
      t.same(misspeltIn({ [variable]: 's3cret' }), [
        `Warning: ${variable} is no setting and is ignored. Is ${setting} meant?`,
      ]);
    }
    const others = [
      'PATH',
      'HOME',
      'HOSTNAME',
      'USER',
      'XDG_CACHE_HOME',
      'NODE_ENV',
      'npm_config_cache',
      'MONGODB',
      'CI',
    ];
    t.same(misspeltIn(Object.fromEntries([...others, ...Object.keys(SETTINGS)].map((name) => [name, 'x']))), []);
  },
);

t.test('TRUST_PROXY is what Express takes for `trust proxy`', async (t) => {
  for (const [value, expected] of [
    ['false', false],
    ['0', false],
    ['2', 2],
    ['loopback, 10.0.0.0/8,2001:db8::/32', 'loopback, 10.0.0.0/8,2001:db8::/32'],
  ] as const) {
    const { trustProxy } = readConfig({ TRUST_PROXY: value });
    t.equal(trustProxy, expected, value);
    express().set('trust proxy', trustProxy);
  }
});

t.test('private webhook targets are allowed by default only when LOCAL alone is watched', async (t) => {
  t.equal(readConfig({}).webhookAllowPrivate, true);
  t.equal(readConfig({ NETWORKS: 'LOCAL,TESTNET' }).webhookAllowPrivate, false);
  t.equal(readConfig({ NETWORKS: 'TESTNET' }).webhookAllowPrivate, false);
});

t.test('the example endpoint takes what is signed, once, and refuses what is forged', async (t) => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  const port = await freePort();
  const example = spawn(process.execPath, ['--import=tsx', 'scripts/examples/receive-webhook.ts'], {
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => example.kill());
  let printed = '';
  example.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  await once(example.stdout, 'data');
  const body = JSON.stringify({
    id: 'evt_1',
    type: 'payment.completed',
    data: { payment: { id: 'pay_1', amount: '25', assetCode: 'XLM' } },
  });
  const at = new Date();
  const post = (signature: string) =>
    fetch(`http://127.0.0.1:${port}/hook`, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': signature,
      },
    });
  const genuine = new Webhook(secret).sign('evt_1', at, body);
  t.equal((await post(genuine)).status, 204);
  t.equal((await post(genuine)).status, 204);
  t.equal((await post(`v1,${Buffer.alloc(32).toString('base64')}`)).status, 400);
  t.same(printed.match(/ship it/g)?.length, 1);
});

t.test('npm start without a build is one line that says what to do', async (t) => {
  const { start } = JSON.parse(page('package.json')).scripts;
  const { status, stderr } = spawnSync('sh', ['-c', start], { cwd: t.testdir(), encoding: 'utf8' });
  t.equal(status, 1);
  t.equal(stderr, 'The service is not built: run npm run build first.\n');
});
