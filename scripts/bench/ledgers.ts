/** Realistic made-up ledgers for a stand-in for Horizon. Only the newest `keep` ledgers
 *  are kept. */
import { Memo } from '@stellar/stellar-sdk';
import { payment, toid } from '../../test/helpers/horizon-records.js';

export interface Closed {
  sequence: number;
  /** Time at which it became visible, ms since the epoch. */
  atMs: number;
  /** Hash of its first transaction to one of our addresses; null when there is none. */
  hash: string | null;
}

interface Kept {
  toid: bigint;
  to: string;
  sequence: number;
  nth: number;
  closedAt: string;
}

const FIRST = 1000;

export type Ledgers = ReturnType<typeof createLedgers>;

/** @param memo of every payment @param keep number of ledgers */
export function createLedgers({ passphrase, memo, keep }: { passphrase: string; memo: string; keep: number }) {
  let newest = { sequence: FIRST, closedAt: new Date(0).toISOString() };
  let kept: Kept[] = [];

  const sample = payment({ to: 'TO' }, { memo: Memo.text(memo), ledger: FIRST });
  const parts = new RegExp(`(${sample.transaction_hash}|${sample.id}|"TO"|2026-01-02T03:04:05Z)`);
  const template = JSON.stringify(sample).split(parts);

  const hashOf = ({ sequence, nth }: Pick<Kept, 'sequence' | 'nth'>) =>
    (BigInt(sequence) * 1_000_000n + BigInt(nth)).toString(16).padStart(64, '0');

  function show(record: Kept): string {
    const values = new Map<string, string>([
      [String(sample.transaction_hash), hashOf(record)],
      [String(sample.id), record.toid.toString()],
      ['"TO"', JSON.stringify(record.to)],
      ['2026-01-02T03:04:05Z', `${record.closedAt.slice(0, 19)}Z`],
    ]);
    return template.map((part) => values.get(part) ?? part).join('');
  }

  /** Index of the first record after the cursor, by binary search: records are sorted by id. */
  function after(cursor: bigint): number {
    let [low, high] = [0, kept.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (kept[middle]!.toid <= cursor) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    /** @param receivers of its payments @param ours index of the payment whose hash is returned */
    close(atMs: number, receivers: readonly string[], ours: number | null = null): Closed {
      const closedAt = new Date(atMs).toISOString();
      const sequence = newest.sequence + 1;
      newest = { sequence, closedAt };
      for (const [nth, to] of receivers.entries()) {
        kept.push({ toid: BigInt(toid(sequence, nth + 1, 1)), to, sequence, nth, closedAt });
      }
      if (sequence % keep === 0) kept = kept.filter((each) => each.sequence > sequence - keep);
      return { sequence, atMs, hash: ours === null ? null : hashOf({ sequence, nth: ours }) };
    },
    /** The body of Horizon's answer; null for 404. */
    answer(path: string, query: URLSearchParams): string | null {
      if (path === '/') {
        return JSON.stringify({
          history_latest_ledger: newest.sequence,
          history_latest_ledger_closed_at: newest.closedAt,
          history_elder_ledger: 1,
          network_passphrase: passphrase,
        });
      }
      const [, kind, id, rest] = path.split('/');
      if (kind === 'ledgers') {
        const sequence = Number(id);
        return JSON.stringify({ sequence, hash: sequence.toString(16).padStart(64, '0'), closed_at: newest.closedAt });
      }
      const account = kind === 'accounts' && rest === 'payments' ? id : undefined;
      if (!account && path !== '/payments') return null;
      const limit = Number(query.get('limit') ?? 10);
      const found: string[] = [];
      for (let at = after(BigInt(query.get('cursor') ?? '0')); at < kept.length && found.length < limit; at++) {
        if (!account || kept[at]!.to === account) found.push(show(kept[at]!));
      }
      return `{"_links":{},"_embedded":{"records":[${found.join(',')}]}}`;
    },
  };
}

/** The kind of a request. */
export function kindOf(path: string): string {
  if (path === '/') return 'root';
  return path === '/payments' ? 'feed' : path.split('/')[1]!;
}

/** Time to the next ledger: normally distributed, at least half a second. */
export const nextBeatMs = (beatMs: number, spreadMs: number, random: () => number): number =>
  Math.max(500, beatMs + spreadMs * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()));
