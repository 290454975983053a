/** A run of tests says what failed, what was slow, and where it was stopped. */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { failures, slowestFiles, totals, untilStopped } from '../../scripts/tap-text.js';

const file = (nth: number, ms: number, result = 'ok') =>
  `${result} ${nth} - .test-build/test/unit/f${nth}.test.js # time=${ms}ms`;

t.test('the twenty slowest files of a run are listed, the slowest first', async (t) => {
  const tap = [
    'TAP version 14',
    ...Array.from({ length: 25 }, (_, n) => file(n + 1, (n + 1) * 1000)),
    '    ok 1 - a.test.js # time=99999ms',
  ];
  const [blank, title, ...lines] = slowestFiles([...tap, file(26, 70_167.054, 'not ok')].join('\n'));
  t.same([blank, title], ['', 'The slowest of 26 files, which took 395 s in all:']);
  t.equal(lines.length, 20);
  t.equal(lines[0], '   70.2 s  test/unit/f26.test.ts');
  t.equal(lines[1], '   25.0 s  test/unit/f25.test.ts');
  t.same(slowestFiles(''), []);
});

t.test('a run that was stopped tells what had passed, and the test that it was in', async (t) => {
  const over =
    '# Subtest: one\n    ok 1 - a\n    not ok 2 - b\n      ---\n      x: 1\n      ...\n    1..2\nnot ok 1 - one # time=3ms\n';
  t.same(untilStopped(over), { passed: 1, failed: 1, running: null });
  t.same(untilStopped(`${over}# Subtest: two, slowly\n    ok 1 - c\n`), {
    passed: 2,
    failed: 1,
    running: 'two, slowly',
  });
  t.same(failures(over), ['    not ok 2 - b', '      ---', '      x: 1', '      ...', 'not ok 1 - one # time=3ms']);
  t.same(totals(`${over}# { total: 2, pass: 1, fail: 1 }\n`), { passed: 1, failed: 1 });
});

t.test('test:unit says in few lines that its time was up', async (t) => {
  const { stdout, status } = spawnSync(process.execPath, ['--import=tsx', 'scripts/test-unit.ts', '--within', '1'], {
    encoding: 'utf8',
  });
  const lines = stdout.trimEnd().split('\n');
  t.ok(lines.length <= 3, stdout);
  t.match(lines.at(-2), /^The tests were stopped after 1 s/);
  t.match(lines.at(-1), /^\d+ passed, 1 failed$/);
  t.equal(status, 1);
});
