/** What every command of the cli does with its arguments. */
import t from 'tap';
import { createProgram, runProgram } from '../../src/cli/program.js';

t.test('a secret seed as an argument is refused before a command sees it, and is not repeated', async (t) => {
  const seed = `S${'A'.repeat(55)}`;
  for (const given of [
    ['do', seed],
    ['do', `--name=${seed}`],
    ['do', '--name', ` ${seed} `],
  ]) {
    let ran = false;
    const program = createProgram('cli', 'test');
    program
      .command('do')
      .argument('[what]')
      .option('--name <name>')
      .action(() => {
        ran = true;
      });
    const written = t.capture(process.stderr, 'write', () => true);
    const code = await runProgram(program, given);
    const text = written()
      .map(({ args }) => String(args[0]))
      .join('');
    t.same([code, ran], [1, false]);
    t.match(text, /^This is a secret key/);
    t.notMatch(text, seed);
  }
});
