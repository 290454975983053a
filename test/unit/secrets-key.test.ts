/** The key that is generated into the data directory. */
import { linkSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openSecretsKey } from '../../src/app/secrets-key.js';

t.test('processes start at once in an empty directory → they have one key, and it stays', async (t) => {
  const dataDir = join(t.testdir(), 'data');
  const open = () => openSecretsKey(null, dataDir);
  const keys = await Promise.all(Array.from({ length: 5 }, open));
  for (const key of [...keys, await open()]) t.same(key, keys[0]);
  t.equal(keys[0]![0]!.length, 32);
  t.same(readdirSync(dataDir), ['secrets-key']);
});

t.test('a killed process left its file beside the key, and another one has its pid → the key stays', async (t) => {
  const key = Buffer.alloc(32, 7);
  const dataDir = t.testdir();
  const path = join(dataDir, 'secrets-key');
  writeFileSync(path, `${key.toString('base64')}\n`);
  linkSync(path, `${path}.${process.pid}`);
  t.same(await openSecretsKey(null, dataDir), [key]);
  t.equal(readFileSync(path, 'utf8'), `${key.toString('base64')}\n`);
});
