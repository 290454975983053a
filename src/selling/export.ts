/** Lists as files: what a line of each format holds. */

import type { ExportFormat } from '../../contracts/exports.js';
import { CSV_TYPE, type CsvForm, type CsvValue, csvWriter } from '../kit/csv.js';
import type { Payment } from '../payments/index.js';
import type { Checkout } from './checkout-resource.js';

export interface Lines<Item> {
  contentType: string;
  /** Before all others; empty where there is none. */
  header: string;
  lineOf(item: Item): string;
}

/** The user who made a sale, at the till or in the dashboard. */
export interface Seller {
  soldBy: string | null;
  /** Null too when the user was removed. */
  soldByName: string | null;
}

export interface PaymentExtras extends Seller {
  checkoutReference: string | null;
  checkoutName: string | null;
  customerEmail: string | null;
  /** The refunded share of the value. */
  refundedValue: string | null;
}

/** A resource, and the cells that only CSV has: a line of JSON lines is what the list shows. */
export interface Row<Shown, Extras> {
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
export const paymentLines = linesIn<Payment, PaymentExtras>({
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
export const checkoutLines = linesIn<Checkout, Seller>({
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
  ...plain<CheckoutCells>('total'),
});
