/** The account, which owns everything that its API keys can reach. */
import { z } from 'zod';
import { accountExample } from './examples.js';
import { operation } from './operation.js';
import { tipPercentsInput, toleranceInput } from './orders.js';
import {
  colorInput,
  emailInput,
  httpsUrlInput,
  idOf,
  nameInput,
  originInput,
  percent,
  percentInput,
  timestamp,
} from './primitives.js';
import { currencyInput } from './rates.js';
import { ROLES } from './roles.js';

const brandSchema = z
  .object({
    name: z.string().nullable().meta({ description: 'Name of the shop, as payers see it.' }),
    logoUrl: z.string().nullable(),
    color: z
      .string()
      .nullable()
      .meta({ description: 'Color of the main button.', examples: ['#1b6e4b'] }),
    supportUrl: z.string().nullable().meta({ description: 'Where payers can ask about a refused payment.' }),
    supportEmail: z.string().nullable(),
  })
  .meta({ id: 'Brand', description: 'What payers see of the shop; a field is null where it is not set.' });

const brandInput = z.strictObject({
  name: nameInput.nullish().meta({ description: 'Shown on payment pages, receipts and posters.' }),
  logoUrl: httpsUrlInput.nullish().meta({ description: 'https image; payers’ browsers load it from there.' }),
  color: colorInput.nullish(),
  supportUrl: httpsUrlInput.nullish(),
  supportEmail: emailInput.nullish(),
});

const markupInput = percentInput({ most: 20, decimals: 4 });

const onboardingSchema = z.enum(['shown', 'hidden']).meta({
  id: 'Onboarding',
  description: 'Whether the dashboard shows what is left until the account can be paid.',
});

const readinessSchema = z
  .object({
    step: z.enum(['wallet', 'product', 'link', 'payment', 'told', 'access']).meta({
      description:
        '`wallet`: one exists on its network and trusts what its products ask for; `product`: one is active; `link`: there is an active payment link, or a checkout; `payment`: one was completed; `told`: there is an enabled webhook, or a recipient of notifications; `access`: two OWNERs can sign in, or one has two passkeys.',
    }),
    done: z.boolean(),
    hint: z.string().meta({ description: 'What to do, for people.' }),
  })
  .meta({ id: 'ReadinessStep' });

export const accountSchema = z
  .object({
    id: idOf('acct', 'account'),
    name: z.string(),
    brand: brandSchema,
    rateMarkupPercent: z
      .string()
      .default('0')
      .meta({ description: 'Percentage by which the account’s rates are lowered.' }),
    booksCurrency: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'Currency of the `value` of payments whose price gives them none; null for none.' }),
    tolerancePercent: percent.meta({ description: 'The tolerance of new products and checkouts.' }),
    tipPercents: z.array(percent).meta({ description: 'Tips that the point of sale offers; empty for none.' }),
    embedOrigins: z.array(z.string()).meta({ description: 'Origins whose pages may frame the payment pages.' }),
    onboarding: onboardingSchema,
    createdAt: timestamp,
  })
  .meta({ id: 'Account', examples: [accountExample] });

const MAX_EMBED_ORIGINS = 20;
const tag = 'Account';

export const account = {
  get: operation({
    method: 'GET',
    path: '/account',
    effect: 'reads',
    roles: ROLES,
    summary: "The caller's account",
    description: 'Returns the account that the API key belongs to.',
    tag,
    output: accountSchema,
  }),
  readiness: operation({
    method: 'GET',
    path: '/account/readiness',
    effect: 'reads',
    summary: 'What is left until the account can be paid',
    description:
      'Six steps, in this order, read from the account’s data and from the ledgers of its wallets; nothing is remembered.',
    tag,
    output: z.array(readinessSchema),
  }),
  update: operation({
    method: 'PATCH',
    path: '/account',
    effect: 'changes',
    summary: 'Change the account',
    description:
      '`brand` is what payers see on pages, receipts and posters: only the fields given change, and null removes one. A markup lowers the rates of the account from now on, so that prices in a currency ask for more of the asset. Its own rates stay as they are. With `booksCurrency` every later payment gets a `value` in it, by the newest rate when its ledger closed, without the markup. `tolerancePercent` is what new products and checkouts start with. `tipPercents` are the buttons of the point of sale. `embedOrigins` replaces the list; every OWNER is told. `onboarding` puts the dashboard’s list of first steps away.',
    tag,
    body: {
      brand: brandInput.optional(),
      rateMarkupPercent: markupInput.optional(),
      booksCurrency: currencyInput.nullish(),
      tolerancePercent: toleranceInput.optional(),
      tipPercents: tipPercentsInput.optional(),
      embedOrigins: z.array(originInput).max(MAX_EMBED_ORIGINS).optional().meta({
        description: 'At most 20 https origins whose pages may frame the payment pages of this account; no others may.',
      }),
      onboarding: onboardingSchema.optional(),
    },
    output: accountSchema,
    examples: {
      body: {
        brand: { name: 'Bean & Leaf', color: '#1b6e4b', supportEmail: 'help@shop.example' },
        ...{ rateMarkupPercent: '1.5', booksCurrency: 'EUR' },
      },
    },
  }),
};
