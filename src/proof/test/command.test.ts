/** The command in one file, in a folder that has nothing else, run by Node alone. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import t from 'tap';
import { makeProof } from '../index.js';
import { LEDGER, ledgersOf, PASSPHRASE, VALIDATORS } from './ledgers.js';
import { PAYMENTS, type PaymentCase } from './payments.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(t.testdir(), 'proof-'));
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
await build({
  entryPoints: [join(ROOT, 'src/proof/main.ts')],
  outfile: join(folder, 'main.js'),
  ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'warning' },
});

const [payment] = PAYMENTS as [PaymentCase];
const proof = await makeProof(ledgersOf([payment.applied]).files, {
  networkPassphrase: PASSPHRASE,
  ledger: LEDGER,
  transactionHash: Buffer.from(payment.applied.transaction.hash()).toString('hex'),
  operationIndex: 0,
  validators: VALIDATORS,
});
const saved = (name: string, content: string | Buffer) => {
  writeFileSync(join(folder, name), content);
  return name;
};
const file = saved('proof.json', JSON.stringify(proof));
const validators = saved('validators.json', JSON.stringify(VALIDATORS));

function run(args: readonly string[], input?: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'main.js'), ...args], {
    cwd: folder,
    encoding: 'utf8',
    input,
  });
  return { status, stdout, stderr };
}

const known = ['--passphrase', PASSPHRASE, '--validators', validators];

t.test('who verifies a file → the verdict, the payment and an exit code', async (t) => {
  const signed = run(['verify', file, ...known]);
  t.match(signed, { status: 0, stderr: '', stdout: /^SIGNED\nPayment {6}12\.5 XLM \(payment\)\n/ });
  t.match(signed.stdout, 'Validators of 3 of 3 trusted organisations');
  const json = run(['verify', file, ...known, '--json']);
  t.strictSame(JSON.parse(json.stdout).claim, proof.claim);
  const hash = JSON.parse(json.stdout).hash;
  t.match(run(['verify', file, '--passphrase', PASSPHRASE]), { status: 2, stdout: /^CONSISTENT\n/ });
  t.match(run(['verify', file, '--passphrase', PASSPHRASE, '--hash', `${LEDGER}:${hash}`]), {
    status: 0,
    stdout: /^ANCHORED\n/,
  });
  t.match(run(['verify', file]), { status: 1, stdout: /^UNKNOWN\n.*give its passphrase/ });
  t.match(run(['verify', saved('x.gz', gzipSync(JSON.stringify(proof))), ...known]), { status: 0, stdout: /^SIGNED/ });
  t.match(run(['verify', '-', ...known], JSON.stringify(proof)), { status: 0, stdout: /^SIGNED/ });
  const changed = saved('changed.json', JSON.stringify({ ...proof, claim: { ...proof.claim, amount: '1250' } }));
  t.match(run(['verify', changed, ...known]), { status: 1, stdout: /^INVALID\nclaim\.amount is not "12\.5"/ });
});

t.test('a proof with control characters → none of them is printed', (t) => {
  const marks = '\u001b[2J\u001b[HSIGNED\n\u009b\u202e\u{e0041}';
  const hostile = {
    field: { ...proof, [marks]: 1 },
    claim: { ...proof, claim: { ...proof.claim, [marks]: 1 } },
    statement: { ...proof, statement: { body: marks, keyId: 'x', signature: 'x' } },
  };
  for (const [name, bundle] of Object.entries(hostile)) {
    const path = saved(`${name}.json`, JSON.stringify(bundle));
    for (const flags of [[], ['--json']]) {
      const { stdout } = run(['verify', path, ...known, ...flags]);
      t.notMatch(stdout, /(?!\n)[\p{Cc}\p{Cf}]/u, `${name} ${flags}`);
      if (name !== 'statement') t.notMatch(stdout, /^SIGNED/m);
      if (flags.length > 0 && name === 'statement') t.equal(JSON.parse(stdout).statement.body, marks);
    }
  }
  t.end();
});

t.test('a call that is wrong → one line that says what', async (t) => {
  const faults: [string[], RegExp][] = [
    [['verify', 'missing.json'], /^missing\.json cannot be read: ENOENT/],
    [['verify', file, '--hash', '7'], /^--hash is the number of a ledger, a colon and 64 hexadecimal digits, not 7$/],
    [['verify', file, '--validators', file], /^proof\.json is no JSON of the form/],
    [['verify', file, '--statement-key', 'x'], /^--statement-key is/],
    [['verify', file, '--statement-key', 'x=y'], /^a key of statements is whpk_/],
    [['verify', saved('bomb.gz', gzipSync(Buffer.alloc(5_000_000)))], /^the file is no gzip, or larger than 4 MB$/],
    [['verify', saved('cut.gz', gzipSync('{}').subarray(0, 12))], /^the file is no gzip/],
    [['verify', file, '--colour'], /^Unknown option '--colour'/],
  ];
  for (const [args, line] of faults) {
    const { status, stdout, stderr } = run(args);
    t.match({ status, stdout }, { status: 1, stdout: '' });
    t.match(stderr.trim(), line);
    t.equal(stderr.trim().split('\n').length, 1, stderr);
  }
  t.match(run([]), { status: 1, stderr: /^Usage: / });
  t.match(run(['--help']), { status: 0, stdout: /^Usage: / });
});
