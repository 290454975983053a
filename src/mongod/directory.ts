/** Creates directories that only this user can enter, and brings to the disk what they hold. */
import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Creates parents as well. Node's `recursive` never returns if a file system cannot take new
 *  names, as below /proc.
 *  @throws Error when the directory cannot be created, or a file has its name */
export function makeDirectory(path: string): void {
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found) throw new Error(`${path} is not a directory`);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** The names in a directory. */
export function toDisk(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
