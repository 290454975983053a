/** Ledger records that could not be recorded yet, each kept until it is recorded or the operator
 *  dismisses it. Such a record may be money: while it is open, nothing that it may have paid counts
 *  as unpaid. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { type Collection, type DocOf, define, nullable, openCollection, optional, text } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';

/** Stands for any wallet among those that a parked record may have paid: the record does
 *  not tell. */
export const ANY_WALLET = '*';
const open = { partialFilterExpression: { dismissed: null } };

const PARKED_RECORDS = define(
  'parkedRecords',
  {
    /** `NETWORK:` and the record's paging token, or its hash without one; for a single balance
     *  change also `:` and its index. */
    _id: String,
    network: text<Network>(),
    reason: String,
    /** The record, as JSON text: it may be anything. */
    raw: String,
    /** When it was parked, by the clock of the host that read it. */
    createdAt: Date,
    /** Addresses of wallets here that it may have paid, or `ANY_WALLET`. Empty for what can only be
     *  a refund. */
    concerns: [String],
    /** It may pay an issuer in its own asset, which changes no balance. Missing for others. */
    mayPayIssuer: optional(Boolean),
    /** Null when unknown. */
    ledger: nullable(Number),
    /** Its ledger closed no earlier. */
    closedFrom: Date,
    /** It cannot have paid what was made after this moment, by any clock here. */
    payableUntil: Date,
    /** Number of failed tries. */
    tries: Number,
    nextTryAt: Date,
    /** Settled by the operator; null while it is open. */
    dismissed: nullable({ at: Date, why: String }),
    /** A dismissal in progress: accounts up to `toldTo` were told; the record is still open.
     *  Missing before. */
    dismissing: optional(nullable({ why: String, toldTo: String })),
    /** When the network was last seen before its reset. Missing unless the record is from
     *  before one. */
    lostSince: optional(nullable(Date)),
  },
  [
    { key: { createdAt: 1, _id: 1 } },
    { key: { network: 1, nextTryAt: 1 }, ...open, name: 'tries' },
    { key: { network: 1, tries: 1, nextTryAt: 1 }, ...open, name: 'turns' },
    // Covers the question whether an open record may have paid something.
    { key: { network: 1, concerns: 1, payableUntil: 1, closedFrom: 1 }, ...open, name: 'spans' },
    { key: { network: 1, ledger: 1 }, ...open, name: 'places' },
  ],
);

export interface ParkedRecordDoc extends DocOf<typeof PARKED_RECORDS> {}

/** Margin for the differences between hosts' clocks and ledger times. */
const CLOCKS_DIFFER_MS = 300_000;
const LOST_AT_ONCE = 100;
/** Counting of one wallet's open records stops here. */
const MOST_COUNTED = 10_000;

/** A wallet's address, and the time in which a payment may have arrived. */
interface PayableSpan {
  network: Network;
  address: string;
  from: Date;
  until: Date;
}

/** A due record without its content. */
export type DueRecord = Pick<ParkedRecordDoc, '_id' | 'concerns' | 'tries'>;

export type ParkedRecordStore = ReturnType<typeof createParkedRecordStore>;

export function createParkedRecordStore(connection: mongoose.Connection) {
  const collection = openCollection<ParkedRecordDoc>(connection, PARKED_RECORDS);
  const opened: Opened = { collection, page: createPages(collection) };

  return {
    /** An existing one stays as it is, and now concerns these wallets too. */
    async park(batch: readonly ParkedRecordDoc[], session?: Session): Promise<void> {
      if (batch.length === 0) return;
      await collection.bulkWrite(
        batch.map(({ _id, concerns, ...rest }) => ({
          updateOne: {
            filter: { _id },
            update: { $setOnInsert: rest, $addToSet: { concerns: { $each: concerns } } },
            upsert: true,
          },
        })),
        { ordered: true, ...(session ? { session } : {}) },
      );
    },
    ...createOpenRecords(opened),
    ...createTries(opened),
    async remove(id: string, session?: Session): Promise<void> {
      await collection.deleteOne({ _id: id }, session ? { session } : {});
    },
    ...createDismissals(opened),
    /** Call after a reset: parked records of the old network can no longer be fetched, and their
     *  ids are used again. Repeatable. */
    async lose(network: Network, lostSince: Date, dismissed: { at: Date; why: string }): Promise<void> {
      // In the order of their ids, so that none comes twice.
      for (let after = `${network}:`; ; ) {
        const filter = { _id: { $gt: after, $lt: `${network};` }, lostSince: null };
        const batch = await collection.find(filter, { sort: { _id: 1 }, limit: LOST_AT_ONCE }).toArray();
        if (batch.length === 0) return;
        after = batch.at(-1)!._id;
        await collection.bulkWrite(
          batch.map(({ _id, ...rest }) => ({
            updateOne: {
              filter: { _id: `${_id}@${lostSince.getTime()}` },
              update: { $setOnInsert: { ...rest, dismissed: rest.dismissed ?? dismissed, lostSince } },
              upsert: true,
            },
          })),
          { ordered: false },
        );
        await collection.deleteMany({ _id: { $in: batch.map(({ _id }) => _id) } });
      }
    },
  };
}

interface Opened {
  collection: Collection<ParkedRecordDoc>;
  page: ReturnType<typeof createPages<ParkedRecordDoc>>;
}

const concerning = (network: Network, address: string) => ({
  network,
  concerns: { $in: [ANY_WALLET, address] },
  dismissed: null,
});
/** Records that may have paid what was made at this moment. */
const payableAt = (from: Date) => ({ payableUntil: { $gte: new Date(from.getTime() - CLOCKS_DIFFER_MS) } });

/** Queries for open records. */
const createOpenRecords = ({ collection, page }: Opened) => ({
  /** Open or dismissed records. */
  list: ({ dismissed = false, ...request }: PageRequest & { dismissed?: boolean }) =>
    page({ dismissed: dismissed ? { $ne: null } : null }, { ...request, sort: { createdAt: 1, _id: 1 } }),
  byId: (id: string) => collection.findOne({ _id: id }),
  /** Open ones of these networks. */
  count: (networks: readonly Network[]) =>
    collection.countDocuments({ network: { $in: [...networks] }, dismissed: null }),
  /** Open ones of a network that were parked before a moment. */
  countSince: (network: Network, before: Date) =>
    collection.countDocuments({ network, dismissed: null, createdAt: { $lt: before } }, { limit: MOST_COUNTED }),
  /** Those of these networks that have open ones: rarely any. */
  async networksWithOpen(networks: Iterable<Network>): Promise<Set<Network>> {
    const found = new Set<Network>();
    for (const network of networks)
      if (await collection.findOne({ network, dismissed: null }, { projection: { _id: 1 } })) found.add(network);
    return found;
  },
  /** Those of these that are open. */
  async openOf(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const found = await collection
      .find({ _id: { $in: [...ids] }, dismissed: null }, { projection: { _id: 1 } })
      .toArray();
    return found.map(({ _id }) => _id);
  },
  /** Open ones of these ledgers that may have paid a wallet. */
  async openIn(network: Network, address: string, ledgers: readonly number[]): Promise<string[]> {
    const filter = { ...concerning(network, address), ledger: { $in: [...ledgers] } };
    const found = await collection.find(filter, { projection: { _id: 1 } }).toArray();
    return found.map(({ _id }) => _id);
  },
  /** Open ones that may have paid a wallet in its own asset.
   *  @param after the ledger before the first
   *  @param upTo the last ledger
   *  @param isIssuer also those that do not tell whom they pay */
  async toIssuerIn(
    network: Network,
    address: string,
    { after, upTo, isIssuer }: { after: number; upTo: number; isIssuer: boolean },
  ): Promise<string[]> {
    const named = isIssuer ? concerning(network, address) : { network, concerns: address, dismissed: null };
    // One whose ledger is unknown may be of any.
    const places = [{ ledger: { $gt: after, $lte: upTo } }, { ledger: null }];
    const filter = { ...named, mayPayIssuer: true, $or: places };
    const found = await collection.find(filter, { projection: { _id: 1 }, limit: MOST_COUNTED }).toArray();
    return found.map(({ _id }) => _id);
  },
  /** Number of open ones that may have paid a wallet. @param from when it was made */
  countFor: (network: Network, address: string, from: Date): Promise<number> =>
    collection.countDocuments({ ...concerning(network, address), ...payableAt(from) }, { limit: MOST_COUNTED }),
  /** Whether an open one may have paid something within a span. */
  async mayHavePaid({ network, address, from, until }: PayableSpan): Promise<boolean> {
    const filter = { ...concerning(network, address), ...payableAt(from), closedFrom: { $lt: until } };
    return (await collection.findOne(filter, { projection: { _id: 1 } })) !== null;
  },
});

/** Dismissals, told to accounts step by step; each step is taken once. */
const createDismissals = ({ collection }: Opened) => ({
  /** One that was begun before continues as it was. */
  async beginDismissal(id: string, why: string): Promise<void> {
    const filter = { _id: id, dismissed: null, dismissing: null };
    await collection.updateOne(filter, { $set: { dismissing: { why, toldTo: '' } } });
  },
  async tellDismissal(id: string, from: string, to: string, session: Session): Promise<boolean> {
    const filter = { _id: id, dismissed: null, 'dismissing.toldTo': from };
    const { matchedCount } = await collection.updateOne(filter, { $set: { 'dismissing.toldTo': to } }, { session });
    return matchedCount === 1;
  },
  async endDismissal(
    id: string,
    from: string,
    dismissed: { at: Date; why: string },
    session: Session,
  ): Promise<boolean> {
    const filter = { _id: id, dismissed: null, 'dismissing.toldTo': from };
    const ended = { $set: { dismissed }, $unset: { dismissing: 1 } } as const;
    const { matchedCount } = await collection.updateOne(filter, ended, { session });
    return matchedCount === 1;
  },
});

/** The schedule of tries. */
const createTries = ({ collection }: Opened) => ({
  /** Due records, those tried least first. */
  due: (network: Network, now: Date, limit: number): Promise<DueRecord[]> =>
    collection
      .find(
        { network, dismissed: null, nextTryAt: { $lte: now } },
        { projection: { _id: 1, concerns: 1, tries: 1 }, sort: { tries: 1, nextTryAt: 1 }, limit },
      )
      .toArray(),
  /** When the next one is due; null when none is open. */
  async nextTryAt(network: Network): Promise<Date | null> {
    const [next] = await collection
      .find({ network, dismissed: null }, { projection: { nextTryAt: 1 }, sort: { nextTryAt: 1 }, limit: 1 })
      .toArray();
    return next?.nextTryAt ?? null;
  },
  /** Notes a failed try. */
  async noteTry(id: string, changes: Partial<Pick<ParkedRecordDoc, 'reason' | 'concerns' | 'nextTryAt'>>) {
    await collection.updateOne({ _id: id, dismissed: null }, { $set: changes, $inc: { tries: 1 } });
  },
});
