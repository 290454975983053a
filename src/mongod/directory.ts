/** Makes directories that only this user can enter. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** With its parents. Not by Node's own `recursive`: that never returns where a file system has no room for new names, as below /proc.
 *  @throws Error when there is none and none can be made */
export function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
