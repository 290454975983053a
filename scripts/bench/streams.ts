/** Event streams: thousands of idle ones in one process, compared with as many in a bare server:
 *  memory, CPU, and the time until all have an event. */
import { readFileSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createHappenings } from '../../test/helpers/happenings.js';
import { testDatabase } from '../../test/helpers/mongo.js';
import { startTestService } from '../../test/helpers/service.js';
import { startProgram } from './program.js';
import type { Section } from './report.js';
import { createScope, median, timed } from './scope.js';

const STREAMS = Number(process.env.BENCH_STREAMS ?? 5000);
const ACCOUNTS = Number(process.env.BENCH_STREAM_ACCOUNTS ?? 100);
/** Long enough for two comments on each stream. */
const IDLE_MS = Number(process.env.BENCH_IDLE_MS ?? 30_000);
const SETTLE_MS = 5000;
const OPEN_AT_ONCE = 50;
/** Length of the clock tick in which Linux counts CPU time in /proc. */
const TICK_MS = 10;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function usageOf(pid: number) {
  const rssKb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return { rssKb, cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS };
}

async function idleShare(pid: number): Promise<number> {
  const before = usageOf(pid).cpuMs;
  const tookMs = await timed(() => sleep(IDLE_MS));
  return (usageOf(pid).cpuMs - before) / tookMs;
}

interface Streams {
  /** Resolves when each stream has an event. @returns when the median and the last stream had it,
   *  ms from now */
  told(): Promise<{ medianMs: number; lastMs: number }>;
  close(): void;
}

/** @param keyOf key for the nth stream */
async function openStreams(url: string, count: number, keyOf: (n: number) => string): Promise<Streams> {
  const open: { sent: ClientRequest; answer: IncomingMessage }[] = [];
  let next = 0;
  const openOne = (n: number) =>
    new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${keyOf(n)}` };
      const sent = request(url, { headers, agent: false }, (answer) => {
        if (answer.statusCode !== 200) return reject(new Error(`status ${answer.statusCode}`));
        answer.on('error', () => undefined).resume();
        open.push({ sent, answer });
        resolve();
      });
      sent.on('error', reject).end();
    });
  await Promise.all(
    Array.from({ length: OPEN_AT_ONCE }, async () => {
      for (let n = next++; n < count; n = next++) await openOne(n);
    }),
  );
  return {
    async told() {
      const startedMs = performance.now();
      const times = await Promise.all(
        open.map(
          ({ answer }) =>
            new Promise<number>((resolve) => {
              answer.on('data', (chunk) => {
                if (String(chunk).includes('id: ')) resolve(performance.now() - startedMs);
              });
            }),
        ),
      );
      return { medianMs: median(times), lastMs: Math.max(...times) };
    },
    close: () => {
      for (const { sent } of open) sent.destroy();
    },
  };
}

/** Memory and CPU of a process before and while it holds the streams. */
async function hold(pid: number, open: (count: number) => Promise<Streams>) {
  // Warms up, because the first streams load and compile code.
  (await open(OPEN_AT_ONCE)).close();
  await sleep(SETTLE_MS);
  const without = { ...usageOf(pid), share: await idleShare(pid) };
  const streams = await open(STREAMS);
  await sleep(SETTLE_MS);
  const share = await idleShare(pid);
  const kbEach = (usageOf(pid).rssKb - without.rssKb) / STREAMS;
  return { streams, kbEach, share, shareWithout: without.share };
}

export async function streams(): Promise<Section> {
  const scope = createScope();
  try {
    const database = await testDatabase(scope);
    // Numbers the events in this process.
    const numbering = await startTestService(scope, { role: 'worker', database });
    const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => numbering.openAccount()));
    const { happen } = await createHappenings(scope, database.uri);
    const settings = JSON.stringify({ MAX_STREAMS_PER_ACCOUNT: String(Math.ceil(STREAMS / ACCOUNTS) + OPEN_AT_ONCE) });
    const service = await startProgram(scope, './service.ts', database.uri, settings);
    const ours = await hold(service.child.pid!, (count) =>
      openStreams(`${service.line}/api/v1/events/stream`, count, (n) => accounts[n % ACCOUNTS]!.apiKey),
    );
    const told = ours.streams.told();
    await Promise.all(accounts.map(({ accountId }) => happen(accountId, 'payment.received')));
    const { medianMs, lastMs } = await told;
    ours.streams.close();
    const server = await startProgram(scope, './idle-server.ts');
    const bare = await hold(server.child.pid!, (count) => openStreams(server.line, count, () => ''));
    bare.streams.close();

    const percent = (share: number) => 100 * share;
    const rows: Section['rows'] = [
      {
        name: 'memory for each stream',
        values: { ours: ours.kbEach, bare: bare.kbEach, unit: 'kB' },
        ratio: ours.kbEach / bare.kbEach,
      },
      {
        name: 'CPU while nothing happens',
        values: { ours: percent(ours.share), bare: percent(bare.share), unit: '% of a core' },
        // The bare server may use less than one tick.
        ratio: null,
      },
      {
        name: 'CPU without any stream',
        values: { ours: percent(ours.shareWithout), bare: percent(bare.shareWithout), unit: '% of a core' },
        ratio: null,
      },
      {
        name: `an event in each of ${ACCOUNTS} accounts: half of the streams have it after`,
        values: { ours: medianMs, unit: 'ms' },
        ratio: null,
      },
      { name: '… and the last after', values: { ours: lastMs, unit: 'ms' }, ratio: null },
    ];
    for (const row of rows) console.log(`  ${JSON.stringify(row)}`);
    return {
      name: 'streams',
      title: `${STREAMS.toLocaleString('en')} idle event streams of ${ACCOUNTS} accounts in one process, beside a bare server`,
      aim: 'at most 3 times the memory of a server that does nothing but hold them',
      bound: { most: 3 },
      rows,
      notes: [
        'Memory is what the resident set grew by. The bare server knows neither keys nor accounts; both send a comment every 15 s. Ours looks every few seconds whether each key still holds, and follows the accounts by one change stream.',
        'The events were stored one by one, and numbered in the process that reads the streams: all of that is in the times. One server was held after the other.',
      ],
    };
  } finally {
    await scope.close();
  }
}
