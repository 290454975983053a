/** A process that has a cluster and does nothing with it. `cluster-holder.ts <cacheDir>`; it prints
 *  the connection strings of the router and of each shard. */
import { pino } from 'pino';
import { openCluster } from '../../src/mongod/index.js';

const [cacheDir = ''] = process.argv.slice(2);
const cluster = await openCluster({ cacheDir, log: pino({ level: 'warn' }, process.stderr) });
console.log([cluster.uri, ...cluster.shards.map(({ uri }) => uri)].join(' '));
setInterval(() => undefined, 1000);
