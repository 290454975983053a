/** Leases: one process at a time does a piece of work. */
import mongoose from 'mongoose';
import t from 'tap';
import { createLeaseStore } from '../../src/kit/leases.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually } from '../helpers/service.js';

t.test('a lease has one holder until it ends by the database’s clock, whatever other clocks say', async (t) => {
  const { uri, db } = await testDatabase(t);
  const connection = await mongoose.createConnection(uri).asPromise();
  t.teardown(() => connection.close());
  const leases = createLeaseStore(connection);
  const until = async () =>
    (await db.collection('leases').findOne({ _id: 'work' as never }))!.until.getTime() as number;

  const first = await Promise.all(['a', 'b', 'c'].map((holder) => leases.hold('work', holder, 60_000)));
  t.equal(first.filter(Boolean).length, 1, 'one of three at once gets it');
  const holder = 'abc'[first.indexOf(true)]!;
  const other = holder === 'a' ? 'b' : 'a';
  t.equal(await leases.hold('work', other, 60_000), false);
  const before = await until();
  t.equal(await leases.hold('work', holder, 90_000), true, 'its holder renews it');
  t.ok((await until()) > before + 20_000);

  await leases.release('work', other);
  t.equal(await leases.hold('work', other, 90_000), false, 'only the holder releases a lease');
  await leases.release('work', holder);
  t.equal(await leases.hold('work', other, 300), true);
  t.equal(await leases.hold('work', holder, 300), false);
  await eventually(() => leases.hold('work', holder, 300), 'it ends by itself');

  const inAMoment = new Date(Date.now() + 5500);
  await db.collection('leases').updateOne({ _id: 'work' as never }, { $set: { until: inAMoment, holder: 'dead' } });
  t.equal(
    await leases.hold('work', other, 5000),
    false,
    'one that was asked for a moment later, and given before, is believed',
  );

  const inAnHour = new Date(Date.now() + 3_600_000);
  await db.collection('leases').updateOne({ _id: 'work' as never }, { $set: { until: inAnHour, holder: 'dead' } });
  t.equal(await leases.hold('work', other, 5000), true, 'a lease with an impossible end holds up no process');
});
