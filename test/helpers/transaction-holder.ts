/** A process of ours that has written to documents in a transaction and never ends it:
 *  `transaction-holder.ts URI [[collection, filter]…]`. It prints a line once it holds them, and is
 *  there to be killed. */
import { pino } from 'pino';
import { openDatabase } from '../../src/app/open-database.js';
import { systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';

const [uri = '', held = '[]'] = process.argv.slice(2);
const deps = { clock: systemClock, newId: createIds(systemClock), log: pino({ level: 'silent' }) };
const { database } = await openDatabase(
  { ...deps, onProgress: () => undefined },
  { mongodbUri: uri, dataDir: '.', cacheDir: '.' },
);
await database.transaction(async (session) => {
  for (const [collection, filter] of JSON.parse(held) as [string, Record<string, unknown>][])
    await database.connection.db!.collection(collection).updateMany(filter, { $set: { held: true } }, { session });
  console.log('held');
  await new Promise(() => setInterval(() => undefined, 1000));
});
