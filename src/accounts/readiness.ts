/** What is left until an account can be paid, and its people are not locked out. Read from its data
 *  and its ledgers each time, never from clicks. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import { ApiError } from '../kit/api-error.js';
import type { Caller, ServiceOf, Services } from '../kit/caller.js';
import type { ForAccount } from '../stores.js';

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

export const createReadiness =
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
