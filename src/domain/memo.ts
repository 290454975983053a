/** Memos that name a payment link or a checkout: made here, and read back from whatever the payer's wallet sent. Two different memos never normalise to one.
 *
 *  A memo is 11 random symbols of Crockford's base32 (the letters without I, L, O, U) followed by one check symbol. The check symbol is a weighted
 *  sum over GF(32) with a different non-zero weight for each symbol. It catches every single wrong symbol, every swap of two symbols, and 31 of
 *  32 random texts.
 *
 *  The 60 bits of the 12 symbols (first symbol most significant) are also the memo's id: an unsigned integer below 2⁶⁰. Wallets that cannot send
 *  a text memo send the id, as an id memo or as the id of a muxed address. Nothing more needs to be stored.
 *
 *  The first bit says whom a new memo is for: 0 a link, 1 a checkout. (Links made before checkouts existed have memos of either kind.)
 *
 *  With N links, a new memo collides with an existing one with probability N/2⁵⁴; the names of payables are unique, and another is drawn then. Twelve
 *  symbols typed blindly name some link with probability N/2⁶⁰ (10⁶ links: 9·10⁻¹³). */
import type { Clock } from '../clock.js';

const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PAYLOAD_LENGTH = 11;
export const MEMO_LENGTH = PAYLOAD_LENGTH + 1;

/** The symbols of the check sum are elements of GF(2⁵), polynomials modulo x⁵ + x² + 1; this is their product with x. */
const timesX = (element: number): number => ((element << 1) ^ (element & 16 ? 0b100101 : 0)) & 31;

/** Horner's rule: the symbol at distance d from the end weighs x^d, and the powers x⁰ … x³⁰ all differ. */
const weigh = (values: readonly number[]): number => values.reduce((sum, value) => timesX(sum) ^ value, 0);

/** What a memo is drawn for. */
type MemoOwner = 'link' | 'checkout';

/** A new memo: 12 upper-case symbols. It is unique only in all likelihood: the store decides. */
export function createMemo(clock: Pick<Clock, 'randomBytes'>, owner: MemoOwner): string {
  // 256 is a multiple of 32, so that the low five bits of a byte are uniform.
  const [first = 0, ...others] = [...clock.randomBytes(PAYLOAD_LENGTH)].map((byte) => byte & 31);
  const payload = [owner === 'checkout' ? first | 16 : first & 15, ...others];
  // The check symbol weighs 1, and in GF(32) what adds up to 0 is its own opposite.
  const check = weigh([...payload, 0]);
  return [...payload, check].map((value) => SYMBOLS[value]).join('');
}

/** The memo that a text stands for: ignores case, surrounding blanks, and the mix-ups O for 0 and I or L for 1.
 *  @returns the memo in canonical form, or null when the text cannot be one of ours */
export function normalizeMemo(text: string): string | null {
  const typed = text.trim();
  // Before any change of case: some letters beyond ASCII have an upper case within it.
  if (!/^[0-9A-Za-z]{12}$/.test(typed)) return null;
  const memo = typed.toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1');
  const values = [...memo].map((symbol) => SYMBOLS.indexOf(symbol));
  return values.includes(-1) || weigh(values) !== 0 ? null : memo;
}

/** The id of a memo, as decimal text. @param memo in canonical form */
export const memoIdOf = (memo: string): string =>
  [...memo].reduce((id, symbol) => (id << 5n) | BigInt(SYMBOLS.indexOf(symbol)), 0n).toString();

/** The memo with this id, or null when its check symbol is wrong. @param id decimal text of an unsigned 64-bit integer */
export function memoOfId(id: string): string | null {
  const bits = BigInt(id);
  if (bits >= 1n << BigInt(5 * MEMO_LENGTH)) return null;
  const values = Array.from({ length: MEMO_LENGTH }, (_, index) =>
    Number((bits >> BigInt(5 * (MEMO_LENGTH - 1 - index))) & 31n),
  );
  return weigh(values) === 0 ? values.map((value) => SYMBOLS[value]).join('') : null;
}

/** The memo of a transaction. `text` is what the ledger shows: the text, a decimal number for `id`, base64 for `hash` and `return`. */
export type CreditMemo =
  | { type: 'none'; text: null }
  /** `valid` is false when the bytes are not UTF-8; `text` then has U+FFFD for each wrong byte. */
  | { type: 'text'; text: string; valid: boolean }
  | { type: 'id' | 'hash' | 'return'; text: string };

type UnmatchedReason = 'no_memo' | 'unknown_memo' | 'unsupported_memo';

/** The parts of a credit that can name a link or checkout. */
interface PaymentReference {
  memo: CreditMemo;
  /** Decimal text; null when the destination is not muxed. */
  destinationMuxedId: string | null;
}

/** The memos that a payment may mean, in the order in which they count: its muxed destination, then its memo. */
export function memosNamedBy({ memo, destinationMuxedId }: PaymentReference): string[] {
  const named = [destinationMuxedId === null ? null : memoOfId(destinationMuxedId), memoNamedBy(memo)];
  return [...new Set(named.filter((each) => each !== null))];
}

function memoNamedBy(memo: CreditMemo): string | null {
  if (memo.type === 'id') return memoOfId(memo.text);
  return memo.type === 'text' && memo.valid ? normalizeMemo(memo.text) : null;
}

/** Why a payment that names no link names none. A muxed destination of no link counts as no reference at all: the memo decides. */
export function unmatchedReason(memo: CreditMemo): UnmatchedReason {
  if (memo.type === 'none' || memo.text === '') return 'no_memo';
  return memo.type === 'text' || memo.type === 'id' ? 'unknown_memo' : 'unsupported_memo';
}
