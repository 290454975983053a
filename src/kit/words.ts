/** Words for searching texts: a query finds a text if each of its words begins a word of the text. */
import { foldText } from './fold.js';

/** The most words of one document: its index grows with them. */
const MOST_WORDS = 200;
/** Longer words are found by their beginning only. */
const LONGEST = 100;

/** Folded words. A word extends to the next blank, and begins at each letter or digit that follows another character: `ana@shop.example` is found
 *  by `shop`, and by `ana@shop`. */
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

/** The beginnings to search for: at least one. They begin and end at a letter or digit, so that `(#1042),` finds `1042`. Without words in the query it is a
 *  blank, which begins no word. */
export function queryWords(query: string): string[] {
  const words = new Set(tokensOf(query).map(bare).filter(Boolean).map(cut));
  return words.size > 0 ? [...words] : [' '];
}

const tokensOf = (text: string): string[] => foldText(text).split(/\s+/u).filter(Boolean);
/** Keeps the `_` of ids. */
const bare = (word: string): string => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}_]+$/gu, '');
const cut = (word: string): string => [...word].slice(0, LONGEST).join('');
