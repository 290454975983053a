/** The connection to MongoDB keeps its promises on a real one. */
import { mongo } from 'mongoose';
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { define, openCollection } from '../../src/kit/collection.js';
import { AlreadyMade, connectDatabase, insertOf, insertTogether, Taken } from '../../src/kit/database.js';
import { monitored } from '../helpers/commands.js';
import { cuttableWay, databaseAt } from '../helpers/cut.js';
import { testDatabase } from '../helpers/mongo.js';

t.test('a transaction begins no earlier than what was read before it', async (t) => {
  const { uri } = await testDatabase(t);
  const { connection, transaction, close } = await connectDatabase(uri);
  t.teardown(close);
  for (let round = 0; round < 3; round++) {
    await connection.db!.collection('things').insertOne({ round });
    const { operationTime } = await connection.db!.command({ count: 'things' });
    await transaction(async (session) => {
      t.ok(session.operationTime!.greaterThanOrEqual(operationTime), 'before its first operation');
      t.equal(await connection.db!.collection('things').countDocuments({}, { session }), round + 1);
    });
  }
});

t.test('a transaction does not wait for a write that was given up', async (t) => {
  const { uri } = await testDatabase(t);
  const { connection, transaction, close } = await connectDatabase(uri);
  t.teardown(close);
  const things = connection.db!.collection<{ _id: string; round: number }>('things');
  await things.insertOne({ _id: 'one', round: 0 });
  // Concurrent transactions with the same write conflict, and the loser finds nothing to write when
  // it retries: the cluster time moved all the same.
  let isAhead = false;
  for (let round = 1; round <= 5000 && !isAhead; round++) {
    await Promise.all(Array.from({ length: 24 }, () => things.findOneAndUpdate({ _id: 'one' }, { $set: { round } })));
    const { operationTime, $clusterTime } = await connection.db!.command({ ping: 1 });
    isAhead = $clusterTime.clusterTime.greaterThan(operationTime);
  }
  t.ok(isAhead, 'the cluster time is ahead of the newest write');
  const found = transaction((session) => things.findOne({}, { session }));
  const tooLong = new AbortController();
  const late = systemClock.sleep(5000, tooLong.signal).then(() => 'it waits');
  t.match(await Promise.race([found, late]), { _id: 'one' });
  tooLong.abort();
});

t.test('a transaction is not lost with the connection that it would have begun on', async (t) => {
  const { uri } = await testDatabase(t);
  let asked = 0;
  const isFirstOfSession = (bytes: Buffer) => bytes.includes('ping') && bytes.includes('lsid') && asked++ === 0;
  const way = await cuttableWay(t, uri, isFirstOfSession);
  const { connection, transaction, close } = await connectDatabase(databaseAt(uri, way));
  t.teardown(close);
  const things = connection.db!.collection('things');
  await transaction((session) => things.insertOne({ round: 1 }, { session }));
  t.equal(asked, 2, 'asked on a connection that was cut, and again');
  t.equal(await things.countDocuments(), 1);
});

for (const inBulk of [true, false]) {
  t.test(
    `documents for several collections, stored by ${inBulk ? 'one command' : 'one for each, as before MongoDB 8'}`,
    async (t) => {
      const { uri } = await testDatabase(t);
      // As MongoDB 7 answers.
      const lacking = { ok: 0, code: 59, codeName: 'CommandNotFound', errmsg: "no such command: 'bulkWrite'" };
      const refuse = async () => Promise.reject(new mongo.MongoServerError(lacking));
      if (!inBulk) t.intercept(mongo.MongoClient.prototype, 'bulkWrite', { value: refuse });
      const { connection, transaction, close } = await connectDatabase(monitored(uri));
      t.teardown(close);
      const commands: string[] = [];
      connection.getClient().on('commandStarted', ({ commandName }) => void commands.push(commandName));
      const [things, names] = [define('things', { _id: String }), define('names', { _id: String, thing: String })].map(
        (each) => openCollection<{ _id: string }>(connection, each as never),
      );
      const store = (id: string, name: string) =>
        transaction((session) =>
          insertTogether(
            [insertOf(things!, [{ _id: id }], AlreadyMade), insertOf(names!, [{ _id: name }], Taken)],
            session,
          ),
        );
      await store('one', 'first');
      t.same(commands, ['ping', ...(inBulk ? ['bulkWrite'] : ['insert', 'insert']), 'commitTransaction']);
      const failure = (id: string, name: string) => store(id, name).catch((error: unknown) => error);
      t.ok((await failure('one', 'other')) instanceof AlreadyMade);
      t.ok((await failure('other', 'first')) instanceof Taken);
      t.same(await things!.distinct('_id'), ['one'], 'all or none');
      t.same(await names!.distinct('_id'), ['first'], 'all or none');

      t.comment('two transactions that meet: the later one begins again');
      let tries = 0;
      await transaction(async (session) => {
        tries += 1;
        await things!.updateOne({ _id: 'one' }, { $set: { tries } }, { session });
        if (tries === 1) {
          await store('two', 'second');
        }
        const Duplicate = tries === 1 ? undefined : AlreadyMade;
        await insertTogether(
          [insertOf(things!, [{ _id: 'two' }], Duplicate), insertOf(names!, [{ _id: 'x' }])],
          session,
        );
      }).catch((error) => t.ok(error instanceof AlreadyMade, `${error}`));
      t.equal(tries, 2);
    },
  );
}
