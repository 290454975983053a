/** What the activity says of a change, and how much of it. */
import t from 'tap';
import { changesAsked, changesBetween, Secret } from '../../src/accounts/commit.js';

t.test('a resource is changed → the fields that differ are told, and no others', async (t) => {
  const before = { name: 'Mug', price: '9.5', active: true, events: ['a'], note: null, gone: undefined };
  t.same(changesBetween(before, { ...before }), []);
  t.same(changesBetween(before, { ...before, price: '10', active: false, events: ['a', 'b'], note: 'n' }), [
    { field: 'price', from: '9.5', to: '10' },
    { field: 'active', from: true, to: false },
    { field: 'events', from: ['a'], to: ['a', 'b'] },
    { field: 'note', from: null, to: 'n' },
  ]);
  t.same(changesBetween({ name: 'Mug', note: null }, null), [{ field: 'name', from: 'Mug', to: null }]);
  t.same(changesBetween(null, null), []);
});

t.test('a secret shows only that it changed', async (t) => {
  const [old, other] = [{ key: new Secret('sk_1') }, { key: new Secret('sk_2') }];
  t.same(changesBetween(old, { key: new Secret('sk_1') }), []);
  for (const [from, to] of [
    [old, other],
    [old, null],
    [{}, other],
  ] as const)
    t.same(changesBetween(from, to), [{ field: 'key', from: null, to: null }]);
  t.notOk(JSON.stringify(old).includes('sk_'), 'and it does not show itself');
});

t.test('a resource is made → the given fields are told by their paths', async (t) => {
  t.same(changesAsked({ name: 'x', none: null, missing: undefined, n: 2, metadata: { table: '7' }, list: ['a', 1] }), [
    { field: 'name', from: null, to: 'x' },
    { field: 'n', from: null, to: 2 },
    { field: 'metadata.table', from: null, to: '7' },
    { field: 'list', from: null, to: ['a', '1'] },
  ]);
});

t.test('a payer’s e-mail address shows only that there is one: activity stays longer than the order', async (t) => {
  t.same(changesAsked({ name: 'Tee', customerEmail: 'ana@payer.example' }), [
    { field: 'name', from: null, to: 'Tee' },
    { field: 'customerEmail', from: null, to: null },
  ]);
});

t.test('a record is cut at its bounds, and says so', async (t) => {
  const [cut] = changesAsked({ text: `${'x'.repeat(299)}😀${'y'.repeat(99)}` });
  t.equal(cut!.to, `${'x'.repeat(299)}… (400 characters)`, 'no half of a character');
  const many = changesAsked(Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`f${n}`, n])));
  t.equal(many.length, 51);
  t.same(many.at(-1), { field: '…', from: null, to: '20 more fields' });
  const [list] = changesAsked({ list: Array.from({ length: 40 }, (_, n) => `${n}`) });
  t.equal((list!.to as string[]).length, 31);
  t.equal((list!.to as string[]).at(-1), '… 10 more');
  const longest = changesAsked(Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`f${n}`, ['z'.repeat(9999)]])));
  t.ok(JSON.stringify(longest).length < 25_000);
});
