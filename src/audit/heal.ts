/** Heals: credits of the ledger that should be payments and are none are recorded the ordinary way. */

import type { Network } from '../../contracts/networks.js';
import { isWatched } from '../domain/terms.js';
import type { Clock } from '../kit/clock.js';
import type { LedgerSession } from '../ledger/network-ledger.js';
import type { Credit, LedgerRecord } from '../ledger/records.js';
import type { Recorder } from '../payments/index.js';
import { type ParkedRecordStore, readRecords, type WalletDoc } from '../watching/index.js';

export interface HealDeps {
  parkedRecords: Pick<ParkedRecordStore, 'park' | 'openOf' | 'openIn'>;
  recorder: Pick<Recorder, 'record'>;
  /** Called when payments were stored. */
  eventsStored: () => void;
  /** Whether a payment of this size and age would have been removed again. */
  isRemoved: (credit: Pick<Credit, 'amount' | 'closedAt'>) => boolean;
  clock: Clock;
}

/** @returns what these operations paid to the wallet while it watched; what may have paid it and cannot be recorded is parked
 *  @throws LedgerUnavailable */
export async function creditsIn(
  { parkedRecords, isRemoved, clock }: HealDeps,
  wallet: WalletDoc,
  session: Pick<LedgerSession, 'complete'>,
  records: readonly LedgerRecord[],
): Promise<Credit[]> {
  if (records.length === 0) return [];
  const { network, address, windows } = wallet;
  const isOurs = async () => new Set([address]);
  const { credits, parked } = await readRecords({ network, session, clock, isOurs, historyOf: address }, records);
  await parkedRecords.park(parked);
  return credits.filter((credit) => credit.receiver === address && isWatched(windows, credit) && !isRemoved(credit));
}

export async function heal(
  { recorder, eventsStored }: HealDeps,
  { network, wallet }: { network: Network; wallet: WalletDoc },
  credits: readonly Credit[],
): Promise<void> {
  const stored = await recorder.record(network, { credits, only: wallet }, null);
  if (stored.length > 0) eventsStored();
}
