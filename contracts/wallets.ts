/** Wallets: Stellar accounts whose incoming payments the service reads. */
import { z } from 'zod';
import { auditSchema } from './audits.js';
import { csvQuery } from './csv.js';
import { deletedSchema, listOf } from './envelope.js';
import type { FieldError } from './errors.js';
import { walletExample } from './examples.js';
import { networkSchema } from './networks.js';
import { operation, type RawBody, type ValidationContext } from './operation.js';
import {
  accountAddress,
  amount,
  httpUrlInput,
  idInput,
  idOf,
  momentInput,
  nameInput,
  pageQuery,
  searchQuery,
  timestamp,
} from './primitives.js';
import { ROLES } from './roles.js';
import { statementSchema } from './statements.js';

export const SYNC_STATES = ['SYNCING', 'OK', 'LAGGING', 'GAP'] as const;

const syncSchema = z
  .object({
    ledger: z
      .int()
      .nullable()
      .meta({ description: 'Every payment up to this ledger has been read; null before the first reading.' }),
    at: timestamp.nullable().meta({ description: 'When that was determined; null before the first reading.' }),
    state: z.enum(SYNC_STATES).meta({
      description:
        'SYNCING: first reading under way. LAGGING: more than 60 s behind the newest ledger. GAP: ledgers were missed that no source has any more; mend it, or make the wallet inactive and active again to acknowledge it.',
    }),
    reason: z
      .string()
      .nullable()
      .meta({ description: 'What is missing while no source has shown a ledger of the network; null once one has.' }),
    parked: z.int().meta({
      description:
        'Ledger records that may have paid this wallet and cannot be recorded yet. While there is one, no checkout that it may have paid becomes EXPIRED.',
    }),
  })
  .meta({ id: 'WalletSync', description: 'How far the ledger has been read for this wallet.' });

export const walletSummarySchema = z
  .object({ id: idOf('wallet', 'wallet'), name: z.string(), address: accountAddress, network: networkSchema })
  .meta({ id: 'WalletSummary' });

export const walletSchema = z
  .object({
    ...walletSummarySchema.shape,
    active: z.boolean().meta({ description: 'An inactive wallet is not watched.' }),
    sync: syncSchema,
    createdAt: timestamp,
  })
  .meta({ id: 'Wallet', examples: [walletExample] });

export const gapSchema = z
  .object({
    fromLedger: z.int(),
    toLedger: z.int().meta({ description: 'Included, like `fromLedger`.' }),
    at: timestamp.meta({ description: 'When it was found.' }),
    mendedAt: timestamp.nullable().meta({ description: 'Null until its ledgers have been read.' }),
  })
  .meta({ id: 'Gap' });

const mendedSchema = z
  .object({
    mended: z.int().meta({ description: 'Gaps that are closed now.' }),
    open: z.int().meta({ description: 'Gaps that are left. Call again: a long one is read in parts.' }),
  })
  .meta({ id: 'MendedGaps' });

const walletAssetSchema = z
  .object({
    assetCode: z.string(),
    assetIssuer: z.string().nullable(),
    balance: amount,
    authorized: z.boolean().meta({ description: 'False where the issuer does not let the wallet receive it.' }),
    known: z
      .object({ name: z.string(), domain: z.string() })
      .nullable()
      .meta({ description: 'What a well-known asset is called, and the domain of its issuer; null for all others.' }),
  })
  .meta({ id: 'WalletAsset' });

/** Faults of a wallet: its network is not watched. */
export const walletFieldErrors = (
  { network }: RawBody,
  { networks }: Pick<ValidationContext, 'networks'>,
): FieldError[] => {
  const known = networkSchema.safeParse(network);
  if (!known.success || networks.includes(known.data)) return [];
  const message = `This service watches ${networks.join(', ')}, not ${known.data}.`;
  return [{ path: 'network', message, code: 'invalid_value' }];
};

const tag = 'Wallets';
const params = { id: idInput('wallet', 'wallet') };

export const wallets = {
  create: operation({
    method: 'POST',
    path: '/wallets',
    effect: 'adds',
    summary: 'Register a wallet',
    description:
      'The address is watched from the first ledger that closes after this; history before it is never replayed. An address can be registered once per account and network (409).',
    tag,
    status: 201,
    body: {
      name: nameInput.meta({ description: 'Label.' }),
      address: accountAddress,
      network: networkSchema.meta({ description: 'One of the networks that this service watches.' }),
    },
    contextRules: walletFieldErrors,
    output: walletSchema,
    errors: ['conflict'],
    examples: {
      body: { name: 'Shop', address: 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ', network: 'LOCAL' },
    },
  }),
  list: operation({
    method: 'GET',
    path: '/wallets',
    effect: 'reads',
    roles: ROLES,
    summary: 'List wallets',
    description: 'Lists wallets, newest first, each with how far the ledger has been read for it.',
    tag,
    query: {
      ...pageQuery,
      search: searchQuery.meta({
        description: 'Substring, compared without case and marks, of the name, or the whole address.',
      }),
    },
    output: listOf(walletSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/wallets/{id}',
    effect: 'reads',
    roles: ROLES,
    summary: 'One wallet',
    description: 'Returns a wallet, with how far the ledger has been read for it.',
    tag,
    params,
    output: walletSchema,
  }),
  assets: operation({
    method: 'GET',
    path: '/wallets/{id}/assets',
    effect: 'reads',
    roles: ROLES,
    summary: 'What a wallet holds and can receive',
    description:
      'Asks the ledger now: lumens first, then its trustlines by code. Empty for an account that is not on the ledger. With only Stellar RPC servers: lumens, known assets and those of the wallet’s products.',
    tag,
    params,
    output: z.array(walletAssetSchema),
    errors: ['unavailable'],
  }),
  update: operation({
    method: 'PATCH',
    path: '/wallets/{id}',
    effect: 'changes',
    summary: 'Rename a wallet, or stop and start watching it',
    description:
      'Payments that came while a wallet was inactive are not recorded later. A wallet with an OPEN checkout cannot be made inactive (409).',
    tag,
    params,
    body: { name: nameInput.optional(), active: z.boolean().optional() },
    output: walletSchema,
    errors: ['conflict'],
    examples: { body: { active: false } },
  }),
  gaps: operation({
    method: 'GET',
    path: '/wallets/{id}/gaps',
    effect: 'reads',
    summary: 'Ledgers that a wallet missed',
    description:
      'Newest first, mended ones too. A gap that goes on where an open one ends makes that one longer, without another event. A gap from before a reset of a test network cannot be mended.',
    tag,
    params,
    query: pageQuery,
    output: listOf(gapSchema),
  }),
  mendGaps: operation({
    method: 'POST',
    path: '/wallets/{id}/gaps/mend',
    effect: 'adds',
    summary: 'Read missed ledgers',
    description:
      'Asks the configured sources, or the Horizon that you name, for the ledgers of every open gap, and records their payments: each matched and judged as of its ledger, with its events. Refused (409) while no source has them. What a named server shows is recorded for this wallet only.',
    tag,
    params,
    body: {
      horizonUrl: httpUrlInput
        .nullish()
        .meta({ description: 'A Horizon of the wallet’s network: https, on a public address.' }),
    },
    bodyOptional: true,
    contextRules: ({ horizonUrl }, { allowPrivate }) =>
      typeof horizonUrl === 'string' && /^http:/i.test(horizonUrl) && !allowPrivate
        ? [{ path: 'horizonUrl', message: 'Must be an https URL.', code: 'invalid_format' }]
        : [],
    output: mendedSchema,
    errors: ['conflict'],
    examples: { body: { horizonUrl: 'https://horizon.example' } },
  }),
  audits: operation({
    method: 'GET',
    path: '/wallets/{id}/audits',
    effect: 'reads',
    summary: 'Audits of a wallet',
    description: 'Newest first. The newest 100 are kept.',
    tag,
    params,
    query: pageQuery,
    output: listOf(auditSchema),
  }),
  startAudit: operation({
    method: 'POST',
    path: '/wallets/{id}/audits',
    effect: 'adds',
    summary: 'Audit a wallet',
    description:
      'Compares the balances on the ledger with everything that moved them since the last audit, and records payments that were missed. It runs in the background: look at the list for its end. Refused (409) while one runs.',
    tag,
    status: 201,
    params,
    body: {},
    bodyOptional: true,
    output: auditSchema,
    errors: ['conflict'],
    examples: { body: {} },
  }),
  statement: operation({
    method: 'GET',
    path: '/wallets/{id}/statement',
    effect: 'reads',
    summary: 'Statement of a wallet',
    description:
      'The balances at `from`, every movement on the ledger, payments or not, and the balances at `to`. They are computed back from the current balances, so everything since `from` is read: at most 10,000 movements (409 beyond). In CSV the balances are rows of the kinds `opening` and `closing`.',
    tag,
    params,
    query: {
      from: momentInput
        .optional()
        .meta({ description: 'Included, and not after now; the wallet’s creation without it.' }),
      to: momentInput.optional().meta({ description: 'Not included; now without it.' }),
      format: z.enum(['json', 'csv']).default('json').meta({ description: '`csv` over REST only.' }),
      ...csvQuery,
    },
    output: statementSchema,
    file: { format: 'csv', name: 'statement.csv', type: 'text/csv' },
    errors: ['conflict'],
  }),
  delete: operation({
    method: 'DELETE',
    path: '/wallets/{id}',
    effect: 'changes',
    summary: 'Delete a wallet',
    description:
      'Refused (409) while a product uses it, or when it has payments or checkouts, also ended ones: make it inactive instead.',
    tag,
    params,
    output: deletedSchema,
    errors: ['conflict'],
  }),
};
