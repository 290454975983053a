/** Tokens that let their holder in: 256 random bits, of which only hashes are stored. */
import { createHash } from 'node:crypto';
import type { Clock } from './clock.js';

/** 256 bits in base64url. */
const TOKEN = /^[\w-]{43}$/;

export const newToken = (clock: Pick<Clock, 'randomBytes'>): string => clock.randomBytes(32).toString('base64url');

export const isToken = (text: string): boolean => TOKEN.test(text);

/** SHA-256, hex. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');
