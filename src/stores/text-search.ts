/** Searches for text in which no character has a special meaning, as conditions of MongoDB. */

const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

export const containing = (text: string) => ({ $regex: literally(text) });

export const startingWith = (text: string) => ({ $regex: `^${literally(text)}` });
