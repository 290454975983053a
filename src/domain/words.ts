/** Words that texts are found by: a query finds what has, for each of its words, one that begins with it. */
import { foldText } from './fold.js';

/** The most of one document: its index grows with them. */
const MOST_WORDS = 200;
/** Longer words are found by their beginning only. */
const LONGEST = 100;

/** Folded. A word goes on to the next blank, and one begins behind each character that is no letter or digit: `ana@shop.example` is found by `shop`, and by
 *  `ana@shop`. */
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

/** What each of the words must begin with: at least one, which begins none where the query has no letters. */
export function queryWords(query: string): string[] {
  const words = new Set(tokensOf(query).map(cut));
  return words.size > 0 ? [...words] : [' '];
}

const tokensOf = (text: string): string[] => foldText(text).split(/\s+/u).filter(Boolean);
const cut = (word: string): string => [...word].slice(0, LONGEST).join('');
