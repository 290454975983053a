/** The Stellar networks that the service knows: one row each. */
import { z } from 'zod';

export const NETWORKS = ['PUBLIC', 'TESTNET', 'LOCAL'] as const;
/** Where a wallet lives. */
export type Network = (typeof NETWORKS)[number];

export const networkSchema = z.enum(NETWORKS).meta({
  id: 'Network',
  description: 'Stellar network. LOCAL is the built-in development ledger.',
});

export interface NetworkInfo {
  passphrase: string;
  /** Horizon bases tried in order; LOCAL has none because the built-in ledger serves it. */
  horizonUrls: readonly string[];
  /** Block explorer page of a transaction, or null where no explorer knows the network. */
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
