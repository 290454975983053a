/** Group commit: nothing is written twice or left out, and no item fails for another's fault. */
import t from 'tap';
import { conflict } from '../../src/kit/api-error.js';
import { createGroupCommit } from '../../src/kit/group-commit.js';

/** A writer whose writes end when the test says so. */
function controlled() {
  const groups: string[][] = [];
  const ends: { resolve(): void; reject(error: Error): void }[] = [];
  const commit = createGroupCommit<string, string>(async (items) => {
    groups.push([...items]);
    await new Promise<void>((resolve, reject) => ends.push({ resolve, reject }));
    return items.map((item) => item.toUpperCase());
  });
  return { groups, ends, commit };
}
const tick = () => new Promise((resolve) => setImmediate(resolve));

t.test('one write goes at once; those that come during it go together, each with its own result', async (t) => {
  const { groups, ends, commit } = controlled();
  const all = Promise.all(['a', 'b', 'c'].map((item) => commit('key', item)));
  t.strictSame(groups, [['a']]);
  ends[0]!.resolve();
  await tick();
  t.strictSame(groups, [['a'], ['b', 'c']]);
  ends[1]!.resolve();
  t.strictSame(await all, ['A', 'B', 'C']);
  void commit('key', 'd');
  t.strictSame(groups.at(-1), ['d'], 'the key is free again');
});

t.test('keys do not wait for each other', async (t) => {
  const { groups, commit } = controlled();
  void commit('one', 'a');
  void commit('two', 'b');
  t.strictSame(groups, [['a'], ['b']]);
});

t.test('a group has at most 100 items', async (t) => {
  const { groups, ends, commit } = controlled();
  for (let nth = 0; nth <= 150; nth += 1) void commit('key', String(nth));
  for (let nth = 0; nth < 3; nth += 1) {
    ends[nth]!.resolve();
    await tick();
  }
  t.strictSame(
    groups.map((group) => group.length),
    [1, 100, 50],
  );
});

t.test('when a group fails for the fault of an item each is tried alone, and only that one fails', async (t) => {
  const stored: string[] = [];
  const commit = createGroupCommit<string, string>(async (items) => {
    await tick();
    if (items.includes('bad')) throw conflict('refused');
    stored.push(...items);
    return items;
  });
  const results = await Promise.allSettled(['a', 'b', 'bad', 'c'].map((item) => commit('key', item)));
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  );
  t.strictSame(stored, ['a', 'b', 'c'], 'nothing twice');
});

t.test(
  'when the database is away a group fails at once, without waiting for the time-outs of earlier ones',
  async (t) => {
    let writes = 0;
    const commit = createGroupCommit<string, string>(async () => {
      writes += 1;
      await tick();
      throw new Error('MongoDB is away');
    });
    const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map((item) => commit('key', item)));
    t.strictSame(
      results.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected', 'rejected'],
    );
    t.equal(writes, 2, 'the first alone, and the callers during it together');
  },
);
