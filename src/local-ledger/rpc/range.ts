/** The ledgers that Stellar RPC shows, and the pages of its methods. */
import { z } from 'zod';
import type { Ledger } from '../ledger.js';
import { INVALID_REQUEST, invalidParams, RpcError } from './error.js';
import { formatSchema } from './piece.js';

export interface LedgerRange {
  latest: number;
  oldest: number;
  /** Seconds since the epoch. */
  latestCloseTime: number;
  oldestCloseTime: number;
}

export const closeTimeOf = (record: Record<string, unknown>): number => Date.parse(String(record.closed_at)) / 1000;

export async function ledgerRange({ rpcHistory }: Ledger): Promise<LedgerRange> {
  const { latest, elder } = rpcHistory.visible();
  const [newest, oldest] = [await rpcHistory.ledger(latest), await rpcHistory.ledger(elder)];
  // A reset may come between the two reads.
  if (newest === null || oldest === null) throw new RpcError(INVALID_REQUEST, 'the ledgers are being reset');
  return { latest, oldest: elder, latestCloseTime: closeTimeOf(newest), oldestCloseTime: closeTimeOf(oldest) };
}

/** Ledgers that are too old and too new get the same answer. */
export function refuseOutside(startLedger: number, { oldest, latest }: LedgerRange): void {
  if (startLedger >= oldest && startLedger <= latest) return;
  throw new RpcError(INVALID_REQUEST, `startLedger must be within the ledger range: ${oldest} - ${latest}`);
}

const uint32 = z.number().int().min(0).max(0xffff_ffff);

export const pageSchema = z.object({
  startLedger: uint32.nullish(),
  endLedger: uint32.nullish(),
  pagination: z.object({ cursor: z.string().nullish(), limit: uint32.nullish() }).nullish(),
  xdrFormat: formatSchema,
});

export interface Page {
  /** 0 with a cursor. */
  startLedger: number;
  /** Exclusive; 0 for none. */
  endLedger: number;
  cursor: string | null;
  limit: number;
}

export function toPage(params: z.output<typeof pageSchema>, limits: { usual: number; most: number }): Page {
  const [startLedger, endLedger] = [params.startLedger ?? 0, params.endLedger ?? 0];
  const cursor = params.pagination?.cursor || null;
  const limit = params.pagination?.limit || limits.usual;
  if (cursor !== null && (startLedger !== 0 || endLedger !== 0)) {
    throw invalidParams('ledger ranges and cursor cannot both be set');
  }
  if (cursor === null && startLedger === 0) throw invalidParams('startLedger must be positive');
  if (limit > limits.most) throw invalidParams(`limit must not exceed ${limits.most}`);
  return { startLedger, endLedger, cursor, limit };
}
