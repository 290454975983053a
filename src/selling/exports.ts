/** Exports lists for the API and the cli, line by line, as of the moment when the export began. */

import type { downloads } from '../../contracts/exports.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import type { UserDoc } from '../accounts/index.js';
import { rateLimited } from '../kit/api-error.js';
import { calendarNamed, momentIn } from '../kit/calendar.js';
import type { Caller } from '../kit/caller.js';
import type { Database, Session } from '../kit/database.js';
import {
  loadPayables,
  type PaymentDoc,
  filterOf as paymentFilterOf,
  refundedValueOf,
  withProducts,
} from '../payments/index.js';
import type { ForAccount } from '../stores.js';
import type { CheckoutDoc } from './checkout-document.js';
import { toCheckout } from './checkout-resource.js';
import { filterOf as checkoutFilterOf } from './checkouts.js';
import { checkoutLines, type Lines, type PaymentExtras, paymentLines, type Seller } from './export.js';

type Downloads = typeof downloads;

/** A file being written. */
export interface Download {
  contentType: string;
  fileName: string;
  /** Chunks of some hundred lines. `return` ends the reading. @throws when MongoDB no longer has that moment */
  chunks: AsyncIterable<{ text: string; rows: number }>;
}

/** By the operations in `contracts/exports.ts`. */
export interface ExportService {
  payments: {
    export(caller: Pick<Caller, 'accountId'>, input: ParsedInputOf<Downloads['payments']['export']>): Download;
  };
  checkouts: {
    export(caller: Pick<Caller, 'accountId'>, input: ParsedInputOf<Downloads['checkouts']['export']>): Download;
  };
}

/** Exports running in this process: each holds a moment of the database. */
const MOST_IN_ALL = 50;
const RETRY_AFTER_S = 5;
/** Remembered products of one export, and as many wallets and users. */
const MOST_REMEMBERED = 500;

export function createExportService(deps: {
  forAccount: ForAccount<'payments' | 'checkouts' | 'products' | 'wallets' | 'users'>;
  snapshot: Database['snapshot'];
  publicUrl: string;
  /** Running in this process at a time. */
  mostOfAccount: number;
}): ExportService {
  const { forAccount, snapshot, publicUrl, mostOfAccount } = deps;
  const running = new Map<string, number>();

  /** Counts the export from its first chunk to its end. @throws ApiError `rate_limited` when too many run already */
  function counted<T>(accountId: string, chunks: AsyncIterable<T>): AsyncIterable<T> {
    const mine = running.get(accountId) ?? 0;
    const all = [...running.values()].reduce((sum, count) => sum + count, 0);
    if (mine >= mostOfAccount || all >= MOST_IN_ALL) throw rateLimited(RETRY_AFTER_S);
    return (async function* () {
      running.set(accountId, (running.get(accountId) ?? 0) + 1);
      try {
        yield* chunks;
      } finally {
        const left = (running.get(accountId) ?? 1) - 1;
        if (left > 0) running.set(accountId, left);
        else running.delete(accountId);
      }
    })();
  }

  return {
    payments: {
      export({ accountId }, { format, timeZone, separator, bom, ...filter }) {
        const stores = forAccount(accountId);
        const wanted = paymentFilterOf(inZone(filter, timeZone));
        const lines = paymentLines(format, { timeZone, separator, bom });
        const products = remembering(stores.products);
        const users = remembering(stores.users);
        const batches = snapshot(async function* (session) {
          for await (const batch of stores.payments.batches(wanted, session)) {
            const shown = await withProducts(batch, products, session);
            const extras =
              format === 'csv' ? await extrasOf(batch, { checkouts: stores.checkouts, users }, session) : [];
            yield shown.map((payment, index) => ({ shown: payment, extras: extras[index]! }));
          }
        });
        return toDownload(`payments.${format}`, lines, counted(accountId, chunksOf(batches, lines)));
      },
    },
    checkouts: {
      export({ accountId }, { format, timeZone, separator, bom, ...filter }) {
        const stores = forAccount(accountId);
        const wanted = checkoutFilterOf(inZone(filter, timeZone));
        const lines = checkoutLines(format, { timeZone, separator, bom });
        const remembered = { products: remembering(stores.products), wallets: remembering(stores.wallets) };
        const users = remembering(stores.users);
        const batches = snapshot(async function* (session) {
          for await (const batch of stores.checkouts.batches(wanted, session)) {
            const sellerOf = await sellersOf(batch, users, session);
            yield (await loadPayables(remembered, batch, session)).map((payable) => ({
              shown: toCheckout(payable, publicUrl),
              extras: sellerOf(payable.checkout),
            }));
          }
        });
        return toDownload(`checkouts.${format}`, lines, counted(accountId, chunksOf(batches, lines)));
      },
    },
  };
}

/** A date in a filter means the beginning of its day in the zone. */
function inZone<Filter extends { createdFrom?: string | undefined; createdTo?: string | undefined }>(
  filter: Filter,
  timeZone: string,
): Filter {
  const calendar = calendarNamed('timeZone', timeZone);
  const moment = (text: string | undefined) => text && momentIn(calendar, text).toISOString();
  return { ...filter, createdFrom: moment(filter.createdFrom), createdTo: moment(filter.createdTo) };
}

/** What a payment's row of CSV has besides the payment. */
async function extrasOf(
  payments: readonly PaymentDoc[],
  { checkouts, users }: { checkouts: ById<CheckoutDoc>; users: ById<UserDoc> },
  session: Session,
): Promise<PaymentExtras[]> {
  const sellerOf = await sellersOf(payments, users, session);
  const ids = [...new Set(payments.flatMap(({ checkoutId }) => checkoutId ?? []))];
  const found = ids.length > 0 ? await checkouts.byIds(ids, session) : [];
  const byId = new Map(found.map((checkout) => [checkout._id, checkout]));
  return payments.map((payment) => {
    const checkout = byId.get(payment.checkoutId ?? '');
    return {
      checkoutReference: checkout?.reference ?? null,
      checkoutName: checkout?.name ?? null,
      customerEmail: checkout?.customerEmail ?? null,
      refundedValue: refundedValueOf(payment),
      ...sellerOf(payment),
    };
  });
}

async function sellersOf(
  docs: readonly { soldBy?: string }[],
  users: ById<UserDoc>,
  session: Session,
): Promise<(doc: { soldBy?: string }) => Seller> {
  const ids = [...new Set(docs.flatMap(({ soldBy }) => soldBy ?? []))];
  const byId = new Map(ids.length > 0 ? (await users.byIds(ids, session)).map((user) => [user._id, user]) : []);
  return ({ soldBy = null }) => ({ soldBy, soldByName: byId.get(soldBy ?? '')?.name ?? null });
}

type ById<Doc> = { byIds(ids: readonly string[], session?: Session): Promise<Doc[]> };

/** Reads each document once, not for each batch: it cannot change within the export's moment. */
function remembering<Doc extends { _id: string }>(stored: ById<Doc>): ById<Doc> {
  const known = new Map<string, Doc | null>();
  return {
    async byIds(ids, session) {
      if (known.size > MOST_REMEMBERED) known.clear();
      const unknown = ids.filter((id) => !known.has(id));
      for (const id of unknown) known.set(id, null);
      if (unknown.length > 0) for (const doc of await stored.byIds(unknown, session)) known.set(doc._id, doc);
      return ids.flatMap((id) => known.get(id) ?? []);
    },
  };
}

const toDownload = (
  fileName: string,
  { contentType }: Pick<Lines<never>, 'contentType'>,
  chunks: Download['chunks'],
): Download => ({ contentType, fileName, chunks });

async function* chunksOf<Item>(batches: AsyncIterable<Item[]>, { header, lineOf }: Lines<Item>): Download['chunks'] {
  if (header !== '') yield { text: header, rows: 0 };
  for await (const batch of batches) yield { text: batch.map(lineOf).join(''), rows: batch.length };
}
