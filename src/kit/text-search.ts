/** Searches in texts: folding, words, and conditions for MongoDB, in which no character of the
 *  search text has a special meaning. */

// Words for searching texts: a query finds a text if each of its words begins a word of the text.

/** The most words of one document: its index grows with them. */
const MOST_WORDS = 200;
/** Longer words are found by their beginning only. */
const LONGEST = 100;

/** Folded words. A word extends to the next blank, and begins at each letter or digit that follows
 *  another character: `ana@shop.example` is found by `shop`, and by `ana@shop`. */
export function wordsOf(texts: readonly (string | null | undefined)[]): string[] {
  const words = new Set<string>();
  for (const text of texts) {
    for (const token of tokensOf(text ?? '')) {
      for (const { index } of token.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu)) {
        if (words.size === MOST_WORDS) return [...words];
        words.add(cut(token.slice(index)));
      }
    }
  }
  return [...words];
}

/** The beginnings to search for: at least one. They begin and end at a letter or digit, so that
 *  `(#1042),` finds `1042`. Without words in the query it is a blank, which begins no word. */
export function queryWords(query: string): string[] {
  const words = new Set(tokensOf(query).map(bare).filter(Boolean).map(cut));
  return words.size > 0 ? [...words] : [' '];
}

const tokensOf = (text: string): string[] => foldText(text).split(/\s+/u).filter(Boolean);
/** Keeps the `_` of ids. */
const bare = (word: string): string => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}_]+$/gu, '');
const cut = (word: string): string => [...word].slice(0, LONGEST).join('');

// Folds texts for comparison in searches: without marks and case, in every language.

/** Letters that stay unchanged. Folding goes through capitals, which is full case folding except
 *  for the Turkish dotless i: it would become an i. */
const AS_THEY_ARE = new Set(['ı']);

/** Decomposes, removes marks and folds: σ, ς and Σ become equal, as do ß, ẞ and ss, İ and i, é and
 *  e. Folding a folded text changes nothing. */
export const foldText = (text: string): string =>
  Array.from(withoutMarks(text), (letter) => (AS_THEY_ARE.has(letter) ? letter : withoutMarks(folded(letter)))).join(
    '',
  );

const withoutMarks = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '');

/** Letter by letter, so that no rule depends on the next letter, as that of a word's last
 *  σ does. */
const folded = (text: string): string => {
  const capitals = text.toLowerCase().toUpperCase();
  return Array.from(capitals, (letter) => letter.toLowerCase()).join('');
};

const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

export const containing = (text: string) => ({ $regex: literally(foldText(text)) });

export const startingWith = (text: string) => beginning(foldText(text));

/** One of the words of a document. A single letter begins too many of them: it means itself alone.
 *  @param word folded already */
export const wordLike = (word: string) => ([...word].length === 1 ? word : beginning(word));

/** @param word folded already */
export const beginning = (word: string) => ({ $regex: `^${literally(word)}` });
