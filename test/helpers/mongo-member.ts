/** A process that holds the embedded MongoDB of a data directory and does what it is told on stdin: `write` a document, `close`.
 *  `mongo-member.ts <dataDir> [cacheDir]`; it prints `ready <uri>`, `wrote <documents>`, `closed`, or `failed <message>`. */
import { createInterface } from 'node:readline';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import { openMongo } from '../../src/mongod/index.js';
import { StartupError } from '../../src/startup-error.js';

const [dataDir = '', cacheDir] = process.argv.slice(2);

async function main(): Promise<void> {
  const opened = await openMongo({ uri: null, dataDir, cacheDir, log: pino({ level: 'warn' }, process.stderr) });
  const client = new mongo.MongoClient(opened.uri);
  const documents = client.db().collection('documents');
  console.log(`ready ${opened.uri}`);
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'write') {
      await documents.insertOne({}, { writeConcern: { w: 'majority' } });
      console.log(`wrote ${await documents.countDocuments()}`);
    } else if (line === 'close') {
      await client.close();
      await opened.close();
      console.log('closed');
      return process.exit(0);
    }
  }
}

main().catch((error) => {
  console.log(`failed ${error instanceof StartupError ? error.message : error.stack}`);
  process.exit(1);
});
