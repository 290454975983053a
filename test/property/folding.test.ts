/** Texts that a reader takes for the same are the same to a search, in every language. */
import fc from 'fast-check';
import t from 'tap';
import { foldText } from '../../src/kit/text-search.js';
import { draws } from '../helpers/long.js';

const text = fc.string({ unit: 'binary', maxLength: 20 });
/** Letters that fold in an odd way, among others. */
const odd = fc.string({ unit: fc.constantFrom(...'σςΣßẞİıIiéÉeﬁŉΐᾳǅſKÅµ\u0301\u0307 a'), maxLength: 12 });
const any = fc.oneof(text, odd);

t.test('marks and case do not count', async (t) => {
  const same: [string, string][] = [
    ['ΟΔΟΣ', 'οδος'],
    ['οδός', 'ΟΔΟΣ'],
    ['σ', 'ς'],
    ['İSTANBUL', 'istanbul'],
    ['STRASSE', 'Straße'],
    ['STRAẞE', 'strasse'],
    ['Café', 'CAFE\u0301'],
    ['cafe', 'CAFÉ'],
    ['ﬁne', 'FINE'],
    ['ŉ', 'ʼN'],
    ['ᾳ', 'Α'],
    ['Ḿ', 'm'],
    ['\u212a', 'k'],
    ['\u212b', 'å'],
    ['ſ', 's'],
    ['µ', 'μ'],
    ['Ёж', 'еж'],
    ['Ǆ', 'ǆ'],
    ['Ꭰ', 'ꭰ'],
    ['𐐀', '𐐨'],
  ];
  for (const [one, other] of same) t.equal(foldText(one), foldText(other), `${one} ${other}`);
  const different = ['ıi', 'o0', 'øo', 'ſf', 'ae'];
  for (const [one, other] of different.map((pair) => [...pair]))
    t.not(foldText(one!), foldText(other!), `${one} ${other}`);
  t.ok(foldText('ΟΔΟΣΑ').includes(foldText('ΟΔΟΣ')), 'a last letter is found in the middle of a word');
});

t.test('letters are one exactly where Unicode’s folding, by the engine’s own table, makes them one', async (t) => {
  /** Unicode folds these into two letters, or it is their mark that does not count: the table of
   *  single letters has them as different. */
  const hasMoreThanOne = /[İßẞ]|[\u1f80-\u1faf\u1fbc\u1fcc\u1ffc\u1fb3\u1fc3\u1ff3]|\p{M}/u;
  const wrong: string[] = [];
  for (let code = 0; code <= 0x1ffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const letter = String.fromCodePoint(code);
    for (const other of [letter.toUpperCase(), letter.toLowerCase()]) {
      if ([...other].length !== 1 || other === letter) continue;
      const isOne = new RegExp(`^${letter}$`, 'iu').test(other);
      if (isOne !== (foldText(other) === foldText(letter)) && !hasMoreThanOne.test(letter + other))
        wrong.push(`${letter} ${other}`);
    }
  }
  t.same(wrong, []);
});

t.test('what is written in capitals, small, composed or decomposed is found by any other spelling', async () => {
  // Two capitals say less than their small letters: that of the dotless ı is the I of others, and
  // an iota below a letter, a mark, becomes a letter.
  const spellings = (given: string) => {
    const plain = given.normalize('NFD').replaceAll(/ı|\u0345/g, 'x');
    return [plain.toUpperCase(), plain.toLowerCase(), plain.normalize('NFC'), plain.normalize('NFD'), plain];
  };
  fc.assert(
    fc.property(any, (given) => new Set(spellings(given).map(foldText)).size === 1),
    draws(3000),
  );
});

t.test('each part of a text is found in it, and folding is done once', async () => {
  fc.assert(
    fc.property(any, any, any, (before, part, after) => foldText(before + part + after).includes(foldText(part))),
    draws(3000),
  );
  fc.assert(
    fc.property(any, (given) => foldText(foldText(given)) === foldText(given)),
    draws(3000),
  );
});
