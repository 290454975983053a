/** Memos that name a payment link: made here, and read back from whatever a payer's wallet sent. Two different memos never normalise to one.
 *
 *  A memo is 11 random symbols of Crockford's base32 (the letters without I, L, O, U) and one check symbol: 55 bits. The check is a weighted sum over
 *  GF(32) with different weights, none of them zero, so that every single wrong symbol and every two swapped symbols are noticed (a swap changes
 *  the sum by (wᵢ − wⱼ)(xᵢ − xⱼ), which is zero only where nothing changed), as are 31 of 32 random texts.
 *
 *  With N links, the next random memo collides with one of them with probability N/2⁵⁵ (the unique index then asks for another), two of N do so
 *  with at most N²/2⁵⁶ (10⁶ links: 1.4·10⁻⁵), and 12 random symbols typed blindly name some link with N/2⁶⁰ (10⁶ links: 9·10⁻¹³). */
import type { Clock } from '../clock.js';

const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PAYLOAD_LENGTH = 11;
export const MEMO_LENGTH = PAYLOAD_LENGTH + 1;

/** The symbols of the check sum are elements of GF(2⁵), polynomials modulo x⁵ + x² + 1; this is their product with x. */
const timesX = (element: number): number => ((element << 1) ^ (element & 16 ? 0b100101 : 0)) & 31;

/** Horner's rule: the symbol at distance d from the end weighs x^d, and the powers x⁰ … x³⁰ all differ. */
const weigh = (values: readonly number[]): number => values.reduce((sum, value) => timesX(sum) ^ value, 0);

/** @returns 12 symbols, upper case; unique only in all likelihood. */
export function createMemo(clock: Pick<Clock, 'randomBytes'>): string {
  // 256 is a multiple of 32, so that the low five bits of a byte are uniform.
  const payload = [...clock.randomBytes(PAYLOAD_LENGTH)].map((byte) => byte & 31);
  // The check symbol weighs 1, and in GF(32) what adds up to 0 is its own opposite.
  const check = weigh([...payload, 0]);
  return [...payload, check].map((value) => SYMBOLS[value]).join('');
}

/** What a person typed or a wallet sent → the memo as it was made, or null when it can be none of ours.
 *  Ignores case, surrounding blanks, and O for 0, I or L for 1. */
export function normalizeMemo(text: string): string | null {
  const typed = text.trim();
  // Before any change of case: some letters beyond ASCII have an upper case within it.
  if (!/^[0-9A-Za-z]{12}$/.test(typed)) return null;
  const memo = typed.toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1');
  const values = [...memo].map((symbol) => SYMBOLS.indexOf(symbol));
  return values.includes(-1) || weigh(values) !== 0 ? null : memo;
}

/** The memo of a transaction. `text` is what the ledger shows: the text, a decimal number for `id`, base64 for `hash` and `return`. */
export type CreditMemo =
  | { type: 'none'; text: null }
  /** `valid` is false when the bytes are no UTF-8; `text` then shows U+FFFD in their place. */
  | { type: 'text'; text: string; valid: boolean }
  | { type: 'id' | 'hash' | 'return'; text: string };

export type UnmatchedReason = 'no_memo' | 'unknown_memo' | 'unsupported_memo';

/** The link's memo that a payment names, or why it names none. A memo that no link has is `unknown_memo` too: the caller looks it up. */
export function namedMemo(memo: CreditMemo): { memo: string } | { memo: null; reason: UnmatchedReason } {
  if (memo.type === 'none') return { memo: null, reason: 'no_memo' };
  if (memo.type !== 'text') return { memo: null, reason: 'unsupported_memo' };
  if (memo.text === '') return { memo: null, reason: 'no_memo' };
  const named = memo.valid ? normalizeMemo(memo.text) : null;
  return named === null ? { memo: null, reason: 'unknown_memo' } : { memo: named };
}
