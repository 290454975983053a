/** How texts are compared in searches: without marks and without case, in every language. */

/** Letters that stay as they are: the way over capitals, which is full case folding for all others, makes the dotless i of Turkish an i. */
const AS_THEY_ARE = new Set(['ı']);

/** Decomposed, without marks, folded: σ, ς and Σ are one, as are ß, ẞ and ss, İ and i, é and e. Folding a folded text changes nothing. */
export const foldText = (text: string): string =>
  Array.from(withoutMarks(text), (letter) => (AS_THEY_ARE.has(letter) ? letter : withoutMarks(folded(letter)))).join(
    '',
  );

const withoutMarks = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '');

/** Letter by letter, so that no rule looks at the next one, as that of the last σ of a word does. */
const folded = (text: string): string => {
  const capitals = text.toLowerCase().toUpperCase();
  return Array.from(capitals, (letter) => letter.toLowerCase()).join('');
};
