/** Finds events, as far as the faults in force show them. */
import type { Filter } from 'mongodb';
import type { Faults } from '../faults.js';
import type { Store } from '../store.js';
import type { EventDocument } from './events.js';

export interface EventRange {
  /** Event ids: from inclusive, after and before exclusive. */
  from?: string;
  after?: string;
  before: string;
  limit: number;
}

export type EventReader = ReturnType<typeof createEventReader>;

export function createEventReader(store: Store, faults: Faults) {
  const visible = (): Filter<EventDocument> => {
    const hidden = faults.hidden('rpc', 'operations');
    return {
      ...(faults.isBlind() ? { isClassic: false } : {}),
      ...(hidden.length > 0 ? { operation: { $nin: [...hidden] } } : {}),
    };
  };

  return {
    find: async (query: Filter<EventDocument>, { from, after, before, limit }: EventRange) => {
      const _id = { ...(after === undefined ? { $gte: from ?? '' } : { $gt: after }), $lt: before };
      const found = await store.events
        .find({ $and: [query, visible(), { _id }] })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray();
      return found.map(faults.undecodable.event);
    },

    /** Events of transactions, by TOID, each list in order. */
    async ofTransactions(ids: bigint[]): Promise<Map<bigint, EventDocument[]>> {
      const found = await store.events
        .find({ $and: [{ transaction: { $in: ids } }, visible()] })
        .sort({ _id: 1 })
        .toArray();
      const byTransaction = new Map<bigint, EventDocument[]>(ids.map((id) => [id, []]));
      for (const event of found) byTransaction.get(event.transaction)!.push(faults.undecodable.event(event));
      return byTransaction;
    },
  };
}
