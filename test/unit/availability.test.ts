/** How long a caller waits for a MongoDB that is away. */
import { mongo } from 'mongoose';
import t from 'tap';
import { ApiError } from '../../src/kit/api-error.js';
import { createAvailability, PATIENCE_MS } from '../../src/kit/availability.js';
import { manualClock } from '../helpers/manual-clock.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));
const never = () => new Promise<never>(() => undefined);
const away = { code: 'unavailable', retryAfterSeconds: Number };

t.test('a caller who waits for a MongoDB that is away is told so, and what was begun goes on', async (t) => {
  const clock = manualClock();
  const { guard, observe } = createAvailability(clock);
  let finish: (value: string) => void = () => undefined;
  let done = '';
  const work = new Promise<string>((resolve) => {
    finish = resolve;
  }).then((value) => {
    done = value;
  });
  const waiting = guard(() => work);
  waiting.catch(() => undefined);
  observe(false);
  clock.advance(PATIENCE_MS - 1);
  await turn();
  t.equal(await Promise.race([waiting, 'waits']), 'waits', 'not before its patience ends');
  clock.advance(1);
  await t.rejects(waiting, away);
  finish('done');
  await turn();
  t.equal(done, 'done');
});

t.test('while MongoDB stays away nothing more is begun; once it is back everything is', async (t) => {
  const clock = manualClock();
  const told: boolean[] = [];
  const { guard, observe } = createAvailability(clock, (isThere) => told.push(isThere));
  observe(true);
  observe(false);
  observe(false);
  t.equal(await guard(async () => 1), 1, 'it may be back in time');
  clock.advance(PATIENCE_MS);
  await turn();
  await t.rejects(
    guard(async () => t.fail('begun')),
    away,
  );
  observe(true);
  t.equal(await guard(async () => 2), 2);
  t.same(told, [false, true]);
});

t.test('an outage that ends in time ends no wait, and neither does the next one before its own time', async (t) => {
  const clock = manualClock();
  const { guard, observe } = createAvailability(clock);
  const waiting = guard(never);
  waiting.catch(() => undefined);
  for (let outage = 0; outage < 3; outage++) {
    observe(false);
    clock.advance(PATIENCE_MS - 1);
    await turn();
    observe(true);
  }
  clock.advance(600_000);
  await turn();
  t.equal(await Promise.race([waiting, 'waits']), 'waits', 'what MongoDB works on may take as long as it takes');
});

t.test(
  'what the driver says of a MongoDB that is away is unavailable; every other error stays what it is',
  async (t) => {
    const { guard } = createAvailability(manualClock());
    const failing = (error: unknown) =>
      guard(async () => {
        throw error;
      });
    for (const error of [
      new mongo.MongoNetworkError('closed'),
      new mongo.MongoNetworkTimeoutError('silent'),
      new mongo.MongoServerSelectionError('none', {} as never),
      new mongo.MongoServerError({ code: 10107, errmsg: 'not primary' }),
      Object.assign(new Error('This socket has been ended by the other party'), { code: 'EPIPE' }),
    ]) {
      await t.rejects(failing(error), away, error.message);
    }
    const own = new ApiError('conflict', 'It is closed.');
    const fault = new mongo.MongoServerError({ code: 11000, errmsg: 'E11000' });
    for (const error of [own, fault, new TypeError('x is undefined')]) {
      t.equal(await failing(error).catch((thrown: unknown) => thrown), error);
    }
  },
);
