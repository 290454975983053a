/** The page of statuses says what the code decides. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { OUTCOMES } from '../../src/domain/outcomes.js';

t.test(
  'docs/reference/statuses.md lists every outcome of a payment, with its status, reason and meaning',
  async (t) => {
    const page = readFileSync(new URL('../../docs/reference/statuses.md', import.meta.url), 'utf8');
    const rows = page.split('\n').filter((line) => /^\| `(COMPLETED|UNDERPAID|REJECTED|UNMATCHED)` \|/.test(line));
    t.same(
      rows,
      Object.values(OUTCOMES).map(
        ({ status, reason, meaning }) => `| \`${status}\` | ${reason === null ? '' : `\`${reason}\` `}| ${meaning} |`,
      ),
    );
  },
);
