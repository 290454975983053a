/** Lists as files: what a line of each format holds. */
import type { ExportFormat } from '../../contracts/exports.js';
import { CSV_TYPE, type CsvValue, csvLine } from '../domain/csv.js';
import type { Checkout } from './checkout.js';
import type { Payment } from './index.js';

export interface Lines<Item> {
  contentType: string;
  /** Before all others; empty where there is none. */
  header: string;
  lineOf(item: Item): string;
}

type Columns<Item> = Record<string, (item: Item) => CsvValue>;

const linesIn =
  <Item>(columns: Columns<Item>) =>
  (format: ExportFormat): Lines<Item> => {
    if (format === 'jsonl') {
      const contentType = 'application/x-ndjson; charset=utf-8';
      return { contentType, header: '', lineOf: (item) => `${JSON.stringify(item)}\n` };
    }
    const cells = Object.values(columns);
    return {
      contentType: CSV_TYPE,
      header: csvLine(Object.keys(columns)),
      lineOf: (item) => csvLine(cells.map((cellOf) => cellOf(item))),
    };
  };

/** Fields that are cells as they are. */
const plain = <Item>(...names: (keyof Item & string)[]): Columns<Item> =>
  Object.fromEntries(names.map((name) => [name, (item: Item) => item[name] as CsvValue]));

const product = {
  productId: ({ product }: Payment | Checkout) => product?.id ?? null,
  productName: ({ product }: Payment | Checkout) => product?.name ?? null,
};

export const paymentLines = linesIn<Payment>({
  ...plain<Payment>('id', 'status', 'reason', 'amount', 'assetCode', 'assetIssuer'),
  ...plain<Payment>('expectedAmount', 'excessAmount', 'shortfallAmount'),
  ...plain<Payment>('memo', 'memoType', 'destinationMuxedId', 'senderAddress', 'senderMuxedAddress'),
  ...plain<Payment>('receiverAddress', 'network', 'transactionHash', 'operationId', 'ledger', 'ledgerClosedAt'),
  ...plain<Payment>('paymentLinkId', 'checkoutId'),
  ...product,
  ...plain<Payment>('walletId', 'refundedAmount'),
  refunds: ({ refunds }) => JSON.stringify(refunds),
  currency: ({ value }) => value?.currency ?? null,
  value: ({ value }) => value?.amount ?? null,
  rate: ({ value }) => value?.rate ?? null,
  ...plain<Payment>('needsDecision', 'decisionNote', 'explorerUrl', 'createdAt'),
});

export const checkoutLines = linesIn<Checkout>({
  ...plain<Checkout>('id', 'status', 'reference'),
  metadata: ({ metadata }) => JSON.stringify(metadata),
  ...plain<Checkout>('customerEmail', 'language'),
  ...plain<Checkout>('name', 'description', 'assetCode', 'assetIssuer', 'amount', 'quantity'),
  ...plain<Checkout>('receivedAmount', 'remainingAmount', 'excessAmount'),
  ...plain<Checkout>('currency', 'price', 'receivedValue', 'remainingValue'),
  ...product,
  walletId: ({ wallet }) => wallet.id,
  walletName: ({ wallet }) => wallet.name,
  walletAddress: ({ wallet }) => wallet.address,
  network: ({ wallet }) => wallet.network,
  ...plain<Checkout>('slug', 'memo', 'memoId', 'muxedAddress', 'url', 'successUrl', 'cancelUrl'),
  ...plain<Checkout>('expiresAt', 'paidAt', 'closedAt', 'createdAt'),
});
