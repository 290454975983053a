/** Makes directories that only this user can enter, and brings to the disk what they hold. */
import { mkdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** With its parents. Node's `recursive` never returns where a file system refuses new names, as
 *  below /proc.
 *  @throws Error when the directory cannot be made, or a file has its name */
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

/** A file's content, or the names in a directory. */
export async function toDisk(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
