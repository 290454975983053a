/** The follower of change streams, on real ones. How it comes back from a broken stream,
 *  page-status-feed.test.ts tells. */
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { systemClock as clock } from '../../src/kit/clock.js';
import { createFollower, openChangeStream } from '../../src/kit/follower.js';
import { gate } from '../helpers/gate.js';
import { testDatabase } from '../helpers/mongo.js';

interface Counter {
  _id: string;
  last: number;
}

/** A follower of one counter, what it told, and what holds up the stream and the reader of
 *  the counter. */
async function following(t: Test, holds: { stream?: Promise<void>; reader?: Promise<void> }) {
  const { db } = await testDatabase(t);
  const counters = db.collection<Counter>('counters');
  await counters.insertOne({ _id: 'a', last: 1 });
  const told: number[] = [];
  const first = gate();
  const looks = gate();
  const changes = gate();
  const follower = createFollower<number>({
    what: 'a counter',
    open: (position) => {
      const stream = openChangeStream(counters, [], {
        position,
        fullDocument: 'updateLookup',
        toChange: ({ fullDocument }) => fullDocument.last as number,
      });
      const next = async () => {
        const change = await stream.next();
        if (change !== null) {
          changes.open();
          await holds.stream;
        }
        return change;
      };
      return { ...stream, next };
    },
    async catchUp() {
      const { last } = (await counters.findOne({ _id: 'a' }))!;
      if (told.length > 0) {
        looks.open();
        await holds.reader;
      }
      told.push(last);
      first.open();
    },
    onChange: (last) => void told.push(last),
    clock,
    log: pino({ level: 'silent' }),
  });
  t.teardown(() => follower.close());
  follower.start();
  await first.passed;
  const set = (last: number) => counters.updateOne({ _id: 'a' }, { $set: { last } });
  return { follower, told, set, hasRead: looks.passed, hasChanged: changes.passed };
}

t.test('a look tells at once what the stream has yet to tell', async (t) => {
  const stream = gate();
  t.teardown(stream.open);
  const { follower, told, set } = await following(t, { stream: stream.passed });
  await set(2);
  await follower.look();
  t.strictSame(told, [1, 2]);
});

t.test('what a look has read is told before the changes that came after it', async (t) => {
  const reader = gate();
  const { follower, told, set, hasRead, hasChanged } = await following(t, { reader: reader.passed });
  const looked = follower.look();
  await hasRead;
  await set(2);
  await hasChanged;
  await new Promise((resolve) => setImmediate(resolve));
  t.strictSame(told, [1]);
  reader.open();
  await looked;
  while (told.length < 3) await clock.sleep(10);
  t.strictSame(told, [1, 1, 2]);
});
