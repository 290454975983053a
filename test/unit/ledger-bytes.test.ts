/** The bytes of a ledger that are kept between requests, from servers that never come to an end. */
import t from 'tap';
import { addTransactions, noBytes, SourceError } from '../../src/ledger/source.js';

const transaction = (bytes: number) => ({ hash: '00', envelope: Buffer.alloc(bytes), result: Buffer.alloc(bytes) });

t.test('a server that shows a ledger without an end is read no further than a ledger can be', async (t) => {
  const many = noBytes();
  const page = Array.from({ length: 200 }, () => transaction(1));
  t.throws(() => {
    for (let next = 1; next <= 1000; next++) addTransactions(many, page, `${next}`);
  }, SourceError);
  t.ok(many.transactions.length < 20_000, `${many.transactions.length} transactions`);
});

t.test('a server that shows larger transactions than a ledger holds is not believed', async (t) => {
  const large = noBytes();
  addTransactions(large, [transaction(2 ** 22)], 'a');
  t.throws(() => addTransactions(large, [transaction(2 ** 22), transaction(1)], null), SourceError);
  t.same([large.transactions.length, large.next], [1, 'a'], 'nor is it kept');
});

t.test('a large ledger that ends is read whole', async (t) => {
  const whole = noBytes();
  const page = Array.from({ length: 5000 }, () => transaction(800));
  addTransactions(whole, page, 'a');
  addTransactions(whole, page, null);
  t.same([whole.transactions.length, whole.next], [10_000, null]);
});
