/** No operator of MongoDB comes into a store with an argument. */
import t from 'tap';
import { behindDoor } from '../../src/kit/door.js';

class Views {
  readonly #users = { byId: (id: unknown) => ['user', id] };
  get users() {
    return this.#users;
  }
}
const { store } = behindDoor({
  store: { find: (...args: unknown[]) => args, deeper: { list: (filter: unknown) => filter } },
});
const refused = { code: 'bad_request' };

t.test('values come in as they are', (t) => {
  const args = ['a', 5, null, new Date(0), { status: ['PAID'], at: { from: 1 } }, [{ _id: 'x', data: { $key: 1 } }]];
  t.same(store.find(...args), args);
  t.same(store.deeper.list({ search: '$gt' }), { search: '$gt' });
  t.same(behindDoor(new Views()).users.byId('u'), ['user', 'u']);
  t.end();
});

t.test('an operator is refused wherever a query would take it', (t) => {
  for (const operator of [{ $gt: '' }, { $regex: '(' }, { a: 1, $ne: null }]) {
    t.throws(() => store.find(operator), refused);
    t.throws(() => store.find('id', operator), refused);
    t.throws(() => store.find([operator]), refused);
    t.throws(() => store.deeper.list({ status: operator }), refused);
    t.throws(() => store.deeper.list({ status: ['PAID', operator] }), refused);
    t.throws(() => behindDoor(new Views()).users.byId(operator), refused);
  }
  t.end();
});
