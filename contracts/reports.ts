/** Reports: sums over many payments, exact to the stroop. */
import { z } from 'zod';
import { timeZoneInput } from './csv.js';
import { summaryRowExample } from './examples.js';
import { operation } from './operation.js';
import { paymentStatusSchema } from './payments.js';
import { amount, momentInput, percent } from './primitives.js';
import { currencyInput } from './rates.js';

export const SUMMARY_GROUPS = ['day', 'month', 'product', 'paymentLink', 'asset', 'status'] as const;
/** The keys that a summary's rows are grouped by, besides the asset. */
export type SummaryGroup = (typeof SUMMARY_GROUPS)[number];

/** A summary of more rows is refused. */
export const MAX_SUMMARY_ROWS = 10_000;
/** And one that MongoDB needs longer for, payments and taxes each. */
export const MAX_SUMMARY_SECONDS = 30;

const taxSumSchema = z
  .object({
    currency: z
      .string()
      .optional()
      .meta({ description: 'What the amounts are in; missing where they are in the row’s asset.' }),
    taxPercent: percent,
    net: amount.meta({ description: 'Turnover without the tax, after discounts.' }),
    tax: amount,
  })
  .meta({ id: 'TaxSum' });

const summaryRowSchema = z
  .object({
    key: z.string().nullable().meta({
      description:
        'The day (`2026-11-21`), the month (`2026-11`), the id, `XLM` or `CODE:ISSUER`, or the status. Null for payments without a product or payment link.',
    }),
    assetCode: z.string(),
    assetIssuer: z.string().nullable(),
    count: z.int().meta({ description: 'Payments.' }),
    amount: amount.meta({ description: 'Their exact sum.' }),
    refundedAmount: amount.meta({
      description: 'Refunded amount of these payments, regardless of when it was refunded.',
    }),
    value: amount.optional().meta({ description: 'With `currency`: the exact sum of their values in it.' }),
    valued: z.int().optional().meta({ description: 'With `currency`: payments that have a value in it.' }),
    taxes: z.array(taxSumSchema).optional().meta({
      description:
        'With `taxes=true`: those of checkouts that became PAID on that day or in that month and are paid in this asset.',
    }),
  })
  .meta({ id: 'SummaryRow', examples: [summaryRowExample] });

const momentInTimezone = momentInput.meta({
  description:
    'ISO 8601 with an offset, or a date: the beginning of that day in `timezone`, which is its first midnight.',
  examples: ['2026-11-01'],
});

/** In a query as it was sent. */
const isTrue = (value: unknown) => value === true || value === 'true';

const tag = 'Reports';

export const reports = {
  summary: operation({
    method: 'GET',
    path: '/reports/summary',
    effect: 'reads',
    summary: 'Sums of payments',
    description:
      'Counts and exact sums of the payments whose ledger closed from `from` until before `to`. Each row is of one asset: different assets are never added up. Unmatched payments are counted only when asked for with `status=UNMATCHED`. Rows are in the order of their keys; more than 10,000, or so many payments that they are not added up in 30 s, are refused (400).',
    tag,
    query: {
      from: momentInTimezone.optional(),
      to: momentInTimezone.optional(),
      groupBy: z.enum(SUMMARY_GROUPS).default('day'),
      timezone: timeZoneInput.meta({
        description:
          'Where days and months begin: a name such as `Europe/Berlin`, `UTC`, or an offset of at most 14 h such as `+05:30`.',
      }),
      status: z.array(paymentStatusSchema).optional().meta({ description: 'Repeatable.' }),
      parts: z.boolean().optional().meta({
        description:
          'With `true` the parts of PAID checkouts as well, in any `status`: with `status=COMPLETED` all that was received.',
      }),
      currency: currencyInput.optional().meta({ description: 'Adds up values in this currency as well.' }),
      taxes: z.boolean().optional().meta({
        description:
          'With `true` the taxes of PAID checkouts as well, by when they were paid, whatever `status` says. Only by day or month.',
      }),
    },
    rules: ({ taxes, groupBy = 'day' }) =>
      isTrue(taxes) && groupBy !== 'day' && groupBy !== 'month'
        ? [{ path: 'taxes', message: 'Taxes are added up by day or month only.', code: 'not_allowed' }]
        : [],
    output: z.array(summaryRowSchema).meta({ id: 'Summary' }),
  }),
};
