/** Folds texts for comparison in searches: without marks and case, in every language. */

/** Letters that stay unchanged. Folding goes through capitals, which is full case folding except for the Turkish dotless i: it would become an i. */
const AS_THEY_ARE = new Set(['ı']);

/** Decomposes, removes marks and folds: σ, ς and Σ become equal, as do ß, ẞ and ss, İ and i, é and e. Folding a folded text changes nothing. */
export const foldText = (text: string): string =>
  Array.from(withoutMarks(text), (letter) => (AS_THEY_ARE.has(letter) ? letter : withoutMarks(folded(letter)))).join(
    '',
  );

const withoutMarks = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '');

/** Letter by letter, so that no rule depends on the next letter, as that of a word's last σ does. */
const folded = (text: string): string => {
  const capitals = text.toLowerCase().toUpperCase();
  return Array.from(capitals, (letter) => letter.toLowerCase()).join('');
};
