/** Totals of activity: always exact, and what is old is not counted twice. */
import t from 'tap';
import { type ActivityDoc, createActivityStore } from '../../src/accounts/activity.js';
import { makeIndexes } from '../../src/kit/collection.js';
import { connectDatabase, insertTogether } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { manualClock } from '../helpers/manual-clock.js';
import { testDatabase } from '../helpers/mongo.js';

const MINUTE_MS = 60_000;
const { uri, db } = await testDatabase(t);
const { connection, transaction, close } = await connectDatabase(uri);
t.teardown(close);

t.test('a total is exact while the list grows, time passes and the clock is set back', async (t) => {
  const clock = manualClock();
  const newId = createIds(clock);
  const { forAccount, system } = createActivityStore(connection, clock);
  await makeIndexes(connection);
  const counted: number[] = [];
  const add = (count: number, operation = 'products_update') =>
    transaction(async (session) => {
      const docs = Array.from({ length: count }, (): ActivityDoc => {
        const actor = { type: 'system', id: 'system', name: 'system' } as const;
        return { _id: newId('act'), accountId: 'acct_1', actor, operation, subjectId: 'x', changes: [], address: null };
      });
      await insertTogether([system.insertOf(docs)], session);
    });
  const totals = async () => {
    const list = async (filter: object) =>
      (await forAccount('acct_1').list(filter, { page: 1, pageSize: 1 })).meta.total;
    const [start, hour] = [new Date(Date.parse('2026-01-02T03:00:00Z')), 60 * MINUTE_MS];
    const past = { createdFrom: start, createdTo: new Date(start.getTime() + hour) };
    const wanted = [{}, { operation: 'users_create' }, past, { createdFrom: past.createdTo }];
    const found = await Promise.all(wanted.map(list));
    counted.push(found[0]!);
    const all = await db.collection<ActivityDoc>('activities').find().toArray();
    const until = createIdAt(past.createdTo);
    return t.same(found, [
      all.length,
      all.filter(({ operation }) => operation === 'users_create').length,
      all.filter(({ _id }) => _id < until).length,
      all.filter(({ _id }) => _id >= until).length,
    ]);
  };
  await totals();
  for (const minutes of [1, 5, 30, 0, 90, 1, 600, -120, 1, 200]) {
    await add(3);
    await totals();
    clock.advance(minutes * MINUTE_MS);
    await add(2, 'users_create');
    await totals();
  }
  t.equal(counted.at(-1), 50);
});

t.test('old entries are counted once', async (t) => {
  const clock = manualClock();
  const newId = createIds(clock);
  const { forAccount } = createActivityStore(connection, clock);
  const old = db.collection<any>('activities');
  await old.insertMany(Array.from({ length: 10 }, () => ({ _id: newId('act'), accountId: 'acct_2' })));
  clock.advance(60 * MINUTE_MS);
  const total = async () => (await forAccount('acct_2').list({}, { page: 1, pageSize: 1 })).meta.total;
  t.equal(await total(), 10);
  // Nothing else removes one: it shows what was counted.
  await old.deleteMany({ accountId: 'acct_2' });
  t.equal(await total(), 10);
  clock.advance(60 * MINUTE_MS);
  t.equal(await total(), 10);
});

/** The first id of a moment. */
const createIdAt = (moment: Date): string =>
  createIds({ ...manualClock(moment.getTime()), randomBytes: Buffer.alloc })('act');
