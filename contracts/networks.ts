/** The Stellar networks that the service knows: one row each. */
import { z } from 'zod';

export const NETWORKS = ['PUBLIC', 'TESTNET', 'LOCAL'] as const;
/** The network of a wallet. */
export type Network = (typeof NETWORKS)[number];

export const networkSchema = z.enum(NETWORKS).meta({
  id: 'Network',
  description: 'Stellar network. LOCAL is the built-in development ledger.',
});

export interface NetworkInfo {
  passphrase: string;
  /** Base URLs of Horizon servers, tried in order; none for LOCAL, which the built-in
   *  ledger serves. */
  horizonUrls: readonly string[];
  /** URL of a transaction's page in a block explorer; null when none covers the network. */
  explorerUrl: ((transactionHash: string) => string) | null;
}

export const networkInfo: Record<Network, NetworkInfo> = {
  PUBLIC: {
    passphrase: 'Public Global Stellar Network ; September 2015',
    horizonUrls: ['https://horizon.stellar.org'],
    explorerUrl: (hash) => `https://stellar.expert/explorer/public/tx/${hash}`,
  },
  TESTNET: {
    passphrase: 'Test SDF Network ; September 2015',
    horizonUrls: ['https://horizon-testnet.stellar.org'],
    explorerUrl: (hash) => `https://stellar.expert/explorer/testnet/tx/${hash}`,
  },
  LOCAL: {
    passphrase: 'Standalone Network ; February 2017',
    horizonUrls: [],
    explorerUrl: null,
  },
};
