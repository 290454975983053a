/** One close: checks the waiting transactions again, applies them in order, and writes them
 *  together with the new head. */
import { type Applied, apply, check, type LedgerMoment, touchedKeys, touchedOffers } from './apply.js';
import { type AccountEntry, accountKey, createView, type Entry, sponsorsOf } from './entries.js';
import { type LedgerCounts, toCloseTime } from './headers.js';
import { applyInjection, type Injection, keysOfInjection, type Network } from './injection.js';
import { keysOfSeller } from './offers/manage.js';
import { keysOfClaim } from './operations/claimable-balance.js';
import type { Before } from './past.js';
import type { Settled, Waiting } from './queue.js';
import { type LedgerDocuments, toDocuments } from './records.js';
import type { ClosedLedger, Head, Store } from './store.js';
import { appliedOf, hashesOf } from './transaction-set.js';

export interface Close {
  ledger: ClosedLedger;
  /** Outcomes to report to the submitters once the ledger is written. */
  settlements: Settled[];
  /** The changed entries as they were before. */
  before: Before;
}

/** Keys that only an entry itself names: a removal frees its sponsors' reserves, a claim credits a
 *  claimant's trustline, a trade moves the seller's balances. */
function furtherKeys(entry: Entry | null): string[] {
  if (entry === null) return [];
  if (entry.kind === 'claimable_balance') return keysOfClaim(entry);
  const sponsors = sponsorsOf(entry).map(accountKey);
  return entry.kind === 'offer' ? [...keysOfSeller(entry), ...sponsors] : sponsors;
}

export async function prepareClose(
  store: Store,
  head: Head,
  atMs: number,
  batch: Waiting[],
  injections: Injection[],
  network: Network,
): Promise<Close> {
  const at: LedgerMoment = { sequence: head.sequence + 1, closeTime: toCloseTime(atMs) };
  const touched = [...batch.flatMap(({ envelope }) => touchedKeys(envelope)), ...injections.flatMap(keysOfInjection)];
  const keys = new Set(touched);
  const loaded = await store.loadEntries([...keys]);
  for (const offer of await store.loadOffers(batch.flatMap(({ envelope }) => touchedOffers(envelope)))) {
    loaded.set(offer._id, offer);
  }
  const more = [...loaded.values()].flatMap(furtherKeys).filter((key) => !loaded.has(key));
  if (more.length > 0) for (const [key, entry] of await store.loadEntries(more)) loaded.set(key, entry);
  const ledger = createView(loaded).child();
  const documents: LedgerDocuments[] = [];
  const counts: LedgerCounts = { successful: 0, failed: 0, operations: 0, setOperations: 0 };
  let fees = 0n;
  const settlements = batch.map(({ envelope }): Settled => {
    const rejected = check(envelope, (id) => ledger.account(id) as AccountEntry | null, at);
    if (rejected !== null) return { kind: 'rejected', outcome: rejected };
    const layer = ledger.child();
    const applied: Applied = apply(envelope, layer, at);
    layer.commit();
    fees += applied.feeCharged;
    documents.push(toDocuments(envelope, applied, at, documents.length + 1, network.contractIdOf));
    return { kind: 'closed', ledger: at.sequence, successful: applied.successful, outcome: applied };
  });
  for (const injection of injections) {
    documents.push(applyInjection(injection, ledger, at, documents.length + 1, network));
  }
  for (const { transaction, operations } of documents) {
    counts[transaction.successful ? 'successful' : 'failed'] += 1;
    counts.operations += transaction.successful ? operations.length : 0;
    counts.setOperations += operations.length;
  }
  const entries = new Map<string, Entry | null>();
  for (const [key, entry] of ledger.changes()) {
    entries.set(key, entry && { ...entry, modified: { ledger: at.sequence, time: at.closeTime } });
  }
  const before = new Map([...entries.keys()].map((key) => [key, loaded.get(key) ?? null]));
  const applied = appliedOf(documents.map(({ transaction }) => transaction));
  const hashes = hashesOf(store.newestHash(head), applied);
  return { ledger: { atMs, fees, counts, hashes, entries, documents }, settlements, before };
}
