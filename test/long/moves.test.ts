/** An account that moves from shard to shard while it is exported, its events are read and its
 *  webhooks are sent. */
import { mongo } from 'mongoose';
import t from 'tap';
import { seed } from '../../scripts/bench/seed.js';
import { testCluster } from '../helpers/cluster.js';
import { blocksOf } from '../helpers/documents.js';
import type { TestDatabase } from '../helpers/mongo.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';
import { BY_ACCOUNT, placesOf, SHARDS } from '../helpers/shards.js';

const SEEDED = 4000;
const MOVES = 6;

const guide = blocksOf('docs/guides/scale.md')('js', 'moveRange');

/** Moves an account by the commands of the guide. */
async function move({ db, name }: TestDatabase, account: string, shard: string): Promise<void> {
  const commands: { moveRange: string }[] = [];
  const script = guide.replace("'acct_…', 'shard1'", JSON.stringify([account, shard]).slice(1, -1));
  const shell = { adminCommand: (command: { moveRange: string }) => commands.push(command) };
  new Function('db', 'MinKey', script)(shell, () => new mongo.BSON.MinKey());
  const moved = commands.map(({ moveRange }) => moveRange.split('.')[1]);
  const left = BY_ACCOUNT.filter((collection) => !moved.includes(collection));
  if (left.length > 0) throw new Error(`the guide forgets ${left.join(', ')}`);
  for (const command of commands) {
    const moveRange = command.moveRange.replace('stellar-collect', name);
    const again = async (): Promise<unknown> =>
      db.client
        .db('admin')
        .command({ ...command, moveRange, waitForDelete: true })
        .catch((error) => {
          // What is in use all the time may not let go for the half second that a move waits:
          // nothing has moved then.
          if (error.codeName === 'LockTimeout') return again();
          throw error;
        });
    await again();
  }
}

const cluster = await testCluster(t, { parameters: { orphanCleanupDelaySecs: 0 } });

t.test('while an account moves back and forth, nothing is left out or shown, told or sent twice', async (t) => {
  const database = cluster.database();
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const service = await startTestService(t, { database, logLevel: 'error' });
  const { accountId, apiKey } = service;
  const sizes = { payments: SEEDED, links: 100, checkouts: SEEDED, events: 0, deliveries: 0 };
  await seed(database.db, accountId, sizes);
  const { link, wallet } = await startSelling(service);
  await service.api('POST', '/webhooks', {
    ...{ name: 'shop', url: `${receiver.origin}/hook`, events: ['payment.completed'] },
  });
  const payments = database.db.collection<{ _id: string }>('payments');
  const count = (filter: object) => payments.countDocuments({ accountId, ...filter });
  const paidNow = { paymentLinkId: link.id, status: 'COMPLETED' };

  let isOver = false;
  const whileMoving = async (work: () => Promise<unknown>) => {
    while (!isOver) await work();
  };
  const text = async (path: string) => {
    const answer = await fetch(`${service.url}/api/v1${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
    return answer.text();
  };
  const faults: Record<string, number> = {};
  const fault = (what: string) => {
    faults[what] = (faults[what] ?? 0) + 1;
  };
  const made = { paid: 0, exports: 0, pulls: 0, statements: 0 };
  const exporting = (what: string, least: () => Promise<number>) => async () => {
    const before = await least();
    const lines = await text(`/${what}/export?format=jsonl`).then(
      (whole) => whole.trim().split('\n'),
      ({ message, cause }: Error) => fault(`export of ${what}: ${message} ${(cause as Error)?.message ?? ''}`),
    );
    if (!lines) return;
    const ids = lines.map((line) => JSON.parse(line).id);
    if (new Set(ids).size !== ids.length) fault(`${what} twice in an export`);
    if (ids.length < before) fault(`an export of ${ids.length} ${what} instead of ${before}`);
    made.exports += 1;
  };
  const pulling = async () => {
    for (let after = 0; ; ) {
      const { status, data, error } = await service.api('GET', `/events?after=${after}&pageSize=20`);
      if (status !== 200) return fault(`events: ${JSON.stringify(error)}`);
      for (const { sequence } of data)
        if (sequence !== ++after) return fault(`event ${sequence} in the place of ${after}`);
      if (data.length < 20) break;
    }
    made.pulls += 1;
  };
  const asking = async () => {
    const before = await count({ walletId: wallet.id });
    const { status, data, error } = await service.api('GET', `/wallets/${wallet.id}/statement`);
    // The last ledgers may not be read yet.
    if (status === 409) return;
    if (status !== 200) return fault(`statement: ${JSON.stringify(error)}`);
    const told = data.assets[0].movements.flatMap(({ paymentId }: { paymentId: string | null }) => paymentId ?? []);
    if (new Set(told).size !== told.length) fault('a payment twice in a statement');
    if (told.length < before) fault(`a statement of ${told.length}, not ${before}`);
    made.statements += 1;
  };
  const paying = async () => {
    await service.context.localLedger!.client.pay({ to: wallet.address, amount: '25', memo: link.memo });
    made.paid += 1;
  };
  const going = [
    paying,
    exporting('payments', () => count({ status: { $ne: 'UNMATCHED' } })),
    exporting('checkouts', async () => SEEDED),
    pulling,
    asking,
  ].map(whileMoving);
  const { primary, other } = await placesOf(database);
  for (let n = 0; n < MOVES; n++) await move(database, accountId, SHARDS[n % 2 === 0 ? other : primary]!);
  isOver = true;
  await Promise.all(going);
  t.comment(JSON.stringify(made));
  t.same(faults, {});
  for (const [what, times] of Object.entries(made)) t.ok(times > 0, `${what}: ${times}`);

  await eventually(async () => (await count(paidNow)) >= made.paid, 'every payment', 60_000);
  t.equal(await count(paidNow), made.paid);
  const sent = () => new Set(receiver.requests.map(({ headers }) => headers['webhook-id']));
  await eventually(async () => sent().size >= made.paid, 'every webhook', 60_000);
  t.equal(sent().size, made.paid);
  t.equal(receiver.requests.length, made.paid, 'each was sent once');
});
