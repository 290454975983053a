/** Parses the amount field into an exact amount or a sentence about the error. */
import { minorDigits } from '../../contracts/currencies.js';
import { minorDigitErrors } from '../../contracts/rates.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import type { PageLink } from './types.js';
import type { Words } from './words.js';

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
  if (entered === undefined || entered === '') return { state: 'none' };
  if (typeof entered !== 'string') return { state: 'wrong', text: '', problem: words.say('oneAmount') };
  const written = entered.trim();
  if (written === '') return { state: 'none' };
  const wrong = (problem: string): EnteredAmount => ({ state: 'wrong', text: written.slice(0, 40), problem });

  // Many countries' keyboards offer only a comma; before three digits it could mean thousands or decimals.
  if (/^\d{1,3},\d{3}$/.test(written)) {
    return wrong(words.say('thousands', { whole: written.replace(',', ''), decimal: written.replace(',', '.') }));
  }
  const plain = written
    .replace(/^(\d*),(\d*)$/, '$1.$2')
    .replace(/^\./, '0.')
    .replace(/\.$/, '');
  if (!/^\d+(\.\d+)?$/.test(plain)) return wrong(words.say('enterNumber'));
  if (/\.\d{7}\d*[1-9]/.test(plain)) return wrong(words.say('decimals', { n: 7 }));
  const stroops = parseAmount(plain.replace(/^0+(?=\d)/, '').replace(/(\.\d{7})0+$/, '$1'));
  if (stroops === null) return wrong(words.say('tooMuch'));
  if (stroops === 0n) return wrong(words.say('positive'));
  const [fault] = minorDigitErrors(priced?.currency, { amount: formatAmount(stroops) });
  if (fault) return wrong(words.say('decimalsOf', { n: minorDigits(unit), currency: unit }));
  const minimum = least === null ? null : parseAmount(least);
  if (minimum !== null && stroops < minimum) {
    return wrong(words.say('minimumIs', { amount: `${least} ${unit}` }));
  }
  return { state: 'valid', amount: formatAmount(stroops) };
}
