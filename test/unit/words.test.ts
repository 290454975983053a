/** The words that texts are found by. */
import t from 'tap';
import { queryWords, wordsOf } from '../../src/kit/text-search.js';

t.test('a word begins behind each character that is no letter or digit, and goes on to the next blank', (t) => {
  t.same(wordsOf(['Order-1042/b', null, ' Été  ', undefined, '']), ['order-1042/b', '1042/b', 'b', 'ete']);
  t.same(wordsOf(['ana@shop.example']), ['ana@shop.example', 'shop.example', 'example']);
  t.same(wordsOf(['«zwölf»']), ['zwolf»']);
  t.same(wordsOf(['日本 東京']), ['日本', '東京']);
  t.end();
});

t.test('there are at most 200 words, of at most 100 characters', (t) => {
  const many = wordsOf([Array.from({ length: 500 }, (_, n) => `w${n}`).join(' ')]);
  t.equal(many.length, 200);
  const [long] = wordsOf(['x'.repeat(300)]);
  t.equal(long!.length, 100);
  t.same(queryWords('x'.repeat(150)), [long], 'a longer one is asked for as it is kept');
  t.end();
});

t.test('a query asks for each of its words once, and for none that begins nothing', (t) => {
  t.same(queryWords(' Two  MUGS two '), ['two', 'mugs']);
  t.same(queryWords('\u0301 # … -'), [' ']);
  t.end();
});

t.test('a query has signs around a word → it asks for the word, which is kept without those before it', (t) => {
  for (const [query, word] of [
    ['#1042', '1042'],
    ['(47)', '47'],
    ['№46', '46'],
    ['1042,', '1042'],
    ['«Zwölf»', 'zwolf'],
    ['@shop.example', 'shop.example'],
    ['order-1042/b.', 'order-1042/b'],
    ['pay_', 'pay_'],
  ] as const) {
    t.same(queryWords(query), [word], query);
    t.ok(
      wordsOf([query]).some((stored) => stored.startsWith(word)),
      `${query} finds itself`,
    );
  }
  t.end();
});
