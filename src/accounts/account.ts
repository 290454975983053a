/** The caller's account, and what it may have of each kind. Also opens accounts with their first
 *  key, for an administrator or the demo, not through the API. Behind them: what is left until the
 *  account can be paid. */

import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { NO_BRAND } from '../domain/brand.js';
import { canonicalPercent } from '../domain/order.js';
import { ApiError, conflict, notFound, rateLimited } from '../kit/api-error.js';
import type { Caller, ServiceOf, Services } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import type { Session } from '../kit/database.js';
import { createGroupCommit } from '../kit/group-commit.js';
import type { NewId } from '../kit/ids.js';
import type { RateNeeds } from '../rates/index.js';
import type { ForAccount } from '../stores.js';
import { type AccountDoc, type AccountStore, CHANGES_KEPT } from './account-store.js';
import type { Act, Commit } from './commit.js';

// Limits on an account's resources. Creations of an account are serialised, so that two at once
// cannot both be the last one.

/** Stores the new resource, within the transaction. */
type Insert = (session: Session) => Promise<void>;

/** Inserts when the account has room. @throws ApiError `conflict` when it has none; nothing is
 *  stored then */
export type Quota = (act: Act, insert: Insert) => Promise<void>;

export function createQuota(deps: {
  commit: Commit;
  forAccount: ForAccount<'account'>;
  /** The account's current number. */
  count: (accountId: string, session: Session) => Promise<number>;
  max: number;
  /** Plural, for the message. */
  what: string;
}): Quota {
  const { commit, forAccount, count, max, what } = deps;

  const insertGroup = createGroupCommit<Act & { insert: Insert }, ApiError | null>((group) =>
    commit.all<ApiError | null>(group, async (session) => {
      const { accountId } = group[0]!.caller;
      // First, so that of two processes counting at once one gets a write conflict and retries.
      await forAccount(accountId).account.countCreations(group.length, session);
      const room = Math.max(0, max - (await count(accountId, session)));
      for (const { insert } of group.slice(0, room)) await insert(session);
      const full = conflict(`An account has at most ${max} ${what}: delete one first.`);
      return group.map((_, index) => (index < room ? null : full));
    }),
  );

  return async (act, insert) => {
    const refusal = await insertGroup(act.caller.accountId, { ...act, insert });
    if (refusal) throw refusal;
  };
}

/** No quota: for the operator's cli, and for tests of other things. */
export const unlimited = (commit: Commit): Quota => commit;

export function createAccountService({
  forAccount,
  commit,
  rateNeeds,
  clock,
  services,
}: {
  forAccount: ForAccount<'account' | 'users'>;
  commit: Commit;
  /** Asked for the readiness of an account. */
  services: Parameters<typeof createReadiness>[0]['services'];
  rateNeeds: Pick<RateNeeds, 'ofBooks'>;
  clock: Pick<Clock, 'now'>;
}): ServiceOf<Contract['account']> {
  return {
    async get({ accountId }) {
      const account = await forAccount(accountId).account.get();
      if (!account) throw notFound('account');
      return toAccount(account);
    },

    readiness: createReadiness({ forAccount, services }),

    async update(
      caller,
      { brand = {}, rateMarkupPercent, booksCurrency, tolerancePercent, tipPercents, embedOrigins, onboarding },
    ) {
      const { accountId } = caller;
      const { account } = forAccount(accountId);
      const before = await account.get();
      if (!before) throw notFound('account');
      const percent = rateMarkupPercent === undefined ? undefined : formatAmount(parseAmount(rateMarkupPercent)!);
      // JSON has no undefined, tRPC may.
      const named = Object.entries(brand).filter(([, value]) => value !== undefined);
      const changes = {
        ...(named.length > 0 ? { brand: Object.fromEntries(named) } : {}),
        ...(percent !== undefined && percent !== markupOf(before) ? { percent } : {}),
        ...(booksCurrency !== undefined && booksCurrency !== (before.booksCurrency ?? null)
          ? { currency: booksCurrency }
          : {}),
        ...(tolerancePercent === undefined ? {} : { tolerancePercent: canonicalPercent(tolerancePercent) }),
        ...(tipPercents === undefined ? {} : { tipPercents: tipPercents.map(canonicalPercent) }),
        ...(embedOrigins === undefined ? {} : { embedOrigins: [...new Set(embedOrigins)] }),
        ...(onboarding === undefined ? {} : { onboarding }),
      };
      if (Object.keys(changes).length === 0) return toAccount(before);
      const now = clock.now();
      const histories = [changes.percent && before.rateMarkups, 'currency' in changes && before.booksCurrencies];
      if (histories.some((history) => history && isFullWithinAnHour(history, now))) throw rateLimited(RETRY_SECONDS);
      if (changes.currency) await rateNeeds.ofBooks(accountId, changes.currency);
      const after = await commit({ caller, subjectId: accountId }, (session) => account.change(changes, now, session));
      if (!after) throw notFound('account');
      return toAccount(after);
    },
  };
}

const HOUR_MS = 3_600_000;
const RETRY_SECONDS = 60;

/** Whether one more change would drop one of the last hour, by which payments may yet be judged. */
function isFullWithinAnHour(history: readonly { from: Date }[], now: Date): boolean {
  const oldest = history.at(-CHANGES_KEPT);
  return oldest !== undefined && oldest.from.getTime() > now.getTime() - HOUR_MS;
}

const markupOf = ({ rateMarkups }: AccountDoc): string => rateMarkups?.at(-1)?.percent ?? '0';

export const toAccount = (account: AccountDoc) => ({
  id: account._id,
  name: account.name,
  brand: { ...NO_BRAND, ...account.brand },
  rateMarkupPercent: markupOf(account),
  booksCurrency: account.booksCurrency ?? null,
  tolerancePercent: account.tolerancePercent ?? '0',
  tipPercents: account.tipPercents ?? [],
  embedOrigins: account.embedOrigins ?? [],
  onboarding: account.onboarding ?? ('shown' as const),
  createdAt: account.createdAt.toISOString(),
});

/** Opens an account with a FULL key that does not expire. `key` is not stored. */
export async function openAccount(
  deps: {
    accounts: Pick<AccountStore, 'insert' | 'byId'>;
    commit: Commit;
    apiKeys: Pick<ServiceOf<Contract['apiKeys']>, 'create'>;
    clock: Clock;
    newId: NewId;
    /** The actor that opens the account. */
    agent?: 'cli' | 'system';
    /** For an opening that may be repeated: it then finds the account, and replaces its key. */
    reservedId?: NonNullable<Caller['reservedId']>;
  },
  name: string,
) {
  const { accounts, commit, apiKeys, clock, newId, agent = 'system', reservedId } = deps;
  const _id = (reservedId ?? newId)('acct');
  const caller: Caller = { accountId: _id, keyId: '', scope: 'FULL', agent, ...(reservedId && { reservedId }) };
  const made = reservedId && (await accounts.byId(_id));
  const account: AccountDoc = made ?? { _id, name, createdAt: clock.now() };
  const doing = { operation: 'account_create', effect: 'adds', input: { name } } as const;
  if (!made)
    await commit({ caller: { ...caller, doing }, subjectId: _id }, (session) => accounts.insert(account, session));
  const apiKey = await apiKeys.create(caller, { name: 'first key', scope: 'FULL' });
  return { account: toAccount(account), apiKey };
}

// What is left until an account can be paid, and its people are not locked out. Read from its data
// and its ledgers each time, never from clicks.

type Step = OutputOf<Contract['account']['readiness']>[number];
type Wallet = OutputOf<Contract['wallets']['list']>['items'][number];
type Product = OutputOf<Contract['products']['list']>['items'][number];

/** The services that it asks, as a caller of the account would. */
type Asked = Pick<
  Services,
  'wallets' | 'products' | 'paymentLinks' | 'checkouts' | 'payments' | 'webhooks' | 'notifications'
>;

interface ReadinessDeps {
  forAccount: ForAccount<'users'>;
  services: () => Asked;
}

const ONE = { page: 1, pageSize: 1 };
const MANY = { page: 1, pageSize: 100 };
/** Each costs a request to its ledger. */
const MOST_WALLETS = 5;

const createReadiness =
  ({ forAccount, services }: ReadinessDeps): ServiceOf<Contract['account']>['readiness'] =>
  async ({ accountId, signal }) => {
    const caller: Caller = { accountId, keyId: '', scope: 'READ', ...(signal && { signal }) };
    const asked = services();
    const { items: products } = await asked.products.list(caller, {
      ...MANY,
      sortBy: 'createdAt',
      sortOrder: 'desc',
      active: true,
    });
    const step = (name: Step['step'], done: boolean, hint: string): Step => ({ step: name, done, hint });
    return [
      { step: 'wallet', ...(await walletStep(caller, asked, products)) },
      step('product', products.length > 0, 'Make a product: what you sell, and its price.'),
      step('link', await hasOrder(caller, asked), 'Make a payment link or a checkout: what payers open.'),
      step('payment', await hasPayment(caller, asked), 'Open your link and pay a small amount yourself.'),
      { step: 'told', ...(await toldStep(caller, asked)) },
      step(
        'access',
        await isSafe(forAccount(accountId).users),
        'Add a passkey of another device, or another owner: a lost device would lock you out.',
      ),
    ];
  };

/** Done with one wallet that can be paid, whatever the others lack. */
async function walletStep(
  caller: Caller,
  { wallets }: Asked,
  products: readonly Product[],
): Promise<Omit<Step, 'step'>> {
  const { items } = await wallets.list(caller, MANY);
  const lacks: string[] = [];
  for (const wallet of items.filter(({ active }) => active).slice(0, MOST_WALLETS)) {
    const lack = await lackOf(caller, wallets, wallet, products);
    if (lack === null) return { done: true, hint: `"${wallet.name}" can be paid.` };
    lacks.push(lack);
  }
  return { done: false, hint: lacks[0] ?? 'Add a wallet: the Stellar account that payments go to.' };
}

/** Null when it can receive what its products ask for. */
async function lackOf(
  caller: Caller,
  { assets }: Asked['wallets'],
  { id, name, network, sync }: Wallet,
  products: readonly Product[],
): Promise<string | null> {
  const held = await assets(caller, { id }).catch((error: unknown) => {
    if (error instanceof ApiError) return null;
    throw error;
  });
  if (held === null)
    return sync.reason ?? `${network} does not answer now, so it is not known what "${name}" can receive.`;
  if (held.length === 0) return `The account of "${name}" is not on ${network} yet: send it some XLM.`;
  const missing = products
    .filter(({ wallet }) => wallet.id === id)
    .find(
      ({ assetCode, assetIssuer }) =>
        !held.some((each) => each.authorized && each.assetCode === assetCode && each.assetIssuer === assetIssuer),
    );
  return missing ? `"${name}" cannot receive ${missing.assetCode} yet: add a trustline in its own app.` : null;
}

async function hasOrder(caller: Caller, { paymentLinks, checkouts }: Asked): Promise<boolean> {
  const links = await paymentLinks.list(caller, { ...ONE, active: true });
  return links.meta.total > 0 || (await checkouts.list(caller, ONE)).meta.total > 0;
}

const hasPayment = async (caller: Caller, { payments }: Asked): Promise<boolean> =>
  (await payments.list(caller, { ...ONE, status: ['COMPLETED'] })).items.length > 0;

/** A recipient counts without a mail server, too: that one is the operator's, not the account's. */
async function toldStep(caller: Caller, { webhooks, notifications }: Asked): Promise<Omit<Step, 'step'>> {
  const isCalled = (await webhooks.list(caller, MANY)).items.some(({ status }) => status === 'ACTIVE');
  const { recipients, kinds, sending } = await notifications.get(caller, {});
  const isWritten = recipients.length > 0 && kinds.length > 0;
  const hint =
    isWritten && !isCalled && !sending
      ? 'This service sends no e-mail yet: its operator sets SMTP_URL. Until then a webhook tells a program.'
      : 'Add a webhook, or an address for notifications: without one, payments come unnoticed.';
  return { done: isCalled || isWritten, hint };
}

/** Two owners who can sign in, or two passkeys of one. */
async function isSafe(users: ReturnType<ReadinessDeps['forAccount']>['users']): Promise<boolean> {
  const passkeys = await users.passkeysOfOwners();
  return passkeys.filter((count) => count > 0).length > 1 || passkeys.some((count) => count > 1);
}
