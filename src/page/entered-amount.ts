/** What a payer wrote into the amount field → an exact amount, or a sentence that says what is wrong with it. */
import { formatAmount, parseAmount } from '../domain/amount.js';
import type { PageLink } from './types.js';

export type EnteredAmount =
  | { state: 'none' }
  /** `amount` is canonical decimal text. */
  | { state: 'valid'; amount: string }
  /** `text` is what was written, cut to a length that is fit to show. */
  | { state: 'wrong'; text: string; problem: string };

/** @param entered the query's `amount`: anything that a query can hold. */
export function judgeEntered(entered: unknown, product: PageLink['product']): EnteredAmount {
  if (entered === undefined || entered === '') return { state: 'none' };
  if (typeof entered !== 'string') return { state: 'wrong', text: '', problem: 'Enter one amount.' };
  const written = entered.trim();
  if (written === '') return { state: 'none' };
  const wrong = (problem: string): EnteredAmount => ({ state: 'wrong', text: written.slice(0, 40), problem });

  // Keyboards of many countries offer only a comma; between one and three digits it could mean either thousands or decimals.
  if (/^\d{1,3},\d{3}$/.test(written)) {
    return wrong(`Write ${written.replace(',', '')} or ${written.replace(',', '.')}, so that there is no doubt.`);
  }
  const plain = written
    .replace(/^(\d*),(\d*)$/, '$1.$2')
    .replace(/^\./, '0.')
    .replace(/\.$/, '');
  if (!/^\d+(\.\d+)?$/.test(plain)) return wrong('Enter a number, such as 10.5.');
  if (/\.\d{7}\d*[1-9]/.test(plain)) return wrong('Use at most 7 decimals.');
  const stroops = parseAmount(plain.replace(/^0+(?=\d)/, '').replace(/(\.\d{7})0+$/, '$1'));
  if (stroops === null) return wrong('That is more than the Stellar network can hold.');
  if (stroops === 0n) return wrong('Enter an amount greater than 0.');
  const minimum = product.minAmount === null ? null : parseAmount(product.minAmount);
  if (minimum !== null && stroops < minimum) {
    return wrong(`The minimum is ${product.minAmount} ${product.assetCode}.`);
  }
  return { state: 'valid', amount: formatAmount(stroops) };
}
