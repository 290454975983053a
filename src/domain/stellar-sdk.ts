/** The Stellar SDK, in two parts: XDR and transactions take 28 MB and a good part of the start, and are loaded when they are needed first. */
import { createRequire } from 'node:module';

type Sdk = typeof import('@stellar/stellar-sdk/minimal');

const require = createRequire(import.meta.url);

/** All of it. The first call loads it. */
export const sdk = (): Sdk => require('@stellar/stellar-sdk/minimal') as Sdk;

/** Addresses as text (SEP-23). */
export const { StrKey } = require('@stellar/stellar-base/lib/strkey.js') as Pick<Sdk, 'StrKey'>;
