/** What the stores of links and checkouts share: a document is made and removed together with its names and the counts of its lists, in the caller's transaction. */
import type mongoose from 'mongoose';
import { createById } from '../kit/by-id.js';
import type { CountSegments } from '../kit/count-segments.js';
import { isDuplicateKey, orAlreadyMade, removeSome, type Session } from '../kit/database.js';
import { createPages } from '../kit/paging.js';
import type { Named, PayableNames } from './payable-names.js';

/** The fields that links and checkouts share here. */
interface PayableDoc extends Named {
  earlyRefunds?: number;
}

export interface PayableDocumentsOptions {
  /** Lists of an account's count segments: first the one of all documents, then those of some. */
  listsOf: (accountId: string) => readonly [string, ...string[]];
  /** Condition for a document without payments. */
  unpaid: object;
  countSegments: CountSegments;
  names: PayableNames;
  /** What else follows from the removal of documents; in its transaction, before it. */
  onRemoval?: (ids: readonly string[], accountId: string, session: Session) => Promise<void>;
}

export function createPayableDocuments<Doc extends PayableDoc>(
  model: mongoose.Model<Doc>,
  options: PayableDocumentsOptions,
) {
  const { listsOf, unpaid, countSegments, names, onRemoval } = options;
  const named = model.collection as unknown as mongoose.mongo.Collection<PayableDoc>;
  const byId = createById<Doc>(model);

  async function removeUnpaid(accountId: string, ids: readonly string[], session: Session): Promise<number> {
    const filter = { _id: { $in: [...ids] }, accountId, ...unpaid };
    const found = await named.find(filter, { session, projection: { memo: 1, slug: 1 } }).toArray();
    if (found.length === 0) return 0;
    await onRemoval?.(
      found.map(({ _id }) => _id),
      accountId,
      session,
    );
    await named.deleteMany(filter, { session });
    await names.release(accountId, found, session);
    for (const list of listsOf(accountId)) await countSegments.touch(list, ids, 0, session);
    return found.length;
  }

  return {
    ...{ model, byId, countSegments },
    collection: model.collection as unknown as mongoose.mongo.Collection<Doc>,
    page: createPages<Doc>(model),

    async bySlug(slug: string): Promise<Doc | null> {
      const found = await names.bySlug(slug);
      return found && byId.one(found.accountId, found.payableId);
    },

    /** Stores documents of one account. False when a memo or slug is taken: abort the transaction and draw new ones. */
    async insert(accountId: string, docs: readonly Doc[], session: Session): Promise<boolean> {
      try {
        await orAlreadyMade(named.insertMany([...docs], { session }));
        await names.take(docs, session);
        const ids = docs.map(({ _id }) => _id);
        await countSegments.touch(listsOf(accountId)[0], ids, ids.length, session);
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },

    /** Removes those of these that have no payments. @returns their number */
    removeUnpaid,
    /** Removes some unpaid ones of a deleted product. @returns whether none is left */
    removeOfProduct: (accountId: string, productId: string, session: Session): Promise<boolean> =>
      removeSome(named, { accountId, productId, ...unpaid }, session, (ids) => removeUnpaid(accountId, ids, session)),

    /** Call in the transaction that found no payment for the refund: it conflicts with every one that gives the document a payment. */
    async countEarlyRefund({ _id, accountId }: Pick<Doc, '_id' | 'accountId'>, session: Session): Promise<void> {
      await named.updateOne({ _id, accountId }, { $inc: { earlyRefunds: 1 } }, { session });
    },
  };
}
