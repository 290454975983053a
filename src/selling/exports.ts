/** Exports lists for the API and the cli, line by line, as of the moment when the export began. */
import type { downloads, ExportFormat } from '../../contracts/exports.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import type { UserDoc } from '../accounts/index.js';
import { rateLimited } from '../kit/api-error.js';
import { calendarNamed, momentIn } from '../kit/calendar.js';
import type { Caller } from '../kit/caller.js';
import { CSV_TYPE, type CsvForm, type CsvValue, csvWriter } from '../kit/csv.js';
import type { Database, Session } from '../kit/database.js';
import {
  loadPayables,
  type Payment,
  type PaymentDoc,
  filterOf as paymentFilterOf,
  refundedValueOf,
  withProducts,
} from '../payments/index.js';
import type { ForAccount } from '../stores.js';
import type { CheckoutDoc } from './checkout-document.js';
import { type Checkout, toCheckout } from './checkout-resource.js';
import { filterOf as checkoutFilterOf } from './checkouts.js';

// Lists as files: what a line of each format holds.

interface Lines<Item> {
  contentType: string;
  /** Before all others; empty where there is none. */
  header: string;
  lineOf(item: Item): string;
}

/** The user who made a sale, at the till or in the dashboard. */
interface Seller {
  soldBy: string | null;
  /** Null too when the user was removed. */
  soldByName: string | null;
}

interface PaymentExtras extends Seller {
  checkoutReference: string | null;
  checkoutName: string | null;
  customerEmail: string | null;
  /** The refunded share of the value. */
  refundedValue: string | null;
}

/** A resource, and the cells that only CSV has: a line of JSON lines is what the list shows. */
interface Row<Shown, Extras> {
  shown: Shown;
  extras: Extras;
}

/** @param time writes a time in the zone of the file */
type Columns<Item> = Record<string, (item: Item, time: (utc: string) => string) => CsvValue>;

const linesIn =
  <Shown extends object, Extras extends object>(columns: Columns<Shown & Extras>) =>
  (format: ExportFormat, form: CsvForm): Lines<Row<Shown, Extras>> => {
    if (format === 'jsonl') {
      const contentType = 'application/x-ndjson; charset=utf-8';
      return { contentType, header: '', lineOf: ({ shown }) => `${JSON.stringify(shown)}\n` };
    }
    const { header, line, time } = csvWriter(form);
    const cells = Object.values(columns);
    return {
      contentType: CSV_TYPE,
      header: header(Object.keys(columns)),
      lineOf({ shown, extras }) {
        const item = { ...shown, ...extras };
        return line(cells.map((cellOf) => cellOf(item, time)));
      },
    };
  };

/** Fields that are cells as they are. */
const plain = <Item>(...names: (keyof Item & string)[]): Columns<Item> =>
  Object.fromEntries(names.map((name) => [name, (item: Item) => item[name] as CsvValue]));

const times = <Item>(...names: (keyof Item & string)[]): Columns<Item> =>
  Object.fromEntries(
    names.map((name) => {
      const cellOf: Columns<Item>[string] = (item, time) => item[name] && time(item[name] as string);
      return [name, cellOf];
    }),
  );

const product = {
  productId: ({ product }: Payment | Checkout) => product?.id ?? null,
  productName: ({ product }: Payment | Checkout) => product?.name ?? null,
};

type PaymentCells = Payment & PaymentExtras;
const paymentLines = linesIn<Payment, PaymentExtras>({
  ...plain<PaymentCells>('id', 'status', 'reason', 'amount', 'assetCode', 'assetIssuer'),
  ...plain<PaymentCells>('expectedAmount', 'excessAmount', 'shortfallAmount'),
  ...plain<PaymentCells>('memo', 'memoType', 'destinationMuxedId', 'senderAddress', 'senderMuxedAddress'),
  ...plain<PaymentCells>('receiverAddress', 'network', 'transactionHash', 'operationId', 'ledger'),
  ...times<PaymentCells>('ledgerClosedAt'),
  ...plain<PaymentCells>('paymentLinkId', 'checkoutId'),
  ...product,
  ...plain<PaymentCells>('walletId', 'refundedAmount'),
  refunds: ({ refunds }) => JSON.stringify(refunds),
  currency: ({ value }) => value?.currency ?? null,
  value: ({ value }) => value?.amount ?? null,
  rate: ({ value }) => value?.rate ?? null,
  ...plain<PaymentCells>('needsDecision', 'decisionNote', 'explorerUrl'),
  ...times<PaymentCells>('createdAt'),
  // New columns come last: a spreadsheet that counts columns finds the others where they were.
  ...plain<PaymentCells>('checkoutReference', 'checkoutName', 'customerEmail', 'soldBy', 'soldByName', 'refundedValue'),
});

type CheckoutCells = Checkout & Seller;
const checkoutLines = linesIn<Checkout, Seller>({
  ...plain<CheckoutCells>('id', 'status', 'reference'),
  metadata: ({ metadata }) => JSON.stringify(metadata),
  ...plain<CheckoutCells>('customerEmail', 'language'),
  ...plain<CheckoutCells>('name', 'description', 'assetCode', 'assetIssuer', 'amount', 'quantity'),
  ...plain<CheckoutCells>('receivedAmount', 'remainingAmount', 'excessAmount'),
  ...plain<CheckoutCells>('currency', 'price', 'receivedValue', 'remainingValue'),
  ...product,
  walletId: ({ wallet }) => wallet.id,
  walletName: ({ wallet }) => wallet.name,
  walletAddress: ({ wallet }) => wallet.address,
  network: ({ wallet }) => wallet.network,
  ...plain<CheckoutCells>('slug', 'memo', 'memoId', 'muxedAddress', 'url', 'successUrl', 'cancelUrl'),
  ...times<CheckoutCells>('expiresAt', 'paidAt', 'closedAt', 'createdAt'),
  ...plain<CheckoutCells>('soldBy', 'soldByName', 'subtotal'),
  discount: ({ discountAmount }) => discountAmount,
  tax: ({ taxAmount }) => taxAmount,
  tip: ({ tipAmount }) => tipAmount,
  ...plain<CheckoutCells>('total', 'paymentLinkId'),
  customerName: ({ customer }) => customer.name,
  customerPhone: ({ customer }) => customer.phone,
  customerAddress: ({ customer }) => customer.address,
  answers: ({ answers }) => JSON.stringify(answers),
});

type Downloads = typeof downloads;

/** A file being written. */
export interface Download {
  contentType: string;
  fileName: string;
  /** Chunks of some hundred lines. `return` ends the reading. @throws when MongoDB no longer has
   *  that moment */
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

  /** Counts the export from its first chunk to its end. @throws ApiError `rate_limited` when too
   *  many run already */
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
