/** The dashboard's texts in the reader's language. The page loads the file of one language before
 *  the application, so every module may say its texts as it is loaded. */
import type { Language } from '../../../../contracts/languages.js';
import type { en } from './en/index.js';

export type English = typeof en;
export type TextKey = keyof English;
/** Forms of `Intl.PluralRules`, by `n`, without those that the language lacks. */
export type Forms = { other: string } & Partial<Record<Exclude<Intl.LDMLPluralRule, 'other'>, string>>;
/** The same texts in another language. */
export type Like<Texts> = { readonly [Key in keyof Texts]: Texts[Key] extends string ? string : Forms };

/** Placeholders: `{name}`, or `{link:words}` for words that an element surrounds. */
type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Element}:${string}` ? Element : Name) | NamesIn<Rest>
  : never;
export type NamesOf<Key extends TextKey> = English[Key] extends { other: infer Other }
  ? NamesIn<Other>
  : NamesIn<English[Key]>;
type Value<Name> = Name extends 'n' ? number : string | number;
type Values<Key extends TextKey> = { readonly [Name in NamesOf<Key>]: Value<Name> };
export type Given<Key extends TextKey, Wanted> = NamesOf<Key> extends never ? [] : [values: Wanted];
/** Texts without placeholders. */
export type PlainKey = { [Key in TextKey]: NamesOf<Key> extends never ? Key : never }[TextKey];

let texts: Like<English>;
let spoken: Language;
/** BCP 47. Digits match those of amounts. */
let locale: string;
let plurals: Intl.PluralRules;
let numbers: Intl.NumberFormat;

/** Called by the file of the language. */
export function speak(language: Language, spokenTexts: Like<English>): void {
  texts = spokenTexts;
  spoken = language;
  locale = language === 'ar' ? 'ar-u-nu-latn' : language;
  plurals = new Intl.PluralRules(locale);
  numbers = new Intl.NumberFormat(locale);
}

export const spokenLanguage = (): Language => spoken;
export const localeOfTexts = (): string => locale;
export const wholeNumber = (count: number): string => numbers.format(count);

type KindOf<Key> = Key extends `${infer Kind}.${string}` ? Kind : never;
type Kind = KindOf<TextKey>;

/** What texts of a kind are for: of `event` those of `event.payment.completed` and so on. */
export const namesIn = (kind: Kind): string[] =>
  Object.keys(texts).flatMap((key) => (key.startsWith(`${kind}.`) ? [key.slice(kind.length + 1)] : []));

/** A text without placeholders, of a name that comes from outside; null where there is none. */
export function textIn(kind: Kind, name: string): string | null {
  const key = `${kind}.${name}`;
  const text = Object.hasOwn(texts, key) ? texts[key as TextKey] : null;
  return typeof text === 'string' ? text : null;
}

export const PLACEHOLDER = /\{(\w+)(?::([^}]*))?\}/g;

/** The text with its placeholders filled in; of a text with forms the one for `n`. */
export function t<Key extends TextKey>(key: Key, ...[values]: Given<Key, Values<Key>>): string {
  const given = (values ?? {}) as Readonly<Record<string, string | number>>;
  return formOf(key, given.n).replace(PLACEHOLDER, (_, name: string) => shown(given[name]!));
}

/** The text as it is written; of one with forms that for `n`. */
export function formOf(key: TextKey, n: unknown): string {
  const text: string | Forms = texts[key];
  if (typeof text === 'string') return text;
  return text[plurals.select(Number(n))] ?? text.other;
}

/** Latin text such as `25 XLM` keeps its order among letters that run from right to left. */
export function shown(value: string | number): string {
  if (typeof value === 'number') return wholeNumber(value);
  return spoken === 'ar' && /[a-z]/i.test(value) ? `\u2068${value}\u2069` : value;
}
