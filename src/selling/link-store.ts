/** Payment links. Memo and slug are unique over all accounts, by their names; a link with payments
 *  is never deleted. */
import type mongoose from 'mongoose';
import type { OrderForm } from '../../contracts/payment-links.js';
import type { LedgerStamp, LinkTerms } from '../domain/terms.js';
import { type DocOf, define, hidden, nullable, openCollection, optional, shape } from '../kit/collection.js';
import { type CountSegments, createCountSegments } from '../kit/count-segments.js';
import type { Session } from '../kit/database.js';
import type { PageRequest } from '../kit/paging.js';
import { beginning, foldText, queryWords, startingWith } from '../kit/text-search.js';
import { createPayableDocuments, createPayableNames, type PayableNames } from './payable-documents.js';

/** All suffixes of name, memo and slug, so that an index finds any part of them. */
export const suffixesOf = ({ name, memo, slug }: Pick<PaymentLinkDoc, 'name' | 'memo' | 'slug'>): string[] => [
  ...new Set([foldText(name ?? ''), foldText(memo), foldText(slug)].flatMap(suffixes)),
];

const suffixes = (text: string): string[] => {
  const characters = [...text];
  return characters.map((_, from) => characters.slice(from).join(''));
};

export const PAYMENT_LINKS = define(
  'paymentLinks',
  {
    _id: String,
    accountId: String,
    productId: String,
    /** The merchant's name for it. */
    name: nullable(String),
    slug: String,
    /** In canonical form: what `normalizeMemo` makes of what a payer types. */
    memo: String,
    active: Boolean,
    /** What an order link asks; null for a plain one. */
    order: nullable(shape<OrderForm>()),
    endsAt: nullable(Date),
    inactiveText: nullable(String),
    afterPayment: nullable({ message: nullable(String), url: nullable(String) }),
    maxPayments: nullable(Number),
    /** Oldest first; the first has always been in force. */
    history: [{ from: nullable(shape<LedgerStamp>()), terms: shape<LinkTerms>() }],
    /** Payments that are not REJECTED. */
    paymentCount: Number,
    /** All payments. */
    receivedCount: Number,
    /** COMPLETED payments. */
    completedCount: Number,
    /** Checkouts of an order link that are OPEN or PAID, or not yet proven unpaid. */
    orderCount: Number,
    createdAt: Date,
    /** Number of refunds read before their payment. Missing means 0. */
    earlyRefunds: optional(Number),
    /** Stored for searches, never read. */
    suffixes: hidden([String]),
  },
  [
    { key: { accountId: 1, _id: -1 } },
    { key: { accountId: 1, active: 1, _id: -1 } },
    { key: { accountId: 1, productId: 1, _id: -1 } },
    { key: { accountId: 1, suffixes: 1 } },
  ],
);

export interface PaymentLinkDoc extends DocOf<typeof PAYMENT_LINKS> {}

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
  completed: number;
}

/** What works across accounts: for the hosted page, which finds links by slug, and the watcher,
 *  by memo. */
export type PaymentLinkStore = ReturnType<typeof createPaymentLinkStore>['system'];

const openLinks = (connection: mongoose.Connection, countSegments: CountSegments, names: PayableNames): Store =>
  createPayableDocuments<PaymentLinkDoc>(openCollection<PaymentLinkDoc>(connection, PAYMENT_LINKS), {
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

const listsOf = ({ collection, countSegments, byId, page }: Store, accountId: string) => ({
  byId: (id: string, session?: Session) => byId.one(accountId, id, session),
  list({ productId, active, search }: PaymentLinkFilter, request: PageRequest) {
    const filter = {
      accountId,
      ...(productId === undefined ? {} : { productId }),
      ...(active === undefined ? {} : { active }),
    };
    if (!search)
      return countSegments.page<PaymentLinkDoc>(listOf(accountId), collection, filter, {
        ...request,
        direction: -1,
      });
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
  /** New ones of this account, with their names and their count. Storing them throws `Taken` when a
   *  memo or slug is: draw new ones. */
  insertsOf: (batch: readonly PaymentLinkDoc[]) =>
    store.insertsOf(
      accountId,
      batch.map((link) => ({ ...link, accountId, suffixes: suffixesOf(link) })),
    ),
  removeUnpaid: async (id: string, session: Session): Promise<boolean> =>
    (await store.removeUnpaid(accountId, [id], session)) === 1,
  removeOfProduct: (productId: string, session: Session) => store.removeOfProduct(accountId, productId, session),
});

const changesOf = ({ collection, countSegments }: Store, accountId: string) => ({
  /** Stores a changed link, in the transaction that read it. @param version its terms, where
   *  they change */
  async change(
    link: PaymentLinkDoc,
    fields: Partial<PaymentLinkDoc>,
    version: PaymentLinkDoc['history'][number] | null,
    session: Session,
  ): Promise<PaymentLinkDoc> {
    const changed = { ...link, ...fields };
    await collection.updateOne(
      { _id: link._id, accountId },
      {
        $set: { ...fields, suffixes: suffixesOf(changed) },
        ...(version && { $push: { history: version } }),
      },
      { session },
    );
    if (changed.active !== link.active) await countSegments.touch(listOf(accountId), [link._id], 0, session);
    return version ? { ...changed, history: [...link.history, version] } : changed;
  },
});

const ledgerSideOf = ({ collection }: Store) => ({
  /** Adds to the counts of links, in the transaction that stores their payments. It also conflicts
   *  with their deletion. */
  async count(changes: readonly LinkCountChange[], session: Session): Promise<void> {
    if (changes.length === 0) return;
    await collection.bulkWrite(
      changes.map(({ id, accountId, payments, received, completed }) => ({
        updateOne: {
          filter: { _id: id, accountId },
          update: { $inc: { paymentCount: payments, receivedCount: received, completedCount: completed } },
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
