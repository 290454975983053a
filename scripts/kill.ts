/** `node --import=tsx scripts/kill.ts [rounds]`: many rounds of the kill test; finally prints
 *  the losses. */
import { killRounds } from '../test/e2e/kill-rounds.js';

const rounds = Number(process.argv[2] ?? 100);
const ends: (() => unknown)[] = [];
const t = { teardown: (end: () => unknown) => void ends.unshift(end) };
try {
  const { payments, repeated, misread, ...faults } = await killRounds(t, rounds, (line) => console.log(line));
  console.log(
    `${rounds} rounds, ${payments} payments, ${repeated} deliveries sent again after a kill; faults:`,
    faults,
    misread,
  );
  process.exitCode = misread.length === 0 && Object.values(faults).every((count) => count === 0) ? 0 : 1;
} finally {
  for (const end of ends) await end();
}
process.exit();
