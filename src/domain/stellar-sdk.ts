/** The Stellar SDK's XDR, transactions and keys: they take 28 MB and a good part of the start, and are loaded when they are needed first. */
import { createRequire } from 'node:module';

type Sdk = typeof import('@stellar/stellar-sdk/base');

const require = createRequire(import.meta.url);

/** The newest protocol whose XDR it can decode. */
export const SDK_PROTOCOL = 29;

/** What an operator has to know of a network's protocol; null where there is nothing. @param protocol null where the source does not say */
export const protocolWarning = (protocol: number | null | undefined): string | null =>
  typeof protocol === 'number' && protocol > SDK_PROTOCOL
    ? `protocol ${protocol} is newer than what this version can decode (${SDK_PROTOCOL}): upgrade it. Until then payments are read by events and by the servers' own JSON.`
    : null;

/** All of it. The first call loads it. */
export const sdk = (): Sdk => require('@stellar/stellar-sdk/base') as Sdk;
