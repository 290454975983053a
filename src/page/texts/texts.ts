/** What a catalogue of a language holds: each text of `en`, with the same placeholders. */
import type { en } from './en.js';

export type TextKey = keyof typeof en;
/** Forms of `Intl.PluralRules`; those that the language does not have are left out. */
export type Forms = { other: string } & Partial<Record<Exclude<Intl.LDMLPluralRule, 'other'>, string>>;
export type Texts = { readonly [Key in TextKey]: (typeof en)[Key] extends string ? string : Forms };
/** Texts with one form for each number. */
export type CountedKey = { [Key in TextKey]: (typeof en)[Key] extends string ? never : Key }[TextKey];
