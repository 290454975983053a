/** Parses the amount field into an exact amount or a sentence about the error. */
import { minorDigits } from '../../contracts/currencies.js';
import { minorDigitErrors } from '../../contracts/rates.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { readTyped } from '../domain/typed-amount.js';
import type { PageLink } from './types.js';
import { localeOf, type Words } from './words.js';

export type EnteredAmount =
  | { state: 'none' }
  /** `amount` is canonical decimal text. */
  | { state: 'valid'; amount: string }
  /** `text` is the input, cut to a length that can be shown. */
  | { state: 'wrong'; text: string; problem: string };

/** @param entered the query's `amount`, of any type */
export function judgeEntered(
  words: Words,
  entered: unknown,
  product: PageLink['product'],
  priced?: PageLink['priced'],
): EnteredAmount {
  const unit = priced?.currency ?? product.assetCode;
  const least = priced ? priced.minAmount : product.minAmount;
  if (entered === undefined) return { state: 'none' };
  if (typeof entered !== 'string') return { state: 'wrong', text: '', problem: words.say('oneAmount') };
  const wrong = (problem: string): EnteredAmount => ({ state: 'wrong', text: entered.trim().slice(0, 40), problem });

  const typed = readTyped(entered, { locale: localeOf(words.language), unit });
  if (typed.state === 'none') return typed;
  if (typed.state === 'wrong') return wrong(enterNumber(words, priced?.currency));
  // A currency without decimals has thousands only.
  const isWhole = priced !== undefined && minorDigits(priced.currency) === 0;
  if (typed.state === 'ambiguous' && !isWhole)
    return wrong(words.say('thousands', priced ? inMoney(words, typed, unit) : typed));
  const plain = typed.state === 'ambiguous' ? typed.whole : typed.amount;
  if (/\.\d{7}\d*[1-9]/.test(plain)) return wrong(words.say('decimals', { n: 7 }));
  const stroops = parseAmount(plain.replace(/(\.\d{7})0+$/, '$1'));
  if (stroops === null) return wrong(words.say('tooMuch'));
  if (stroops === 0n) return wrong(words.say('positive'));
  const [fault] = minorDigitErrors(priced?.currency, { amount: formatAmount(stroops) });
  if (fault) return wrong(words.say('decimalsOf', { n: minorDigits(unit), currency: unit }));
  const minimum = least === null ? null : parseAmount(least);
  if (minimum !== null && stroops < minimum) {
    const amount = priced ? words.money(least!, unit) : `${least} ${unit}`;
    return wrong(words.say('minimumIs', { amount }));
  }
  return { state: 'valid', amount: formatAmount(stroops) };
}

/** @param currency none for an amount of the asset */
export function enterNumber({ say, money, number }: Words, currency?: string): string {
  if (currency === undefined) return say('enterNumber', { example: number(10.5) });
  return say('enterNumber', { example: money(minorDigits(currency) === 0 ? '10' : '10.5', currency) });
}

/** Both readings as money of the currency. Its digits are always three behind the separator, which
 *  may be more than the currency has. */
function inMoney({ money }: Words, { whole, decimal }: { whole: string; decimal: string }, currency: string) {
  const digits = decimal.slice(-3).slice(0, minorDigits(currency));
  return { whole: money(whole, currency), decimal: money(`${decimal.slice(0, -4)}.${digits}`, currency) };
}
