/** Searches in folded texts, as conditions of MongoDB. No character of what is searched for has a special meaning. */
import { foldText } from '../domain/fold.js';

const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

export const containing = (text: string) => ({ $regex: literally(foldText(text)) });

export const startingWith = (text: string) => beginning(foldText(text));

/** @param word folded already */
export const beginning = (word: string) => ({ $regex: `^${literally(word)}` });
