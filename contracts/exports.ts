/** Exports: lists as files. A file is streamed, so it has no procedure and no envelope, except
 *  for failures. */
import { z } from 'zod';
import { checkouts } from './checkouts.js';
import { csvQuery } from './csv.js';
import { operation } from './operation.js';
import { payments } from './payments.js';

export const EXPORT_FORMATS = ['csv', 'jsonl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const format = z.enum(EXPORT_FORMATS).default('csv').meta({
  description: '`csv`: RFC 4180 with a header line. `jsonl`: on each line the object that the list shows.',
});
const { page: _page, pageSize: _pageSize, ...paymentFilters } = payments.list.query;
const { page: __page, pageSize: __pageSize, ...checkoutFilters } = checkouts.list.query;

const WHAT_HOLDS =
  'Oldest first, however many there are, in the state at the time of the request. The file is complete when the transfer ends normally. The transfer is cut off after 5 minutes: over a slow connection, or for very many, export in parts, by `createdFrom` and `createdTo`.';
const output = z.string().meta({ id: 'ExportedFile' });

/** By resource, like the contract of the procedures. */
export const downloads = {
  payments: {
    export: operation({
      method: 'GET',
      path: '/payments/export',
      effect: 'reads',
      summary: 'Export payments',
      description: `With the filters of the list. ${WHAT_HOLDS} In CSV the product is \`productId\` and \`productName\`; the checkout’s reference, name, customer and cashier are cells as well; \`refundedValue\` is the refunded share of \`value\`; and a text that a spreadsheet would take for a formula has a \`'\` before it.`,
      tag: 'Payments',
      query: { format, ...csvQuery, ...paymentFilters },
      output,
    }),
  },
  checkouts: {
    export: operation({
      method: 'GET',
      path: '/checkouts/export',
      effect: 'reads',
      summary: 'Export checkouts',
      description: `With the filters of the list. ${WHAT_HOLDS} In CSV the product is \`productId\` and \`productName\`, the wallet \`walletId\`, \`walletName\`, \`walletAddress\` and \`network\`, the cashier \`soldBy\` and \`soldByName\`, \`metadata\` is JSON, and what the order comes to is \`subtotal\`, \`discount\`, \`tax\`, \`tip\` and \`total\`.`,
      tag: 'Checkouts',
      query: { format, ...csvQuery, ...checkoutFilters },
      output,
    }),
  },
};
