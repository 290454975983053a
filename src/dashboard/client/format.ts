/** Formats amounts, times, ids and assets. Amounts stay text and BigInt, so nothing is rounded. */

import { moneyText } from '../../domain/money-text.js';
import { readAlike, readTyped, type TypedAmount } from '../../domain/typed-amount.js';
import { localeOfTexts } from './texts/texts.js';

/** Money in a currency, `€9.50`. @param amount canonical decimal text, possibly negative */
export const money = (amount: string, currency: string): string => moneyText(localeOfTexts(), amount, currency);

/** Money while it is typed: `€9.5`, `€9.`. */
export const typedMoney = (typed: string, currency: string): string =>
  money('1', currency).replace(/\d[\d.,]*/, () => grouped(typed));

/** An amount of an asset or of a currency, for texts. */
export const priceText = (amount: string, { currency, assetCode }: { currency: string | null; assetCode: string }) =>
  currency === null ? `${grouped(amount)} ${assetCode}` : money(amount, currency);

/** Reads a typed amount. People write as their browser's language does, or as these texts do: an
 *  amount that the two read differently may mean two. */
export function readAmount(written: string, unit: string): TypedAmount {
  const [here, there] = [localeOfTexts(), navigator.language].map((locale) => readTyped(written, { locale, unit }));
  const doubtful = [here!, there!].find(({ state }) => state === 'ambiguous');
  if (doubtful?.state !== 'ambiguous') return here!;
  return { ...doubtful, decimal: readAlike(doubtful.decimal.replace(/\D/, '.')) };
}

const STROOPS = 10_000_000n;

/** Converts canonical decimal text, possibly negative, to stroops. */
export function stroopsOf(amount: string): bigint {
  if (amount.startsWith('-')) return -stroopsOf(amount.slice(1));
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(whole) * STROOPS + BigInt(fraction.padEnd(7, '0') || '0');
}

export function amountOf(stroops: bigint): string {
  if (stroops < 0n) return `-${amountOf(-stroops)}`;
  const fraction = (stroops % STROOPS).toString().padStart(7, '0').replace(/0+$/, '');
  return `${stroops / STROOPS}${fraction && `.${fraction}`}`;
}

/** `1234.5` → `1,234.5`. */
export function grouped(amount: string): string {
  const [whole = '0', fraction] = amount.split('.');
  const groups = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

/** Like `grouped` for an amount that may be negative, with a typographic minus. */
export const signed = (amount: string): string =>
  amount.startsWith('-') ? `−${grouped(amount.slice(1))}` : grouped(amount);

/** `GABC…WXYZ` */
export const short = (text: string, ends = 4): string =>
  text.length > 2 * ends + 1 ? `${text.slice(0, ends)}…${text.slice(-ends)}` : text;

const sameDay = (a: Date, b: Date) => a.toDateString() === b.toDateString();
// English has the day before the month, as most of its readers outside America write it.
const TIMES = localeOfTexts() === 'en' ? 'en-GB' : localeOfTexts();
const clockTime = new Intl.DateTimeFormat(TIMES, { hour: '2-digit', minute: '2-digit' });
const dayAndMonth = new Intl.DateTimeFormat(TIMES, { day: 'numeric', month: 'short' });
const dayAndTime = new Intl.DateTimeFormat(TIMES, {
  ...{ day: 'numeric', month: 'short' },
  ...{ hour: '2-digit', minute: '2-digit' },
});
const wholeDate = new Intl.DateTimeFormat(TIMES, { day: 'numeric', month: 'short', year: 'numeric' });
const exactly = new Intl.DateTimeFormat(TIMES, {
  dateStyle: 'medium',
  timeStyle: 'long',
});

/** A short time in the browser's zone: `14:03`, `21 Nov, 14:03`, `21 Nov 2025`. */
export function shortTime(iso: string): string {
  const at = new Date(iso);
  const now = new Date();
  if (sameDay(at, now)) return clockTime.format(at);
  if (at.getFullYear() === now.getFullYear()) return dayAndTime.format(at);
  return wholeDate.format(at);
}

/** To the second, with the zone. */
export const exactTime = (iso: string): string => exactly.format(new Date(iso));

export const timezone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

/** The day in the browser's zone, `2026-11-21`. */
export function dayOf(date: Date): string {
  const two = (number: number) => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Midnight of the day in the browser's zone, `days` later. */
export const startOfDay = (day: string, days = 0): Date => {
  const [year, month, date] = day.split('-').map(Number);
  return new Date(year!, month! - 1, date! + days);
};

/** `2026-11-21` → `21 Nov`. */
export const shortDay = (day: string): string => dayAndMonth.format(startOfDay(day));

const monthAndYear = new Intl.DateTimeFormat(TIMES, { month: 'long', year: 'numeric' });

/** The month in the browser's zone, `2026-11`. */
export const monthOf = (date: Date): string => dayOf(date).slice(0, 7);

/** Midnight of the first day of the month in the browser's zone, `months` later. */
export function startOfMonth(month: string, months = 0): Date {
  const [year, number] = month.split('-').map(Number);
  return new Date(year!, number! - 1 + months, 1);
}

/** `2026-11` → `November 2026`. */
export const longMonth = (month: string): string => monthAndYear.format(startOfMonth(month));

/** A moment as a field shows it, in the browser's zone. */
export function localTime(iso: string | null | undefined): string {
  if (!iso) return '';
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Null for an empty field. A field shows neither seconds nor which of two equal hours it means.
 *  @param drawn what the field showed first: it is still meant where the text is the same */
export function momentOf(typed: string, drawn: string | null = null): string | null {
  if (typed === localTime(drawn)) return drawn;
  return typed === '' ? null : new Date(typed).toISOString();
}
