/** Group commit: nothing is written twice or left out, and no item fails for another's fault. */
import { mongo } from 'mongoose';
import t from 'tap';
import { conflict } from '../../src/kit/api-error.js';
import { createGroupCommit, createJointCommit } from '../../src/kit/group-commit.js';

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

/** Two writers whose writes end when the test says so, or fail. */
function controlledJointly() {
  type Write = { items: string[]; resolve(): void; reject(error: Error): void };
  const [together, apart]: [Write[], Write[]] = [[], []];
  const writer = (writes: Write[]) => async (items: readonly string[]) => {
    await new Promise<void>((resolve, reject) => writes.push({ items: [...items], resolve, reject }));
    return items.map((item) => item.toUpperCase());
  };
  return { together, apart, commit: createJointCommit<string, string>(writer(together), writer(apart)) };
}

const itemsOf = (writes: readonly { items: string[] }[]) => writes.map(({ items }) => items);

t.test('writes of several keys that come during one go together, each with its own result', async (t) => {
  const { together, apart, commit } = controlledJointly();
  const all = Promise.all(['a1', 'a2', 'b1', 'c1', 'b2'].map((item) => commit(item[0]!, item)));
  t.strictSame(itemsOf(together), [['a1']], 'the first goes at once');
  together[0]!.resolve();
  await tick();
  t.strictSame(itemsOf(together).at(-1), ['a2', 'b1', 'c1', 'b2']);
  together[1]!.resolve();
  t.strictSame(await all, ['A1', 'A2', 'B1', 'C1', 'B2']);
  t.strictSame(apart, []);
});

t.test('after a failed group each key is written apart; one that hangs holds up no other', async (t) => {
  const { together, apart, commit } = controlledJointly();
  const first = commit('a', 'a1');
  const others = ['a2', 'held1', 'b1', 'a3'].map((item) => commit(item.slice(0, -1), item));
  together[0]!.resolve();
  t.equal(await first, 'A1');
  await tick();
  const during = commit('held', 'held2');
  together[1]!.reject(new Error('documents held'));
  await tick();
  t.strictSame(itemsOf(apart), [['a2', 'a3'], ['held1', 'held2'], ['b1']], 'with what waited');
  const hanging = apart[1]!;
  apart[0]!.resolve();
  apart[2]!.resolve();
  t.strictSame(await Promise.all([others[0], others[2], others[3]]), ['A2', 'B1', 'A3']);
  await tick();

  const later = ['a4', 'held3'].map((item) => commit(item.slice(0, -1), item));
  t.strictSame(itemsOf(together).at(-1), ['a4'], 'the others go together again, without the one that hangs');
  together[2]!.resolve();
  t.equal(await later[0], 'A4');
  hanging.resolve();
  t.strictSame(await Promise.all([others[1], during]), ['HELD1', 'HELD2']);
  await tick();
  apart.at(-1)!.resolve();
  t.equal(await later[1], 'HELD3');
  await tick();
  void commit('held', 'held4');
  t.strictSame(itemsOf(together).at(-1), ['held4'], 'and it goes with them again once nothing of it waits');
});

t.test('when a group fails for the fault of an item only that one fails', async (t) => {
  const write = async (items: readonly string[]) => {
    await tick();
    if (items.includes('bad')) throw conflict('refused');
    return items;
  };
  const commit = createJointCommit<string, string>(write, write);
  const keyed = [
    ['a', '1'],
    ['b', '2'],
    ['b', 'bad'],
    ['b', '3'],
    ['c', '4'],
  ] as const;
  const results = await Promise.allSettled(keyed.map(([key, item]) => commit(key, item)));
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
});

t.test('a key with thousands waiting, or hundreds of keys, leave each other room in every group', async (t) => {
  const { together, commit } = controlledJointly();
  for (let nth = 0; nth < 1000; nth += 1) void commit('busy', `busy${nth}`);
  for (let nth = 0; nth < 150; nth += 1) void commit(`key${nth}`, `key${nth}`);
  void commit('key0', 'second of key0');
  for (let nth = 0; nth < 3; nth += 1) {
    together[nth]!.resolve();
    await tick();
  }
  const [, second, third] = itemsOf(together);
  t.strictSame([second!.length, third!.length], [100, 100]);
  t.equal(second!.filter((item) => item.startsWith('busy')).length, 1);
  t.equal([...second!, ...third!].filter((item) => item.startsWith('key')).length, 150, 'all keys had their turn');
  t.equal(third!.filter((item) => item.startsWith('busy')).length, 48, 'the busy one takes what is left');
});

const unknownCommit = () => {
  const error = new mongo.MongoServerError({ message: 'no answer to the commit' });
  error.addErrorLabel('UnknownTransactionCommitResult');
  return error;
};
for (const [what, error] of [
  ['the database is away', new mongo.MongoNetworkError('connection closed')],
  ['the result of the commit is unknown', unknownCommit()],
] as const) {
  t.test(`when ${what} a group of several keys fails at once, and is not written again`, async (t) => {
    let writes = 0;
    const write = async () => {
      writes += 1;
      await tick();
      throw error;
    };
    const commit = createJointCommit<string, string>(write, write);
    const results = await Promise.allSettled(['a', 'b', 'c'].map((item) => commit(item, item)));
    t.ok(results.every(({ status }) => status === 'rejected'));
    t.equal(writes, 2, 'the first, and the two that came during it');
  });
}
