/** Operations that `hide` faults omit from lists. */
import type { LedgerDocuments, OperationDocument } from './records.js';
import { ledgerStart } from './toid.js';

export type Place = 'accounts' | 'feed' | 'rpc';
export type ListKind = 'payments' | 'operations' | 'effects';
/** Ids of operations. */
export type HiddenIds = readonly bigint[];

export interface HideFault {
  id: number;
  operation?: string;
  account?: string;
  count?: number;
  from: Place[];
  lists: ListKind[];
}

/** `faults` returns those in force. An account's hidden payments stay hidden while their fault is
 *  in force. */
export function createHiding(faults: () => HideFault[]) {
  /** By fault, the payments hidden so far. */
  const hiddenBy = new Map<number, bigint[]>();

  const idsOf = (fault: HideFault): bigint[] =>
    fault.operation === undefined ? (hiddenBy.get(fault.id) ?? []) : [BigInt(fault.operation)];

  return {
    /** The number of operations that a fault hides. */
    count: (id: number): number => faults().flatMap((fault) => (fault.id === id ? idsOf(fault) : [])).length,

    hidden: (place: Place, list: ListKind): HiddenIds =>
      faults().flatMap((fault) =>
        // Stellar RPC's events are not divided into lists.
        fault.from.includes(place) && (place === 'rpc' || fault.lists.includes(list)) ? idsOf(fault) : [],
      ),

    /** Chooses the payments to hide in a ledger that is about to be written. After a failed write
     *  it is called again, perhaps with other payments. */
    note(sequence: number, documents: LedgerDocuments[]): void {
      const operations = documents.flatMap((one) => one.operations);
      const inForce = new Set(faults().map(({ id }) => id));
      for (const id of hiddenBy.keys()) if (!inForce.has(id)) hiddenBy.delete(id);
      for (const { id, account, count = Number.POSITIVE_INFINITY } of faults()) {
        if (account === undefined) continue;
        const earlier = (hiddenBy.get(id) ?? []).filter((operation) => operation < ledgerStart(sequence));
        const payments = operations.filter((operation) => paysTo(operation, account)).map(({ _id }) => _id);
        hiddenBy.set(id, [...earlier, ...payments.slice(0, Math.max(0, count - earlier.length))]);
      }
    },
  };
}

function paysTo({ successful, isPayment, record }: OperationDocument, account: string): boolean {
  if (!successful || !isPayment) return false;
  const changes = Array.isArray(record.asset_balance_changes) ? record.asset_balance_changes : [];
  const receivers = record.type === 'account_merge' ? [record.into] : [record.to, record.account];
  return [...receivers, ...changes.map((change: { to?: unknown }) => change.to)].includes(account);
}
