/** Reports and exports at a million payments: a month, a year, and a file with all of them, with
 *  the memory that the file takes. */
import { readFileSync } from 'node:fs';
import { testDatabase } from '../../test/helpers/mongo.js';
import { startTestService } from '../../test/helpers/service.js';
import { startProgram } from './program.js';
import { createScope, median, timed } from './scope.js';
import { seed } from './seed.js';

const SIZE = Number(process.env.BENCH_SIZE ?? 1_000_000);
const ROUNDS = 5;

const scope = createScope();
try {
  const database = await testDatabase(scope);
  const env = { NETWORKS: 'TESTNET', HORIZON_URLS_TESTNET: 'http://127.0.0.1:9', WEBHOOK_ALLOW_PRIVATE: 'true' };
  const service = await startTestService(scope, { role: 'api', database, env });
  const { month } = await seed(database.db, service.accountId, {
    ...{ payments: SIZE, links: SIZE / 10, events: 0, deliveries: 0 },
  });
  const reports: Record<string, string> = {
    'a month by day': `groupBy=day&timezone=Europe/Berlin&from=${month.createdFrom}&to=${month.createdTo}`,
    'a month by product': `groupBy=product&from=${month.createdFrom}&to=${month.createdTo}`,
    'everything by month': 'groupBy=month&timezone=Europe/Berlin',
    'everything by asset': 'groupBy=asset',
  };
  for (const [name, query] of Object.entries(reports)) {
    const times: number[] = [];
    let rows: { count: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      times.push(await timed(async () => ({ data: rows } = await service.api('GET', `/reports/summary?${query}`))));
    }
    const payments = rows.reduce((sum, { count }) => sum + count, 0);
    console.log(
      `${name}: ${Math.round(median(times))} ms (first ${Math.round(times[0]!)} ms), ${payments} payments, ${rows.length} rows`,
    );
  }
  const { child, line: url } = await startProgram(scope, './service.ts', database.uri, '{}', 'api');
  const peakMb = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024;
  for (const format of ['csv', 'jsonl']) {
    const beforeMb = peakMb();
    let bytes = 0;
    const ms = await timed(async () => {
      const headers = { authorization: `Bearer ${service.apiKey}` };
      const query = `format=${format}&status=COMPLETED&status=UNDERPAID&status=REJECTED&status=UNMATCHED`;
      const { body } = await fetch(`${url}/api/v1/payments/export?${query}`, { headers });
      for await (const chunk of body!) bytes += chunk.length;
    });
    console.log(
      `export ${format}: ${Math.round(ms / 1000)} s, ${Math.round(bytes / 2 ** 20)} MB, peak memory ${Math.round(beforeMb)} → ${Math.round(peakMb())} MB`,
    );
  }
  child.kill();
} finally {
  await scope.close();
}
