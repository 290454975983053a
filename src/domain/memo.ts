/** Memos that name a payment link or checkout: their creation, and reading them from what a payer's
 *  wallet sent. Different memos never normalise to the same.
 *
 *  A memo is 11 random symbols of Crockford's base32 (the letters without I, L, O, U) followed by
 *  one check symbol. The check symbol is a weighted sum over GF(32) with a different non-zero
 *  weight for each symbol. It catches every single wrong symbol, every swap of two symbols, and
 *  31 of 32 random texts.
 *
 *  The 60 bits of the 12 symbols (first symbol most significant) are also the memo's id: an
 *  unsigned integer below 2⁶⁰. Wallets that cannot send a text memo send the id, as an id memo or
 *  as the id of a muxed address. Nothing more needs to be stored.
 *
 *  The first bit of a new memo tells what it names: 0 a link, 1 a checkout. (Links from before
 *  checkouts existed have either.)
 *
 *  With N links, a new memo collides with an existing one with probability N/2⁵⁴; names of payables
 *  are unique, so that another is drawn. Twelve symbols typed blindly name some link with
 *  probability N/2⁶⁰ (10⁶ links: 9·10⁻¹³). */
import type { Clock } from '../kit/clock.js';

const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PAYLOAD_LENGTH = 11;
export const MEMO_LENGTH = PAYLOAD_LENGTH + 1;

/** The symbols of the check sum are elements of GF(2⁵), polynomials modulo x⁵ + x² + 1; this is
 *  their product with x. */
const timesX = (element: number): number => ((element << 1) ^ (element & 16 ? 0b100101 : 0)) & 31;

/** Horner's rule: the symbol at distance d from the end weighs x^d, and the powers x⁰ … x³⁰
 *  all differ. */
const weigh = (values: readonly number[]): number => values.reduce((sum, value) => timesX(sum) ^ value, 0);

/** What a memo names. */
type MemoOwner = 'link' | 'checkout';

/** A new memo: 12 upper-case symbols. Only the store guarantees that it is unique. */
export function createMemo(clock: Pick<Clock, 'randomBytes'>, owner: MemoOwner): string {
  // 256 is a multiple of 32, so the low five bits of a byte are uniform.
  const [first = 0, ...others] = [...clock.randomBytes(PAYLOAD_LENGTH)].map((byte) => byte & 31);
  const payload = [owner === 'checkout' ? first | 16 : first & 15, ...others];
  // The check symbol weighs 1, and in GF(32) each element is its own negative.
  const check = weigh([...payload, 0]);
  return [...payload, check].map((value) => SYMBOLS[value]).join('');
}

/** The memo that a text means, regardless of case, surrounding blanks, and the mix-ups O for 0 and
 *  I or L for 1.
 *  @returns the memo in canonical form; null for text that cannot be a memo of this service */
export function normalizeMemo(text: string): string | null {
  const typed = text.trim();
  // Before changing case: some letters beyond ASCII have an ASCII upper case.
  if (!/^[0-9A-Za-z]{12}$/.test(typed)) return null;
  const memo = typed.toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1');
  const values = [...memo].map((symbol) => SYMBOLS.indexOf(symbol));
  return values.includes(-1) || weigh(values) !== 0 ? null : memo;
}

/** The id of a memo, as decimal text. @param memo in canonical form */
export const memoIdOf = (memo: string): string =>
  [...memo].reduce((id, symbol) => (id << 5n) | BigInt(SYMBOLS.indexOf(symbol)), 0n).toString();

/** The memo with this id; null when its check symbol is wrong. @param id decimal text of an
 *  unsigned 64-bit integer */
export function memoOfId(id: string): string | null {
  const bits = BigInt(id);
  if (bits >= 1n << BigInt(5 * MEMO_LENGTH)) return null;
  const values = Array.from({ length: MEMO_LENGTH }, (_, index) =>
    Number((bits >> BigInt(5 * (MEMO_LENGTH - 1 - index))) & 31n),
  );
  return weigh(values) === 0 ? values.map((value) => SYMBOLS[value]).join('') : null;
}

/** The memo of a transaction. `text` is what the ledger shows: the text, a decimal number for `id`,
 *  base64 for `hash` and `return`. */
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

/** The memos that a payment may mean, by precedence: its muxed destination, then its memo. */
export function memosNamedBy({ memo, destinationMuxedId }: PaymentReference): string[] {
  const named = [destinationMuxedId === null ? null : memoOfId(destinationMuxedId), memoNamedBy(memo)];
  return [...new Set(named.filter((each) => each !== null))];
}

function memoNamedBy(memo: CreditMemo): string | null {
  if (memo.type === 'id') return memoOfId(memo.text);
  return memo.type === 'text' && memo.valid ? normalizeMemo(memo.text) : null;
}

/** Why a payment names no link or checkout. A muxed destination that names none is no reference at
 *  all: the memo decides. */
export function unmatchedReason(memo: CreditMemo): UnmatchedReason {
  if (memo.type === 'none' || memo.text === '') return 'no_memo';
  return memo.type === 'text' || memo.type === 'id' ? 'unknown_memo' : 'unsupported_memo';
}
