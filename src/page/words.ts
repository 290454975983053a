/** A page's texts in the payer's language, with numbers, times and money of a currency in its
 *  format. Amounts in assets always keep their point, so that they are read, copied and typed the
 *  same everywhere. */
import { moneyText } from '../domain/money-text.js';
import { type Html, html, type Part, trusted } from './html.js';
import { CATALOGUES, type CountedKey, type Language, type TextKey } from './texts/index.js';

type Values = Readonly<Record<string, string | number | Html>>;
/** Texts without forms. */
export type PlainKey = Exclude<TextKey, CountedKey>;

export interface Words {
  language: Language;
  direction: 'ltr' | 'rtl';
  /** The address with the requested language, if any. */
  here(path: string): string;
  /** That language, for forms; null when the browser chose. */
  asked: Language | null;
  /** Text with its placeholders filled in. */
  say(key: PlainKey, values?: Readonly<Record<string, string | number>>): string;
  /** The same as markup: values that are texts are escaped. */
  html(key: PlainKey, values?: Values): Html;
  /** In the form for `n`. */
  count(key: CountedKey, n: number): string;
  number(n: number): string;
  /** @param percent canonical decimal text, at most 3 decimals */
  percent(percent: string): string;
  /** Money of a currency. @param amount canonical decimal text */
  money(amount: string, currency: string): string;
  /** `UTC`: shown until the script writes it in the local format. */
  time(at: Date): string;
  /** `3 hr 20 min`: the two greatest units. */
  timeLeft(ms: number): string;
}

const RIGHT_TO_LEFT: ReadonlySet<Language> = new Set(['ar']);
/** Digits match those of the amounts beside them. */
export const localeOf = (language: Language): string => (language === 'ar' ? 'ar-u-nu-latn' : language);

const PLACEHOLDER = /\{(\w+)\}/;
const made = new Map<string, Words>();

/** @param asked the language of `?lang=`; null when the browser chose */
export function wordsOf(language: Language, asked: Language | null = null): Words {
  const key = `${language} ${asked}`;
  const words = made.get(key) ?? createWords(language, asked);
  made.set(key, words);
  return words;
}

function createWords(language: Language, asked: Language | null): Words {
  const texts = CATALOGUES[language];
  const locale = localeOf(language);
  const plural = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  const percents = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 3 });
  const times = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
  // Keep left-to-right text such as `25 XLM` in order; markup has elements for that.
  const isolated = (value: string) =>
    RIGHT_TO_LEFT.has(language) && /[a-z]/i.test(value) ? `\u2068${value}\u2069` : value;
  const fill = (text: string, values: Values, show: (part: Part) => string): string =>
    text
      .split(PLACEHOLDER)
      .map((part, index) => {
        if (index % 2 === 0) return show(part);
        const value = values[part] ?? '';
        return typeof value === 'string' ? isolated(show(value)) : show(value);
      })
      .join('');
  return {
    language,
    asked,
    direction: RIGHT_TO_LEFT.has(language) ? 'rtl' : 'ltr',
    here: (path) => (asked === null ? path : `${path}${path.includes('?') ? '&' : '?'}lang=${asked}`),
    say: (key, values = {}) => fill(texts[key], values, String),
    html: (key, values = {}) => trusted(fill(texts[key], values, (part) => html`${part}`.text)),
    count: (key, n) => {
      const forms: { other: string } & Partial<Record<Intl.LDMLPluralRule, string>> = texts[key];
      return fill(forms[plural.select(n)] ?? forms.other, { n: numbers.format(n) }, String);
    },
    number: (n) => numbers.format(n),
    percent: (percent) => percents.format(Number(percent) / 100),
    money: (amount, currency) => moneyText(locale, amount, currency),
    time: (at) => `${times.format(at)} UTC`,
    timeLeft: (ms) => timeLeft(locale, ms),
  };
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

function timeLeft(locale: string, ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const first = seconds === 0 ? 3 : UNITS.findIndex(([, size]) => seconds >= size);
  return UNITS.slice(first, first + 2)
    .map(([unit, size], index) => {
      const count = Math.floor((index === 0 ? seconds : seconds % UNITS[first]![1]) / size);
      return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'short' }).format(count);
    })
    .join(' ');
}
