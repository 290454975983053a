/** The Stellar SDK's XDR, transactions and keys, loaded on first use: they take 28 MB and much of
 *  the start-up time. */
import { createRequire } from 'node:module';

type Sdk = typeof import('@stellar/stellar-sdk/base');

const require = createRequire(import.meta.url);

/** The newest protocol whose XDR it can decode. */
export const SDK_PROTOCOL = 29;

/** What an operator must know about a network's protocol; null for nothing. @param protocol null if
 *  the source does not tell */
export const protocolWarning = (protocol: number | null | undefined): string | null =>
  typeof protocol === 'number' && protocol > SDK_PROTOCOL
    ? `protocol ${protocol} is newer than what this version can decode (${SDK_PROTOCOL}): upgrade stellar-collect. Until then payments are read by events and by the servers' own JSON.`
    : null;

/** The first call loads the SDK. */
export const sdk = (): Sdk => require('@stellar/stellar-sdk/base') as Sdk;
