/** The fair queue: few pieces of work run at once, one for each account, and none for a caller that
 *  has hung up. */
import t from 'tap';
import { createFairQueue } from '../../src/kit/fair-queue.js';
import { createListing } from '../../src/kit/paging.js';

const tick = () => new Promise((resolve) => setImmediate(resolve));

/** A queue whose work ends when the test says so. */
function controlled() {
  const queue = createFairQueue({ most: 2, mostWaiting: 2 });
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const run = (accountId: string, name: string, signal?: AbortSignal) =>
    queue.run({ accountId, ...(signal ? { signal } : {}) }, () => {
      begun.push(name);
      return new Promise<string>((resolve, reject) =>
        ends.set(name, (error) => (error ? reject(error) : resolve(name))),
      );
    });
  const end = async (name: string, error?: Error) => {
    await tick();
    ends.get(name)!(error);
    await tick();
  };
  return { begun, end, run };
}

t.test('an account has four at a time → a fifth waits, and others go on', async (t) => {
  const queue = createFairQueue({ most: 6, mostOfAccount: 4, mostWaiting: 2 });
  const begun: string[] = [];
  const hold = (accountId: string) =>
    void queue.run({ accountId }, () => {
      begun.push(accountId);
      return new Promise<void>(() => undefined);
    });
  for (const account of ['a', 'a', 'a', 'a', 'a', 'b']) hold(account);
  await tick();
  t.same(begun, ['a', 'a', 'a', 'a', 'b']);
});

t.test('a list takes too long → it ends, and says so', async (t) => {
  const listing = createListing(20);
  await t.rejects(listing({ accountId: 'a' }, slow), { code: 'unavailable' });
  const hangUp = new AbortController();
  const listed = listing({ accountId: 'a', signal: hangUp.signal }, slow);
  hangUp.abort();
  await t.rejects(listed, { code: 'unavailable' });
  t.equal(await listing({ accountId: 'a' }, async () => 'found'), 'found');
});

/** Reads until its signal. The time-out of a signal alone keeps no process. */
const slow = ({ signal }: { signal: AbortSignal }) =>
  new Promise<unknown>((resolve, reject) => {
    setTimeout(resolve, 500);
    signal.addEventListener('abort', () => reject(signal.reason));
  });

t.test('one of each account works, two in all, in the order in which they came', async (t) => {
  const { begun, end, run } = controlled();
  const all = [run('a', 'a1'), run('a', 'a2'), run('b', 'b1'), run('c', 'c1')];
  await end('a1');
  t.same(begun, ['a1', 'b1', 'a2']);
  await end('b1');
  await end('c1');
  await end('a2');
  t.same(await Promise.all(all), ['a1', 'a2', 'b1', 'c1']);
});

t.test('work that fails makes room for the next', async (t) => {
  const { begun, end, run } = controlled();
  const failing = t.rejects(run('a', 'a1'), { message: 'no' });
  const next = run('a', 'a2');
  await end('a1', new Error('no'));
  await failing;
  await end('a2');
  t.equal(await next, 'a2');
  t.same(begun, ['a1', 'a2']);
});

t.test('a caller that hangs up leaves the queue, and an account has few in it', async (t) => {
  const { begun, end, run } = controlled();
  const hungUp = new AbortController();
  const left = { code: 'unavailable', message: 'The caller disconnected.' };
  const first = t.rejects(run('a', 'a1', hungUp.signal), left);
  const second = t.rejects(run('a', 'a2', hungUp.signal), left);
  const third = run('a', 'a3');
  await t.rejects(run('a', 'a4'), { code: 'rate_limited' });
  const other = run('b', 'b1');
  hungUp.abort();
  await second;
  const fourth = run('a', 'a4');
  await end('a1', new Error('whatever ends with its signal'));
  await first;
  for (const name of ['a3', 'a4', 'b1']) await end(name);
  t.same(await Promise.all([third, other, fourth]), ['a3', 'b1', 'a4']);
  t.same(begun, ['a1', 'b1', 'a3', 'a4']);
  await t.rejects(run('a', 'a5', hungUp.signal), left);
});
