/** Tries parked records again: after an upgrade that understands them, or when Horizon can tell what was missing. */
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { parseRecord } from '../ledger/horizon/record.js';
import type { Horizon } from '../ledger/horizon/source.js';
import type { ParkedRecordDoc, ParkedRecordStore } from '../stores/parked-records.js';
import type { WalletStore } from '../stores/wallets.js';
import { readRecords } from './reading.js';
import type { Recorder } from './recorder.js';

export interface ParkedRetry {
  /** Payments that it turned out to hold and that were not stored before. */
  payments: number;
  /** Why it stays parked; null when it does not. */
  reason: string | null;
}

/** @throws HorizonUnavailable when something has to be fetched and cannot be. */
export async function retryParked(
  deps: {
    horizonOf: (network: Network) => Horizon;
    wallets: WalletStore;
    parkedRecords: ParkedRecordStore;
    recorder: Recorder;
    clock: Clock;
  },
  parked: ParkedRecordDoc,
): Promise<ParkedRetry> {
  const { horizonOf, wallets, parkedRecords, recorder, clock } = deps;
  const { network } = parked;
  const isOurs = async (addresses: readonly string[]) =>
    new Set((await wallets.at(network, addresses)).map((wallet) => wallet.address));
  const raw: unknown = JSON.parse(parked.raw);
  const reading = await readRecords(
    { network, session: horizonOf(network).session(), clock, isOurs, ofOneAddress: true },
    [{ raw, outcome: parseRecord(raw) }],
  );
  // Of a record with several balance changes the others were stored before, and are known by their keys.
  const stored = await recorder.record(network, reading.credits, null);
  const again = reading.parked.find((each) => each._id === parked._id);
  if (!again) await parkedRecords.remove(parked._id);
  return { payments: stored.length, reason: again?.reason ?? null };
}
