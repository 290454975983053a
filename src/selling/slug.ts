/** Slugs of hosted pages: 12 characters of 5 random bits each, so that pages cannot be found by guessing. */
import type { Clock } from '../kit/clock.js';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 12;

export const createSlug = (clock: Pick<Clock, 'randomBytes'>): string =>
  [...clock.randomBytes(LENGTH)].map((byte) => ALPHABET[byte & 31]).join('');
