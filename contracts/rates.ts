/** Rates: the worth of one unit of an asset in a currency, sampled from sources or set by
 *  the account. */
import { z } from 'zod';
import { AMOUNT_PATTERN, isCurrency, minorDigits } from './currencies.js';
import { deletedSchema } from './envelope.js';
import type { FieldError } from './errors.js';
import { networkSchema } from './networks.js';
import { operation, type RawBody, type ValidationContext } from './operation.js';
import { accountAddress, amount, amountInput, assetCodeInput, momentInput, timestamp } from './primitives.js';

export const currencyInput = z
  .string()
  .refine(isCurrency, {
    message: 'Must be the ISO 4217 code of a currency, such as EUR.',
    params: { code: 'invalid_format' },
  })
  .meta({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 code of a currency.', examples: ['EUR'] });

/** A plain decimal: at most 12 digits before the point and 24 after it. `isRate` also checks that
 *  it is positive and its significant digits. */
const RATE_PATTERN = /^(0|[1-9]\d{0,11})(\.\d{1,24})?$/;

const isRate = (text: string): boolean => {
  const digits = text.replace('.', '').replace(/^0+/, '');
  const significant = text.includes('.') ? digits.replace(/0+$/, '') : digits;
  return (
    RATE_PATTERN.test(text) && digits !== '' && /[1-9]/.test(digits) && significant.replace(/0+$/, '').length <= 12
  );
};

const rateInput = z
  .string({ error: (issue) => (issue.input === undefined ? undefined : 'A rate is a decimal string, such as "0.25".') })
  .refine(isRate, {
    message: 'A rate is a plain decimal greater than 0 with at most 12 significant digits, such as "0.25".',
    params: { code: 'invalid_format' },
  })
  .meta({ description: 'What one unit of the asset is worth: at most 12 significant digits.', examples: ['0.25'] });

const rate = z.string().meta({
  description: 'What one unit of the asset is worth in the currency: decimal string of at most 12 significant digits.',
  examples: ['0.25'],
});
const source = z.string().meta({ description: '`own`, or the sources of the sample.' });

export const quoteSchema = z
  .object({
    amount: amount.nullable().meta({ description: 'What is asked in the asset. Null where the payer chooses.' }),
    rate,
    source,
    at: timestamp.meta({ description: 'The time of the oldest answer in the rate, or when it was set.' }),
    validUntil: timestamp.meta({ description: 'A payment whose ledger closes until then pays at least by this rate.' }),
  })
  .meta({ id: 'Quote' });

export const valueSchema = z
  .object({
    currency: z.string(),
    amount: amount.meta({ description: 'In the currency.' }),
    rate,
    rateAt: timestamp,
    source,
  })
  .meta({ id: 'PaymentValue', description: 'What a payment counted for in a currency.' });

/** Prices finer than the smallest unit of their currency. The schemas report other faults. */
export function minorDigitErrors(currency: unknown, prices: Readonly<Record<string, unknown>>): FieldError[] {
  if (typeof currency !== 'string' || !isCurrency(currency)) return [];
  const digits = minorDigits(currency);
  return Object.entries(prices).flatMap(([path, price]) => {
    if (typeof price !== 'string' || !AMOUNT_PATTERN.test(price)) return [];
    const fraction = (price.split('.')[1] ?? '').replace(/0+$/, '');
    if (fraction.length <= digits) return [];
    const message = digits === 0 ? `${currency} has no decimals.` : `${currency} has at most ${digits} decimals.`;
    return [{ path, message, code: 'invalid_format' }];
  });
}

const pairFields = {
  currency: currencyInput,
  assetCode: assetCodeInput,
  assetIssuer: accountAddress.nullish().meta({ description: 'Required for every asset but XLM, refused for XLM.' }),
  network: networkSchema,
};

const pairExample = { currency: 'EUR', assetCode: 'XLM', network: 'LOCAL' };

function pairErrors({ assetCode, assetIssuer }: RawBody): FieldError[] {
  const isGiven = assetIssuer !== undefined && assetIssuer !== null;
  if (assetCode === 'XLM' && isGiven)
    return [
      {
        path: 'assetIssuer',
        message: 'XLM has no issuer; with one it would be a different asset.',
        code: 'not_allowed',
      },
    ];
  if (typeof assetCode === 'string' && assetCode !== 'XLM' && !isGiven)
    return [{ path: 'assetIssuer', message: 'Every asset but XLM needs its issuer.', code: 'required' }];
  return [];
}

function endErrors({ expiresAt }: RawBody, { now }: Pick<ValidationContext, 'now'>): FieldError[] {
  const endMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.NaN;
  return endMs <= now.getTime() ? [{ path: 'expiresAt', message: 'Must be in the future.', code: 'too_small' }] : [];
}

function networkErrors({ network }: RawBody, { networks }: ValidationContext): FieldError[] {
  const isForeign =
    typeof network === 'string' && networkSchema.safeParse(network).success && !networks.includes(network as never);
  return isForeign
    ? [{ path: 'network', message: 'This service does not watch the network.', code: 'not_allowed' }]
    : [];
}

export const rateSchema = z
  .object({
    currency: z.string(),
    assetCode: z.string(),
    assetIssuer: z.string().nullable(),
    network: networkSchema,
    rate: rate.nullable().meta({ description: 'Null where there was no sample yet.' }),
    source: source.nullable(),
    at: timestamp.nullable(),
    stale: z.boolean().meta({ description: 'Too old to be shown: there is no price at the moment.' }),
  })
  .meta({ id: 'Rate' });

const tag = 'Rates';

export const rates = {
  list: operation({
    method: 'GET',
    path: '/rates',
    effect: 'reads',
    summary: 'List rates',
    description:
      'The rates that the account uses: those of its products and open checkouts that are priced in a currency, those for its books, and those that it set itself.',
    tag,
    output: z.array(rateSchema).meta({ id: 'Rates' }),
  }),
  set: operation({
    method: 'PUT',
    path: '/rates',
    effect: 'changes',
    summary: 'Set a rate of your own',
    description:
      'It replaces the rates of the sources from now on, until `expiresAt` or until it is ended. It does not get stale, and the markup does not lower it.',
    tag,
    body: {
      ...pairFields,
      rate: rateInput,
      expiresAt: momentInput.nullish().meta({ description: 'Without it, the rate holds until it is ended.' }),
    },
    rules: pairErrors,
    contextRules: (body, context) => [...endErrors(body, context), ...networkErrors(body, context)],
    output: rateSchema,
    examples: { body: { ...pairExample, rate: '0.25' } },
  }),
  delete: operation({
    method: 'DELETE',
    path: '/rates',
    effect: 'changes',
    summary: 'End a rate of your own',
    description: 'From now on the rates of the sources apply. Earlier payments are judged by the rate of their time.',
    tag,
    query: pairFields,
    rules: pairErrors,
    output: deletedSchema.omit({ id: true }).meta({ id: 'RateDeleted' }),
    errors: ['not_found'],
    examples: { query: pairExample },
  }),
  quote: operation({
    method: 'GET',
    path: '/rates/quote',
    effect: 'reads',
    summary: 'Convert a price to an asset',
    description: 'Returns the amount that is asked now for a price. Refused (409) without a fresh rate.',
    tag,
    query: { price: amountInput, ...pairFields },
    rules: (query) => [...pairErrors(query), ...minorDigitErrors(query.currency, { price: query.price })],
    contextRules: networkErrors,
    output: quoteSchema,
    errors: ['conflict'],
    examples: { query: { ...pairExample, price: '9.50' } },
  }),
};
