/** A market on the local ledger, so that a demo can be paid in another asset than it asks for: test USDC and EURC, and an account that trades both for lumens
 *  at the demo source's rate. `cli ledger issue` gives some to any account. Its keys are derived, so that every start can add what an earlier one had no time
 *  for. */
import { createHash } from 'node:crypto';
import { sdk } from '../domain/stellar-sdk.js';
import type { LedgerClient } from '../local-ledger/index.js';

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
