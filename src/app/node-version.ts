/** Every program imports this first: an older Node would fail inside a dependency without naming
 *  the cause. Uses only what old versions of Node have. */
export const OLDEST_NODE = '20.19';

const numbersOf = (version: string) => version.split('.').map(Number);
const [major = 0, minor = 0] = numbersOf(process.versions.node);
const [oldestMajor = 0, oldestMinor = 0] = numbersOf(OLDEST_NODE);

if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
  process.stderr.write(
    `Node ${process.versions.node} is too old: install Node ${OLDEST_NODE} or newer, then run npm ci again.\n`,
  );
  process.exit(1);
}
