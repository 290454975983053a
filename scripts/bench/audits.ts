/** The cost of audits: the requests that `cli audit` sends for all wallets, by kind. Tips of
 *  servers are requested once in half a minute when a budget limits requests, but here for each
 *  audit: they are counted separately. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { run } from '../../test/helpers/command.js';
import { startTestLedger } from '../../test/helpers/ledger.js';
import { testDatabase } from '../../test/helpers/mongo.js';
import { eventually, startTestService, TEST_SECRETS_KEY } from '../../test/helpers/service.js';
import { createScope, timed } from './scope.js';

const WALLETS = Number(process.env.BENCH_WALLETS ?? 100);

const scope = createScope();
try {
  const database = await testDatabase(scope);
  const { uri } = await testDatabase(scope);
  const { url: target, client } = await startTestLedger(scope, { uri, closeMs: 200 });
  let counts = new Map<string, number>();
  const proxy = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const path = new URL(req.url!, target).pathname;
    const name = body
      ? `RPC ${JSON.parse(body).method}`
      : `Horizon ${path.replace(/G\w{55}/, '{id}').replace(/\d+/, '{n}')}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const answer = await fetch(target + req.url, {
      method: req.method!,
      ...(body ? { body, headers: { 'content-type': 'application/json' } } : {}),
    });
    const latest = answer.headers.get('latest-ledger');
    res.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type')!,
      ...(latest ? { 'latest-ledger': latest } : {}),
    });
    res.end(await answer.text());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  scope.teardown(() => proxy.close());
  const counted = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

  const env = { HORIZON_URLS_LOCAL: target, AUDIT_INTERVAL_HOURS: '0' };
  const accounts = await Promise.all(Array.from({ length: WALLETS }, () => client.fund()));
  const first = await startTestService(scope, { database, env });
  for (const { address } of accounts) await first.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' });

  /** Pays every wallet once, and waits until the watcher has seen it. */
  async function payAll(service: typeof first, total: number): Promise<void> {
    for (const { address } of accounts) await client.pay({ to: address, amount: '1' });
    const seen = async () => (await service.api('GET', '/payments?status=UNMATCHED&pageSize=1')).meta!.total >= total;
    await eventually(seen, 'all payments', 120_000);
    await service.context.close(500);
  }

  async function auditAll(title: string, sources: Record<string, string>): Promise<void> {
    counts = new Map();
    const settings = { MONGODB_URI: database.uri, SECRETS_KEY: TEST_SECRETS_KEY, DATA_DIR: first.dataDir, ...sources };
    const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
    let stdout = '';
    const ms = await timed(async () => {
      ({ stdout } = await run(process.execPath, ['--import=tsx', program, 'audit', '--json'], { env: settings }));
    });
    const { audits } = JSON.parse(stdout) as { audits: { status: string }[] };
    const proven = audits.filter(({ status }) => status === 'PROVEN').length;
    const all = [...counts].sort(([, a], [, b]) => b - a).map(([name, count]) => `${name} ${count}`);
    console.log(`${title}: ${proven} of ${audits.length} PROVEN, ${Math.round(ms)} ms; ${all.join(', ')}`);
  }

  const horizon = { HORIZON_URLS_LOCAL: counted };
  const both = { ...horizon, RPC_URLS_LOCAL: `${counted}/rpc` };
  await payAll(first, WALLETS);
  await auditAll('first audits, Horizon', horizon);
  await auditAll('nothing has changed, Horizon', horizon);
  await auditAll('nothing has changed, Horizon and RPC', both);
  await payAll(await startTestService(scope, { database, env }), 2 * WALLETS);
  await auditAll('paid since, Horizon', horizon);
  await payAll(await startTestService(scope, { database, env }), 3 * WALLETS);
  await auditAll('paid since, Horizon and RPC', both);
} finally {
  await scope.close();
}
