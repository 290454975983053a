/** API keys: `sk_` + 256 random bits in base62, always 46 characters. A key is shown once; only its
 *  SHA-256 and its mask are stored. */
import { createHash } from 'node:crypto';
import type { Clock } from '../kit/clock.js';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 is the first power of 62 above 2^256. */
const DIGITS = 43;
const FORM = new RegExp(`^sk_[0-9A-Za-z]{${DIGITS}}$`);

/** How long, in real time, a process may rely on what it knows of a key. Revoking or replacing a
 *  key answers only after this time, when no process accepts it any more. */
export const KEY_REMEMBERED_MS = 250;

export function newApiKey(clock: Pick<Clock, 'randomBytes'>): string {
  let rest = BigInt(`0x${clock.randomBytes(32).toString('hex')}`);
  let digits = '';
  for (; rest > 0n; rest /= 62n) digits = ALPHABET[Number(rest % 62n)] + digits;
  return `sk_${digits.padStart(DIGITS, '0')}`;
}

/** Whether the text has the form of a key; other text is not looked up. */
export const isApiKey = (text: string): boolean => FORM.test(text);

/** Hex. Without salt or stretching: 256 random bits cannot be guessed. */
export const hashApiKey = (key: string): string => createHash('sha256').update(key).digest('hex');
