/** The demo of a first start: an account with an API key, a wallet that exists on the local ledger,
 *  products, links, a checkout, and a market of test assets. */
import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { openAccount } from '../accounts/index.js';
import { sdk } from '../domain/stellar-sdk.js';
import type { Clock } from '../kit/clock.js';
import type { IdPrefix, NewId } from '../kit/ids.js';
import { whileHeld } from '../kit/leases.js';
import type { LedgerClient } from '../local-ledger/index.js';
import type { Context } from './context.js';

// A market on the local ledger, so that a demo can be paid in another asset than it asks for: test
// USDC and EURC, and an account that trades both for lumens at the demo source's rate.
// `cli ledger issue` gives some to any account. Its keys are derived, so that every start can add
// what an earlier one had no time for.

const CODES = ['USDC', 'EURC'];
/** Units of either asset for a lumen: the market maker's ask and bid. */
const ASKED = '0.251';
/** The same in lumens for a unit. */
const ASKED_IN_LUMENS = '4.016';
const ISSUED = '100000';
const LUMENS_FOR_SALE = '4000';
const ASSETS_FOR_SALE = '20000';

const keyOf = ({ passphrase }: LedgerClient, who: string) =>
  sdk().Keypair.fromRawEd25519Seed(createHash('sha256').update(`${passphrase}:demo:${who}`).digest());

/** The demo's wallet, with lumens. May be run again. @returns its address */
export async function fundDemoWallet(client: LedgerClient): Promise<string> {
  const address = keyOf(client, 'wallet').publicKey();
  if ((await holdingsOf(client, address)) === null) await client.fund(address);
  return address;
}

/** Adds what the market lacks, where the demo's wallet is on the ledger. */
export async function completeDemoMarket(client: LedgerClient): Promise<void> {
  const wallet = keyOf(client, 'wallet');
  if ((await holdingsOf(client, wallet.publicKey())) !== null) await openMarket(client, wallet.secret());
}

/** May be run again. @param walletSecret of an account, which can then receive both */
export async function openMarket(client: LedgerClient, walletSecret: string): Promise<void> {
  const wallet = sdk().Keypair.fromSecret(walletSecret);
  const maker = keyOf(client, 'maker');
  const secret = maker.secret();
  if ((await holdingsOf(client, maker.publicKey())) === null) await client.fund(maker.publicKey());
  const held = (await holdingsOf(client, maker.publicKey()))!;
  const trusted = (await holdingsOf(client, wallet.publicKey()))!;
  const offered = await offeredBy(client, maker.publicKey());
  // One after the other: what one run leaves undone is then plain for the next.
  for (const code of CODES) {
    const issuer = held.get(code) ?? (await client.issue({ code, amount: ISSUED, toSecret: secret })).assetIssuer;
    const asset = { code, issuer };
    if (!trusted.has(code)) await client.trust({ secret: walletSecret, assetCode: code, assetIssuer: issuer });
    if (!offered.has(`XLM/${code}`))
      await client.offer({ secret, selling: null, buying: asset, amount: LUMENS_FOR_SALE, price: ASKED });
    if (!offered.has(`${code}/XLM`))
      await client.offer({ secret, selling: asset, buying: null, amount: ASSETS_FOR_SALE, price: ASKED_IN_LUMENS });
  }
}

/** Issuers of the assets that an account trusts, by code; null without the account. */
async function holdingsOf({ server }: LedgerClient, address: string): Promise<Map<string, string> | null> {
  try {
    const { balances } = await server.loadAccount(address);
    return new Map(balances.flatMap((line) => ('asset_code' in line ? [[line.asset_code, line.asset_issuer]] : [])));
  } catch (error) {
    if ((error as { response?: { status?: number } }).response?.status === 404) return null;
    throw error;
  }
}

/** What it offers: `SOLD/BOUGHT` by code. */
async function offeredBy({ server }: LedgerClient, address: string): Promise<Set<string>> {
  const { records } = await server.offers().seller(address).limit(200).call();
  return new Set(
    records.map(({ selling, buying }) => [selling, buying].map((each) => each.asset_code ?? 'XLM').join('/')),
  );
}

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
 *  @param show is told the demo; null when there already is an account, or no built-in ledger.
 *  Afterwards the demo is done for good */
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

/** One process at a time works on the demo: others wait for it, and for the lease of one that
 *  was killed. */
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
  return begun ? !begun.isDone : !(await accounts.isAny());
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
