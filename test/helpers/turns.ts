/** Which of the processes that share test files runs a file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** True for the process that asks first. */
export function isMine(file: string): boolean {
  try {
    writeFileSync(join(process.env.TEST_TURNS!, encodeURIComponent(file)), '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}
