/** Reads Horizon: a list of bases that serve one network, tried in order, asked within the request budget and never trusted. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import type { RequestBudget } from './budget.js';
import type { ParsedPage } from './page.js';

export interface HorizonOptions {
  network: Network;
  /** Tried in order; may hold keys in path, query or user info, which are never shown. */
  urls: readonly string[];
  passphrase: string;
  /** Null for no limit. */
  budget: RequestBudget | null;
  clock: Clock;
  log: Logger;
  /** Of one request, its body included. Default 10,000. */
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
}

export interface Root {
  latestLedger: number;
  latestClosedAt: Date;
  /** The oldest ledger that is kept. */
  elderLedger: number;
  passphrase: string;
}

export interface Ledger {
  sequence: number;
  hash: string;
  closedAt: Date;
}

/** Records after the cursor, oldest first. */
export interface Page extends ParsedPage {
  /** As many records as were asked for: there may be more. */
  full: boolean;
  /** Horizon answered 410: it no longer keeps what lies behind the cursor. */
  gone: boolean;
}

/** All verbs reject with `HorizonUnavailable` or `WrongNetwork`; those of the budget pass through. */
export interface HorizonSession {
  /** Which base answers this session, as shown in logs: host, without secrets. Null before the first answer. */
  readonly base: string | null;
  root(): Promise<Root>;
  /** An account that Horizon's history has never seen has an empty page. `limit` at most 200. */
  accountPayments(address: string, cursor: string, limit: number): Promise<Page>;
  /** Of the whole network. */
  payments(cursor: string, limit: number): Promise<Page>;
  /** `gone` before the oldest ledger that is kept; null for one that Horizon does not know (yet). */
  ledger(sequence: number): Promise<Ledger | 'gone' | null>;
  /** Raw, for `parseRecord`; null when Horizon does not know it. */
  transaction(hash: string): Promise<unknown>;
  /** Raw, for `parseRecord`; null when Horizon does not know the operation. */
  operationEffects(operationId: string): Promise<unknown>;
  /** The newest ledger that closed at or before the time; null when Horizon keeps none that old. */
  ledgerAtOrBefore(time: Date): Promise<Pick<Ledger, 'sequence' | 'closedAt'> | null>;
}

export interface Horizon {
  /** The first request goes along the list until a base answers; all that follow go to that base, so that a root and pages belong together. */
  session(): HorizonSession;
  /** Asks every base. @throws WrongNetwork when one that answers serves another network; those that do not answer are passed over. */
  checkNetwork(): Promise<void>;
  /** Ends what is in flight: it rejects with `HorizonUnavailable`. */
  close(): Promise<void>;
}

export declare function createHorizon(options: HorizonOptions): Horizon;
