/** A language's catalogue: each text of `en`, with the same placeholders. */
import type { en } from './en.js';

export type TextKey = keyof typeof en;
/** Forms of `Intl.PluralRules`, without those that the language lacks. */
export type Forms = { other: string } & Partial<Record<Exclude<Intl.LDMLPluralRule, 'other'>, string>>;
export type Texts = { readonly [Key in TextKey]: (typeof en)[Key] extends string ? string : Forms };
/** Texts with one form for each number. */
export type CountedKey = { [Key in TextKey]: (typeof en)[Key] extends string ? never : Key }[TextKey];
