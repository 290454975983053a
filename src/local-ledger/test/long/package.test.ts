/** The packages of the ledger and its MongoDB as users get them: packed, installed into an empty
 *  folder, and used with the official SDK. */
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { ROOT, start } from '../../../../test/helpers/command.js';
import { freePort } from '../../../../test/helpers/mongo.js';
import { bin, installPacked, succeeds } from '../../../../test/helpers/packages.js';

const PACKAGES = { '@stellar-collect/mongod': 'src/mongod', '@stellar-collect/local-ledger': 'src/local-ledger' };

const TEST_OF_A_STRANGER = `
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startLocalLedger } from '@stellar-collect/local-ledger';
import { Asset, BASE_FEE, Horizon, Keypair, Memo, Operation, rpc, TransactionBuilder } from '@stellar/stellar-sdk';

test('a payment arrives', async (t) => {
  const ledger = await startLocalLedger({ closeMs: 100 });
  t.after(() => ledger.close());
  const horizon = new Horizon.Server(ledger.horizonUrl, { allowHttp: true });
  const [payer, payee] = [Keypair.random(), Keypair.random()];
  for (const each of [payer, payee]) await horizon.friendbot(each.publicKey()).call();
  const source = await horizon.loadAccount(payer.publicKey());
  const transaction = new TransactionBuilder(source, { fee: BASE_FEE, networkPassphrase: ledger.passphrase })
    .addOperation(Operation.payment({ destination: payee.publicKey(), asset: Asset.native(), amount: '10.5' }))
    .addMemo(Memo.text('order-1042'))
    .setTimeout(30)
    .build();
  transaction.sign(payer);
  const { hash } = await horizon.submitTransaction(transaction);
  const found = await new rpc.Server(ledger.rpcUrl, { allowHttp: true }).getTransaction(hash);
  assert.equal(found.status, rpc.Api.GetTransactionStatus.SUCCESS);
  const { balances } = await horizon.loadAccount(payee.publicKey());
  assert.equal(balances[0]?.balance, '10010.5000000');
});

test('a ledger closes when the test says so', async (t) => {
  const ledger = await startLocalLedger({ closeMs: null });
  t.after(() => ledger.close());
  const before = (await ledger.status()).sequence;
  assert.equal(await ledger.closeLedger(), before + 1);
  // @ts-expect-error an amount is a text
  const wrong = () => ledger.pay({ to: 'G', amount: 5 });
  void wrong;
});
`;

const TSCONFIG = {
  compilerOptions: {
    ...{ target: 'ES2022', module: 'NodeNext', strict: true, noUncheckedIndexedAccess: true },
    ...{ lib: ['ES2023', 'DOM'], types: ['node'], outDir: 'out', rootDir: '.' },
    // Only the packages' own types are tested.
    skipLibCheck: true,
  },
  include: ['*.ts'],
};

/** The JavaScript example of a README. */
const exampleOf = async (name: keyof typeof PACKAGES): Promise<string> =>
  /^```js\n([\s\S]*?)^```/m.exec(await readFile(join(ROOT, PACKAGES[name], 'README.md'), 'utf8'))![1]!;

const home = await mkdtemp(join(tmpdir(), 'stellar-local-ledger-package-'));
t.teardown(() => rm(home, { recursive: true, force: true }));
const temporary = join(home, 'tmp');
const env = { ...process.env, TMPDIR: temporary };
const modules = join(home, 'node_modules');

t.before(async () => {
  await mkdir(temporary);
  await writeFile(join(home, 'package.json'), JSON.stringify({ type: 'module' }));
  await succeeds('npm', ['run', 'build'], join(ROOT, PACKAGES['@stellar-collect/local-ledger']));
  // Only the dependencies that the packages declare.
  const needed = new Set(['@types/node']);
  for (const [name, folder] of Object.entries(PACKAGES)) {
    const files = await installPacked(join(ROOT, folder), ['dist', 'README.md'], join(modules, name));
    const others = files.filter(
      (file) => !/^(dist\/([\w-]+\/)*[\w-]+(\.d\.ts|\.js)|README\.md|package\.json)$/.test(file),
    );
    if (others.length > 0) throw new Error(`${name} has ${others}`);
    const { dependencies } = JSON.parse(await readFile(join(modules, name, 'package.json'), 'utf8'));
    for (const each of Object.keys(dependencies)) if (!(each in PACKAGES)) needed.add(each);
  }
  for (const each of needed) {
    await mkdir(dirname(join(modules, each)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', each), join(modules, each));
  }
});

t.test("a stranger's test starts a ledger, pays with the official SDK, and leaves nothing behind", async (t) => {
  await writeFile(join(home, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await writeFile(join(home, 'stranger.ts'), TEST_OF_A_STRANGER);
  await succeeds(bin('tsc'), ['-p', 'tsconfig.json'], home);
  const said = await succeeds(process.execPath, ['--test', '--test-reporter=tap', 'out/stranger.js'], home, env);
  t.match(said, /^# pass 2$/m);
  t.same(await readdir(temporary), [], 'the databases are gone');
});

t.test('the examples of the READMEs run', async (t) => {
  for (const name of Object.keys(PACKAGES) as (keyof typeof PACKAGES)[]) {
    await writeFile(join(home, 'example.js'), await exampleOf(name));
    t.type(await succeeds(process.execPath, ['example.js'], home, env), 'string', name);
  }
});

t.test('the program serves a ledger, plays on it, and says in one line what it cannot do', async (t) => {
  const program = join(modules, '@stellar-collect/local-ledger/dist/main.js');
  const port = await freePort();
  const settings = { LOCAL_LEDGER_PORT: `${port}`, LOG_LEVEL: 'error', HOST: '' };
  const serve = (dataDir: string) =>
    start(process.execPath, [program, '--data-dir', join(home, dataDir), '--close-ms', '100'], {
      cwd: home,
      env: settings,
    });
  const served = serve('data');
  t.teardown(() => served.process.kill('SIGKILL'));
  await served.says(new RegExp(`The local ledger is at http://127.0.0.1:${port} `));
  const play = (...args: string[]) =>
    succeeds(process.execPath, [program, ...args, '--json'], home, { ...env, ...settings });
  const payee = JSON.parse(await play('fund'));
  t.match(JSON.parse(await play('pay', '--to', payee.address, '--amount', '1.5', '--memo', 'order')), {
    hash: /^\w{64}$/,
  });
  t.match(JSON.parse(await play('status', '--url', `http://127.0.0.1:${port}`)), { closeMs: 100 });

  const refused = await serve('other').ended;
  t.equal(refused.code, 1);
  t.match(refused.stderr, new RegExp(`^Port ${port} is taken by something else: check --host and --port\\.\\n$`));
  const wrong = await start(process.execPath, [program, '--close-ms', '5'], { cwd: home }).ended;
  t.match([wrong.code, wrong.stderr], [1, /^error: option '--close-ms <milliseconds>'[^\n]*\n$/]);

  served.process.kill('SIGTERM');
  t.match(await served.ended, { code: 0 });
});
