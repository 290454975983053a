/** Payment links. Memo and slug are unique over all accounts, by their names; a link with payments is never deleted. */
import mongoose from 'mongoose';
import type { LedgerStamp } from '../domain/terms.js';
import { type CountSegments, createCountSegments } from '../kit/count-segments.js';
import { makeIndexes, PART_OPTIONS, SCHEMA_OPTIONS, type Session, stampSchema } from '../kit/database.js';
import type { PageRequest } from '../kit/paging.js';
import { beginning, foldText, queryWords, startingWith } from '../kit/text-search.js';
import { createPayableDocuments, createPayableNames, type PayableNames } from './payable-documents.js';

export interface PaymentLinkDoc {
  _id: string;
  accountId: string;
  productId: string;
  /** The merchant's name for it. */
  name: string | null;
  slug: string;
  /** In canonical form: what `normalizeMemo` makes of what a payer types. */
  memo: string;
  active: boolean;
  /** Oldest first; the first has always been in force. */
  history: { from: LedgerStamp | null; terms: { active: boolean } }[];
  /** Payments that are not REJECTED. */
  paymentCount: number;
  /** All payments. */
  receivedCount: number;
  createdAt: Date;
  /** Number of refunds read before their payment. Missing means 0. */
  earlyRefunds?: number;
  /** Stored for searches, never read. */
  suffixes?: string[];
}

/** All suffixes of name, memo and slug, so that an index finds any part of them. */
export const suffixesOf = ({ name, memo, slug }: Pick<PaymentLinkDoc, 'name' | 'memo' | 'slug'>): string[] => [
  ...new Set([foldText(name ?? ''), foldText(memo), foldText(slug)].flatMap(suffixes)),
];

const suffixes = (text: string): string[] => {
  const characters = [...text];
  return characters.map((_, from) => characters.slice(from).join(''));
};

const paymentLinkSchema = new mongoose.Schema<PaymentLinkDoc>(
  {
    _id: String,
    accountId: String,
    productId: String,
    name: String,
    slug: String,
    memo: String,
    active: Boolean,
    history: [
      new mongoose.Schema(
        {
          from: { type: stampSchema, default: null },
          terms: new mongoose.Schema({ active: Boolean }, PART_OPTIONS),
        },
        PART_OPTIONS,
      ),
    ],
    paymentCount: Number,
    receivedCount: Number,
    createdAt: Date,
    earlyRefunds: Number,
    suffixes: { type: [String], select: false },
  },
  { ...SCHEMA_OPTIONS, collection: 'paymentLinks' },
);
paymentLinkSchema.index({ accountId: 1, _id: -1 });
paymentLinkSchema.index({ accountId: 1, active: 1, _id: -1 });
paymentLinkSchema.index({ accountId: 1, productId: 1, _id: -1 });
paymentLinkSchema.index({ accountId: 1, suffixes: 1 });

interface PaymentLinkFilter {
  productId?: string;
  active?: boolean;
  /** Links whose name, memo or slug contains `text`, or that are of one of these products. */
  search?: { text: string; productIds: readonly string[] };
}

export interface LinkCountChange {
  id: string;
  accountId: string;
  payments: number;
  received: number;
}

/** What works across accounts: for the hosted page, which finds links by slug, and the watcher, by memo. */
export type PaymentLinkStore = ReturnType<typeof createPaymentLinkStore>['system'];

const openLinks = (connection: mongoose.Connection, countSegments: CountSegments, names: PayableNames): Store =>
  createPayableDocuments<PaymentLinkDoc>(connection.model<PaymentLinkDoc>('PaymentLink', paymentLinkSchema), {
    listsOf: (accountId) => [listOf(accountId)],
    unpaid: { receivedCount: 0 },
    ...{ countSegments, names },
  });

type Store = ReturnType<typeof createPayableDocuments<PaymentLinkDoc>>;

export function createPaymentLinkStore(
  connection: mongoose.Connection,
  countSegments = createCountSegments(connection),
  names = createPayableNames(connection),
) {
  const store = openLinks(connection, countSegments, names);
  return {
    ensureIndexes: () => makeIndexes(store.model),
    forAccount: (accountId: string) => ({
      ...listsOf(store, accountId),
      ...makingOf(store, accountId),
      ...changesOf(store, accountId),
    }),
    system: {
      bySlug: store.bySlug,
      ofAccounts: store.byId.ofAccounts,
      countEarlyRefund: store.countEarlyRefund,
      ...ledgerSideOf(store),
    },
  };
}

const listOf = (accountId: string) => `paymentLinks:${accountId}`;

const listsOf = ({ model, countSegments, byId, page }: Store, accountId: string) => ({
  byId: (id: string, session?: Session) => byId.one(accountId, id, session),
  list({ productId, active, search }: PaymentLinkFilter, request: PageRequest) {
    const filter = {
      accountId,
      ...(productId === undefined ? {} : { productId }),
      ...(active === undefined ? {} : { active }),
    };
    if (!search)
      return countSegments.page<PaymentLinkDoc>(listOf(accountId), model, filter, { ...request, direction: -1 });
    // Each branch repeats the filter, so that each can use its index.
    const found = branchesOf(search).map((each) => ({ $and: [filter, each] }));
    return page({ $or: found }, { ...request, sort: { _id: -1 } });
  },
});

/** Alternatives by which a search finds a link. */
const branchesOf = ({ text, productIds }: NonNullable<PaymentLinkFilter['search']>) => {
  const words = queryWords(text);
  const hasOthers = words.length > 1 || ![' ', foldText(text)].includes(words[0]!);
  return [
    { suffixes: startingWith(text) },
    ...(hasOthers ? [{ $and: words.map((word) => ({ suffixes: beginning(word) })) }] : []),
    ...(words.length === 1 && text.startsWith('link_') ? [{ _id: startingWith(text) }] : []),
    ...(productIds.length > 0 ? [{ productId: { $in: [...productIds] } }] : []),
  ];
};

const makingOf = (store: Store, accountId: string) => ({
  /** Stores them as this account's. False when a memo or slug is taken: abort the transaction and draw new ones. */
  insert: (batch: readonly PaymentLinkDoc[], session: Session): Promise<boolean> =>
    store.insert(
      accountId,
      batch.map((link) => ({ ...link, accountId, suffixes: suffixesOf(link) })),
      session,
    ),
  removeUnpaid: async (id: string, session: Session): Promise<boolean> =>
    (await store.removeUnpaid(accountId, [id], session)) === 1,
  removeOfProduct: (productId: string, session: Session) => store.removeOfProduct(accountId, productId, session),
});

const changesOf = ({ collection, countSegments }: Store, accountId: string) => ({
  /** Null when the link already is `active` or does not exist. */
  async setActive(id: string, active: boolean, from: LedgerStamp, session: Session): Promise<PaymentLinkDoc | null> {
    const changed = await collection.findOneAndUpdate(
      { _id: id, accountId, active: !active },
      { $set: { active }, $push: { history: { from, terms: { active } } } },
      { returnDocument: 'after', projection: { suffixes: 0 }, session },
    );
    if (changed) await countSegments.touch(listOf(accountId), [id], 0, session);
    return changed;
  },
  /** @param link whose memo and slug never change */
  async rename(
    { _id, memo, slug }: Pick<PaymentLinkDoc, '_id' | 'memo' | 'slug'>,
    name: string | null,
    session: Session,
  ): Promise<void> {
    const renamed = { name, suffixes: suffixesOf({ name, memo, slug }) };
    await collection.updateOne({ _id, accountId }, { $set: renamed }, { session });
  },
});

const ledgerSideOf = ({ collection }: Store) => ({
  /** Adds to the counts of links, in the transaction that stores their payments. It also conflicts with their deletion. */
  async count(changes: readonly LinkCountChange[], session: Session): Promise<void> {
    if (changes.length === 0) return;
    await collection.bulkWrite(
      changes.map(({ id, accountId, payments, received }) => ({
        updateOne: {
          filter: { _id: id, accountId },
          update: { $inc: { paymentCount: payments, receivedCount: received } },
        },
      })),
      { session, ordered: false },
    );
  },
  /** The network was reset: only the times of stamps count for these products' links. */
  async forgetLedgers(productIds: readonly string[]): Promise<void> {
    await collection.updateMany(
      { productId: { $in: [...productIds] } },
      { $set: { 'history.$[marked].from.ledger': null } },
      { arrayFilters: [{ 'marked.from': { $ne: null } }] },
    );
  },
});
