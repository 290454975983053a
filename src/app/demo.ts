/** The demo of a first start: an account with an API key, a wallet that exists on the local ledger, products, links, and a
 *  checkout. */

import type { Logger } from 'pino';
import { openAccount } from '../accounts/index.js';
import type { Clock } from '../kit/clock.js';
import type { IdPrefix, NewId } from '../kit/ids.js';
import { whileHeld } from '../kit/lease.js';
import type { Context } from './context.js';
import { completeDemoMarket, fundDemoWallet } from './demo-market.js';

export interface Demo {
  apiKey: string;
  /** The link's hosted page. */
  pageUrl: string;
  /** The checkout's hosted page. */
  checkoutUrl: string;
}

type DemoContext = Pick<Context, 'services' | 'stores' | 'commit' | 'localLedger'>;

interface Tools {
  clock: Clock;
  newId: NewId;
  log: Logger;
}

const LEASE_MS = 6000;
const LOOK_MS = 500;
/** Longer than the lease of a process that was killed over it. */
const PATIENCE_MS = 2 * LEASE_MS;
/** More than there are steps. */
const MAX_STEPS = 16;

/** Makes the demo of a first start, or completes the one of a start that died before it was shown.
 *  @param show is told the demo; null when there already is an account, or no built-in ledger. Afterwards the demo is done for good */
export async function createDemo(context: DemoContext, tools: Tools, show: (demo: Demo | null) => void): Promise<void> {
  const { installation } = context.stores.system;
  const makeAndShow = async () => {
    if (!(await isWanted(context))) return false;
    const suffixes = (await installation.demo())?.suffixes ?? newSuffixes(tools);
    // Before its first step, so that the next start finds it begun.
    await installation.saveDemo({ suffixes, isDone: false });
    show(await makeDemo(context, tools, suffixes));
    await installation.saveDemo({ suffixes, isDone: true });
    return true;
  };
  const isMade = (await isWanted(context)) && (await alone(context, tools, makeAndShow));
  if (!isMade) show(null);
}

/** Adds what the demo's market lacks. */
export const completeMarket = (context: DemoContext, tools: Tools): Promise<unknown> =>
  alone(context, tools, () => completeDemoMarket(context.localLedger!.client));

/** One process at a time works on the demo: others wait for it, and for the lease of one that was killed. */
async function alone<T>(
  { stores }: DemoContext,
  { clock, newId, log }: Tools,
  work: () => Promise<T>,
): Promise<T | null> {
  const lease = { leases: stores.system.leases, name: 'demo', holder: newId('acct'), ms: LEASE_MS, clock, log };
  let done: { answer: T } | null = null;
  for (let waitedMs = 0; done === null && waitedMs <= PATIENCE_MS; waitedMs += LOOK_MS) {
    if (waitedMs > 0) await clock.sleep(LOOK_MS);
    done = await whileHeld(lease, new AbortController().signal, async () => ({ answer: await work() }));
  }
  return done?.answer ?? null;
}

async function isWanted({ stores, localLedger }: DemoContext): Promise<boolean> {
  const { installation, accounts } = stores.system;
  if (!localLedger) return false;
  const begun = await installation.demo();
  return begun ? !begun.isDone : (await accounts.list({ page: 1, pageSize: 1 })).meta.total === 0;
}

const newSuffixes = ({ newId }: Tools): string[] =>
  Array.from({ length: MAX_STEPS }, () => newId('acct').slice('acct_'.length));

/** @param suffixes of the ids of each step, by which a repeated one finds what it made */
async function makeDemo(
  { services, stores, commit, localLedger }: DemoContext,
  { clock, newId }: Tools,
  suffixes: readonly string[],
): Promise<Demo> {
  let step = 0;
  const nextId = () => {
    const suffix = suffixes[step++]!;
    return (prefix: IdPrefix) => `${prefix}_${suffix}`;
  };
  const address = await fundDemoWallet(localLedger!.client);
  const { account, apiKey } = await openAccount(
    { accounts: stores.system.accounts, commit, apiKeys: services.apiKeys, clock, newId, reservedId: nextId() },
    'Demo',
  );
  const known = { accountId: account.id, keyId: apiKey.id, scope: 'FULL', agent: 'system' } as const;
  const caller = () => ({ ...known, reservedId: nextId() });
  const wallet = await services.wallets.create(caller(), { name: 'Demo wallet', address, network: 'LOCAL' });
  const common = { walletId: wallet.id, assetCode: 'XLM', active: true };
  const coffee = await services.products.create(caller(), {
    ...common,
    name: 'Bag of coffee',
    description: 'One kilogram of beans, roasted yesterday.',
    priceType: 'FIXED',
    price: '25',
  });
  const tip = await services.products.create(caller(), {
    ...common,
    name: 'Tip jar',
    description: 'As much as you like, from 1 XLM.',
    priceType: 'CUSTOM',
    minAmount: '1',
  });
  const beans = await services.products.create(caller(), {
    ...common,
    name: 'Bag of beans',
    description: 'Half a kilogram, priced in euros and paid in XLM.',
    priceType: 'FIXED',
    price: '9.50',
    currency: 'EUR',
  });
  const link = await services.paymentLinks.create(caller(), { productId: coffee.id });
  await services.paymentLinks.create(caller(), { productId: beans.id });
  await services.paymentLinks.create(caller(), { productId: tip.id });
  const checkout = await services.checkouts.create(caller(), {
    productId: coffee.id,
    quantity: 2,
    reference: 'order-1',
  });
  return { apiKey: apiKey.key, pageUrl: link.url, checkoutUrl: checkout.url };
}
