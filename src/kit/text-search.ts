/** MongoDB conditions for searches in folded text. Characters of the search text have no special meaning. */
import { foldText } from './fold.js';

const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

export const containing = (text: string) => ({ $regex: literally(foldText(text)) });

export const startingWith = (text: string) => beginning(foldText(text));

/** One of the words of a document. A single letter begins too many of them: it means itself alone. @param word folded already */
export const wordLike = (word: string) => ([...word].length === 1 ? word : beginning(word));

/** @param word folded already */
export const beginning = (word: string) => ({ $regex: `^${literally(word)}` });
