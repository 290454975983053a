/** TypeIDs: `prefix_` + a UUIDv7 in base32. Text order is creation order, strictly so within
 *  one process. */
import { createHash } from 'node:crypto';
import { fromUUIDBytes, type TypeId, toUUIDBytes } from 'typeid-js';
import { v7 as uuidv7 } from 'uuid';
import type { Clock } from './clock.js';

// Tokens that let their holder in: 256 random bits, of which only hashes are stored.

/** 256 bits in base64url. */
const TOKEN = /^[\w-]{43}$/;

export const newToken = (clock: Pick<Clock, 'randomBytes'>): string => clock.randomBytes(32).toString('base64url');

export const isToken = (text: string): boolean => TOKEN.test(text);

/** SHA-256, hex. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

export const ID_PREFIXES = [
  'acct',
  'key',
  'user',
  'wallet',
  'prod',
  'link',
  'coup',
  'chk',
  'pay',
  'evt',
  'hook',
  'dlv',
  'rpl',
  'gap',
  'aud',
  'mail',
  'act',
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

export type NewId = (prefix: IdPrefix) => string;

const UUID_BYTES = 16;
/** Random bytes are drawn in this number: a call costs more than the bytes. */
const POOL_BYTES = 256 * UUID_BYTES;

/** Creates the ids of one process. Ids of the same millisecond count up, which keeps text order the
 *  order of creation. */
export function createIds(clock: Clock): NewId {
  let lastMs = 0;
  let seq = 0;
  let pool: Buffer = Buffer.alloc(0);
  const random = () => {
    if (pool.length === 0) pool = clock.randomBytes(POOL_BYTES);
    const bytes = pool.subarray(0, UUID_BYTES);
    pool = pool.subarray(UUID_BYTES);
    return bytes;
  };
  const uuid = new Uint8Array(UUID_BYTES);
  return (prefix) => {
    const nowMs = clock.nowMs();
    if (nowMs > lastMs) {
      lastMs = nowMs;
      // Top bit clear: room for 2^31 ids within one millisecond before the sequence would wrap.
      seq = random().readUInt32BE() >>> 1;
    } else {
      seq += 1;
    }
    return fromUUIDBytes(prefix, uuidv7({ msecs: lastMs, seq, random: random() }, uuid));
  };
}

export const isCheckoutId = (id: string): boolean => id.startsWith('chk_');

const MOMENT_BYTES = 6;
const MAX_MS = 2 ** (8 * MOMENT_BYTES) - 1;

/** The creation time in an id. */
export const createdAtOf = (id: string): Date =>
  new Date(Buffer.from(toUUIDBytes(id as TypeId<string>)).readUIntBE(0, MOMENT_BYTES));

/** The lowest id of a moment: ids of earlier moments sort before it, all others do not. */
export function firstIdOf(prefix: IdPrefix, moment: Date): string {
  const first = Buffer.alloc(UUID_BYTES);
  first.writeUIntBE(Math.min(MAX_MS, Math.max(0, moment.getTime())), 0, MOMENT_BYTES);
  return fromUUIDBytes(prefix, first);
}
