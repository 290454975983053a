/** Rates that accounts set themselves. They are only ever added: one that ends another says so, because payments are judged by what held before. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { Span } from '../domain/shown-rates.js';
import type { LedgerStamp } from '../domain/terms.js';
import { makeIndexes, removeSome, SCHEMA_OPTIONS, type Session, stampSchema } from '../kit/database.js';
import { heldWithin, NEWEST_FIRST } from '../kit/held.js';
import { createSharedRead } from '../kit/tick-loader.js';

export interface OwnRateDoc {
  _id: string;
  accountId: string;
  /** Key of the pair. */
  pair: string;
  currency: string;
  assetCode: string;
  assetIssuer: string | null;
  network: Network;
  /** Canonical decimal text; null ends the one before. */
  rate: string | null;
  /** By the clock of the process. */
  at: Date;
  /** Since when it is shown, as the ledger sees it. */
  from: LedgerStamp;
  /** Null without an end. */
  until: Date | null;
}

const ownRateSchema = new mongoose.Schema<OwnRateDoc>(
  {
    _id: String,
    accountId: String,
    pair: String,
    currency: String,
    assetCode: String,
    assetIssuer: { type: String, default: null },
    network: String,
    rate: { type: String, default: null },
    at: Date,
    from: stampSchema,
    until: { type: Date, default: null },
  },
  { ...SCHEMA_OPTIONS, collection: 'ownRates' },
);
ownRateSchema.index({ accountId: 1, pair: 1, 'from.at': 1, _id: 1 });

export type OwnRateStore = ReturnType<typeof createOwnRateStore>['system'];
export function createOwnRateStore(connection: mongoose.Connection) {
  const rates = connection.model<OwnRateDoc>('OwnRate', ownRateSchema);
  const collection = rates.collection as unknown as mongoose.mongo.Collection<OwnRateDoc>;
  const read = createSharedRead(
    ({ accountId, pair }) => `${accountId} ${pair}`,
    ({ accountId, pair }: Pick<OwnRateDoc, 'accountId' | 'pair'>) =>
      collection.findOne({ accountId, pair }, { sort: NEWEST_FIRST }),
  );
  /** With a session as it is in its transaction. */
  const newest = (accountId: string, pair: string, session?: Session) =>
    session ? collection.findOne({ accountId, pair }, { session, sort: NEWEST_FIRST }) : read({ accountId, pair });
  return {
    ensureIndexes: () => makeIndexes(rates),

    forAccount: (accountId: string) => ({
      /** Removes what ended so long ago that no payment is judged by it any more. @param keptSince what held then stays */
      async add(rate: Omit<OwnRateDoc, '_id' | 'accountId'>, keptSince: Date, session?: Session): Promise<void> {
        const _id = new mongoose.Types.ObjectId().toString();
        await collection.insertOne({ ...rate, _id, accountId }, { session });
        const { pair } = rate;
        const held = { accountId, pair, 'from.at': { $lte: keptSince } };
        const oldest = await collection.findOne(held, { session, sort: NEWEST_FIRST });
        if (!oldest) return;
        // Some each time: there may be very many after a long pause, and each addition adds but one.
        const ended = { accountId, pair, 'from.at': { $lt: oldest.from.at } };
        await removeSome(collection, ended, session, (ids) =>
          collection.deleteMany({ _id: { $in: [...ids] }, accountId }, { session }),
        );
      },
      /** Counts no further than `most`. */
      countSince: (pair: string, since: Date, most: number) =>
        collection.countDocuments({ accountId, pair, 'from.at': { $gt: since } }, { limit: most }),
      countPairs: async () => (await collection.distinct('pair', { accountId })).length,
      newest: (pair: string, session?: Session) => newest(accountId, pair, session),
      /** The newest of each pair, of which there are few; each may have a long history. */
      newestOfAll: async (): Promise<OwnRateDoc[]> => {
        const pairs = await collection.distinct('pair', { accountId });
        const found = await Promise.all(pairs.sort().map((pair) => newest(accountId, pair)));
        return found.flatMap((rate) => rate ?? []);
      },
    }),

    system: {
      newest: (accountId: string, pair: string) => newest(accountId, pair),
      /** Rates that held at some time of the span, oldest first. */
      held: ({ accountId, pair }: Pick<OwnRateDoc, 'accountId' | 'pair'>, span: Span, session?: Session) =>
        heldWithin(collection, { accountId, pair }, span, session),
    },
  };
}
