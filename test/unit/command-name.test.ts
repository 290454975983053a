/** What the service tells its operator to type. */
import t from 'tap';
import { commandName } from '../../src/domain/command-name.js';

t.test('a checkout is told of npm, an installed package of its own command', async (t) => {
  for (const script of ['/srv/collect/src/main.ts', '/srv/collect/dist/main.js', 'C:\\collect\\dist\\main.js'])
    t.equal(commandName(script), 'npm run cli --', script);
  for (const script of ['/usr/local/bin/stellar-collect', undefined]) t.equal(commandName(script), 'stellar-collect');
});
