/** The shared state of a simulated run. */
import { Keypair } from '@stellar/stellar-sdk';
import type { Caller } from '../../src/kit/caller.js';
import type { Chain } from './chain.js';
import type { SimulatedDatabase } from './database.js';
import type { Scenario } from './generator.js';
import type { Hardships } from './hardships.js';
import type { Knowledge } from './knowledge.js';
import type { Market } from './market.js';
import type { Network } from './network.js';
import type { RateObserver } from './oracle/rates.js';
import type { Random } from './random.js';
import type { Receiver } from './receiver.js';
import type { Scheduler } from './scheduler.js';

export interface Run {
  random: Random;
  scenario: Scenario;
  hardships: Hardships;
  scheduler: Scheduler;
  database: SimulatedDatabase;
  chain: Chain;
  network: Network;
  receiver: Receiver;
  /** Null without rates. */
  market: Market | null;
  rates: RateObserver;
  known: Knowledge;
  /** Faults and merchants have stopped for good. */
  isCalm: boolean;
  /** Probability that a worker dies at a step even then. */
  lateCrash: number;
  /** Failure of the simulation itself; null when there is none. */
  failure(): Error | null;
}

const keypairs = Array.from({ length: 8 }, (_, n) => Keypair.fromRawEd25519Seed(Buffer.alloc(32, n + 40)).publicKey());
export const [PAYER, ISSUER, STRANGER, ...ADDRESSES] = keypairs as [string, string, string, ...string[]];
/** The account whose offers are taken by payments in another asset, and that asset. */
export const MAKER = Keypair.fromRawEd25519Seed(Buffer.alloc(32, 90)).publicKey();
export const SENT = { code: 'EURC', issuer: ISSUER };
export const ACCOUNTS = ['acct_a', 'acct_b'] as const;

export const callerOf = (accountId: string): Caller => ({ accountId, keyId: 'key_1', scope: 'FULL' });
