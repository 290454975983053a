/** Assets that forms offer and answers name, identified by code and issuer: assets of the same code
 *  are unrelated. Only data, because the dashboard reads it in the browser. */
import type { Network } from './networks.js';

export interface KnownAsset {
  assetCode: string;
  assetIssuer: string;
  network: Network;
  name: string;
  /** Home domain of the issuer. */
  domain: string;
}

const USDC = { assetCode: 'USDC', name: 'USD Coin', domain: 'circle.com' } as const;
const EURC = { assetCode: 'EURC', name: 'Euro Coin', domain: 'circle.com' } as const;

export const KNOWN_ASSETS: readonly KnownAsset[] = [
  { ...USDC, network: 'PUBLIC', assetIssuer: 'GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN' },
  { ...EURC, network: 'PUBLIC', assetIssuer: 'GDHU6WRG4IEQXM5NZ4BMPKOXHW76MZM4Y2IEMFDVXBSDP6SJY4ITNPP2' },
  { ...USDC, network: 'TESTNET', assetIssuer: 'GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5' },
  { ...EURC, network: 'TESTNET', assetIssuer: 'GB3Q6QDZYTHWT7E5PVS3W7FUT5GVAFC5KSZFFLPU25GO7VTC3NM2ZTVO' },
];

/** Null for an unknown asset. The network need not be given, as issuers have a different address
 *  on each. */
export const knownAsset = (assetCode: string, assetIssuer: string | null): KnownAsset | null =>
  KNOWN_ASSETS.find((known) => known.assetCode === assetCode && known.assetIssuer === assetIssuer) ?? null;
