/** TypeIDs: `prefix_` + a UUIDv7 in base32. Text order is creation order, within one process strictly so. */
import { TypeID } from 'typeid-js';
import { v7 as uuidv7 } from 'uuid';
import type { Clock } from '../clock.js';

export const ID_PREFIXES = ['acct', 'key', 'wallet', 'prod', 'link', 'pay', 'evt', 'hook', 'dlv'] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

export type NewId = (prefix: IdPrefix) => string;

/** Ids of one process: those of the same millisecond count up, so that text order stays creation order. */
export function createIds(clock: Clock): NewId {
  let lastMs = 0;
  let seq = 0;
  return (prefix) => {
    const nowMs = clock.nowMs();
    if (nowMs > lastMs) {
      lastMs = nowMs;
      // Top bit clear: room to count 2^31 ids within one millisecond before the sequence would wrap.
      seq = clock.randomBytes(4).readUInt32BE() >>> 1;
    } else {
      seq += 1;
    }
    const uuid = uuidv7({ msecs: lastMs, seq, random: clock.randomBytes(16) });
    return TypeID.fromUUID(prefix, uuid).toString();
  };
}

const MAX_MS = 2 ** 48 - 1;

/** The moment in an id. */
export const createdAtOf = (id: string): Date =>
  new Date(Number.parseInt(TypeID.fromString(id).toUUID().replace('-', '').slice(0, 12), 16));

/** No id of this moment or later sorts before it, and every id of an earlier moment does. */
export function firstIdOf(prefix: IdPrefix, moment: Date): string {
  const ms = Math.min(MAX_MS, Math.max(0, moment.getTime()));
  const hex = ms.toString(16).padStart(12, '0');
  return TypeID.fromUUID(prefix, `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`).toString();
}

export const idPattern = (prefix: IdPrefix): RegExp => new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`);
