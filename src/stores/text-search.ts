/** MongoDB conditions for searches in folded text. Characters of the search text have no special meaning. */
import { foldText } from '../domain/fold.js';

const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

export const containing = (text: string) => ({ $regex: literally(foldText(text)) });

export const startingWith = (text: string) => beginning(foldText(text));

/** @param word folded already */
export const beginning = (word: string) => ({ $regex: `^${literally(word)}` });
