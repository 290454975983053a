/** A process that holds the embedded MongoDB of a data directory and obeys stdin: `write` a
 *  document, `close`. `member.ts <dataDir> [cacheDir [downloads platform arch]]`, the last as if it
 *  ran there; it prints `ready <uri>`, `wrote <documents>`, `closed`, or `failed <message>`. */
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient, ObjectId } from 'mongodb';
import { pino } from 'pino';
import { MongoUnavailableError, openMongo } from '../index.js';

const [dataDir = '', cacheDir, downloads, platform = process.platform, arch = process.arch] = process.argv.slice(2);
Object.defineProperties(process, { platform: { value: platform }, arch: { value: arch } });

async function main(): Promise<void> {
  const opened = await openMongo({
    uri: null,
    dataDir,
    cacheDir,
    downloads,
    log: pino({ level: 'warn' }, process.stderr),
  });
  const client = new MongoClient(opened.uri);
  const documents = client.db().collection('documents');
  console.log(`ready ${opened.uri}`);
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'write') {
      const document = { _id: new ObjectId() };
      await untilItWorks(() =>
        documents.updateOne(document, { $set: {} }, { upsert: true, writeConcern: { w: 'majority' } }),
      );
      console.log(`wrote ${await untilItWorks(() => documents.countDocuments())}`);
    } else if (line === 'close') {
      await client.close();
      await opened.close();
      console.log('closed');
      return process.exit(0);
    }
  }
}

/** Retries longer than the driver, which retries a broken connection once: the database may be away
 *  for a second. */
async function untilItWorks<T>(work: () => Promise<T>): Promise<T> {
  const deadlineMs = Date.now() + 20_000;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadlineMs) throw error;
      await delay(50);
    }
  }
}

main().catch((error) => {
  console.log(`failed ${error instanceof MongoUnavailableError ? error.message : error.stack}`);
  process.exit(1);
});
