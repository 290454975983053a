/** The demo of a first start: an account with an API key, a wallet that exists on the local ledger, products, links, and a
 *  checkout. */

import { openAccount } from '../accounts/index.js';
import type { Clock } from '../kit/clock.js';
import type { NewId } from '../kit/ids.js';
import type { Context } from './context.js';
import { fundDemoWallet } from './demo-market.js';

interface Demo {
  apiKey: string;
  /** The link's hosted page. */
  pageUrl: string;
  /** The checkout's hosted page. */
  checkoutUrl: string;
}

const LEASE_MS = 60_000;

/** Null when there already is an account, or no built-in ledger. */
export async function createDemo(
  { services, stores, commit, localLedger }: Pick<Context, 'services' | 'stores' | 'commit' | 'localLedger'>,
  { clock, newId }: { clock: Clock; newId: NewId },
): Promise<Demo | null> {
  if (!localLedger) return null;
  const isEmpty = async () => (await stores.system.accounts.list({ page: 1, pageSize: 1 })).meta.total === 0;
  if (!(await isEmpty()) || !(await stores.system.leases.hold('demo', newId('acct'), LEASE_MS))) return null;
  if (!(await isEmpty())) return null;

  const address = await fundDemoWallet(localLedger.client);
  const { account, apiKey } = await openAccount(
    { accounts: stores.system.accounts, commit, apiKeys: services.apiKeys, clock, newId },
    'Demo',
  );
  const caller = { accountId: account.id, keyId: apiKey.id, scope: 'FULL', agent: 'system' } as const;
  const wallet = await services.wallets.create(caller, { name: 'Demo wallet', address, network: 'LOCAL' });
  const common = { walletId: wallet.id, assetCode: 'XLM', active: true };
  const coffee = await services.products.create(caller, {
    ...common,
    name: 'Bag of coffee',
    description: 'One kilogram of beans, roasted yesterday.',
    priceType: 'FIXED',
    price: '25',
  });
  const tip = await services.products.create(caller, {
    ...common,
    name: 'Tip jar',
    description: 'As much as you like, from 1 XLM.',
    priceType: 'CUSTOM',
    minAmount: '1',
  });
  const beans = await services.products.create(caller, {
    ...common,
    name: 'Bag of beans',
    description: 'Half a kilogram, priced in euros and paid in XLM.',
    priceType: 'FIXED',
    price: '9.50',
    currency: 'EUR',
  });
  const link = await services.paymentLinks.create(caller, { productId: coffee.id });
  await services.paymentLinks.create(caller, { productId: beans.id });
  await services.paymentLinks.create(caller, { productId: tip.id });
  const checkout = await services.checkouts.create(caller, {
    productId: coffee.id,
    quantity: 2,
    reference: 'order-1',
  });
  return { apiKey: apiKey.key, pageUrl: link.url, checkoutUrl: checkout.url };
}
