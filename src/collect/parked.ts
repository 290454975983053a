/** Tries parked records again: after an upgrade that understands them, or when a source has what was missing. */
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import type { NetworkLedger } from '../ledger/network-ledger.js';
import { parseRecord } from '../ledger/parse.js';
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

/** Reads a parked record anew and stores the payments that it holds. Whatever of it is still not understood stays parked, or is parked in its place: a
 *  record that was parked as a whole may turn out to hold changes of which only some are understood.
 *  @throws LedgerUnavailable when something has to be fetched and cannot be; then nothing is changed. */
export async function retryParked(
  deps: {
    ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>>;
    wallets: Pick<WalletStore, 'at'>;
    parkedRecords: Pick<ParkedRecordStore, 'park' | 'remove'>;
    recorder: Pick<Recorder, 'record'>;
    clock: Clock;
  },
  parked: ParkedRecordDoc,
): Promise<ParkedRetry> {
  const { ledgers, wallets, parkedRecords, recorder, clock } = deps;
  const { network } = parked;
  const isOurs = async (addresses: readonly string[]) =>
    new Set((await wallets.at(network, addresses)).map((wallet) => wallet.address));
  const raw: unknown = JSON.parse(parked.raw);
  const reading = await readRecords(
    { network, session: ledgers.get(network)!.session(), clock, isOurs, ofOneAddress: true, keepAll: true },
    [{ raw, outcome: parseRecord(raw, networkInfo[network].passphrase) }],
  );
  // Of a record with several balance changes the others were stored before, and are known by their keys.
  const stored = await recorder.record(network, reading, null);
  const again = reading.parked.filter(({ _id }) => isPartOf(_id, parked._id));
  await parkedRecords.park(again);
  if (!again.some(({ _id }) => _id === parked._id)) await parkedRecords.remove(parked._id);
  return { payments: stored.length, reason: again[0]?.reason ?? null };
}

/** Of a change that was parked by itself only that change matters; of a whole record everything does. */
const isPartOf = (id: string, parkedId: string): boolean => parkedId.split(':').length < 3 || id === parkedId;
