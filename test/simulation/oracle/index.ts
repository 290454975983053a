/** The oracle: pure functions that say what must hold of a run, worked out from what the payers
 *  sent and when the merchants acted. Each returns the broken promises, one sentence each. */
import type { Chain } from '../chain.js';
import type { Doc, Knowledge } from '../knowledge.js';
import type { Arrival } from '../receiver.js';
import { checkAudits } from './audits.js';
import { mustHaveEnded } from './checkouts.js';
import { checkDeliveries, isUnopened, undelivered } from './deliveries.js';
import { checkPayments } from './payments.js';
import type { RateObserver } from './rates.js';
import { checkRefunds, unbooked } from './refunds.js';
import { checkGapsTold, checkSequences, unnumbered } from './sequences.js';
import { forgotten, missing, type StoredForWatching } from './watching.js';

export { checkSettled } from './deliveries.js';
export { EventReader } from './sequences.js';
export { checkBudget, checkStrangers, checkSync } from './watching.js';

export interface Stored extends StoredForWatching {
  links: Doc[];
  events: Doc[];
  deliveries: Doc[];
  webhooks: Doc[];
  checkouts: Doc[];
  refunds: Doc[];
  audits: Doc[];
}

/** The collection that each list of `Stored` comes from. */
export const COLLECTIONS: Readonly<Record<keyof Stored, string>> = {
  wallets: 'wallets',
  cursors: 'cursors',
  networkStates: 'networkStates',
  payments: 'payments',
  links: 'paymentLinks',
  events: 'events',
  deliveries: 'deliveries',
  webhooks: 'webhooks',
  checkouts: 'checkouts',
  parkedRecords: 'parkedRecords',
  refunds: 'refunds',
  audits: 'audits',
};

const everything = () => Number.POSITIVE_INFINITY;

export const isSent = (stored: Pick<Stored, 'events' | 'deliveries' | 'webhooks'>): boolean =>
  unnumbered(stored.events).length === 0 && !isUnopened(stored) && undelivered(stored).length === 0;

/** Whether nothing is left to do: everything that must be read is read, and everything that must be
 *  sent is sent. */
export const isAtRest = (known: Knowledge, chain: Chain, stored: Stored): boolean =>
  isSent(stored) &&
  !stored.checkouts.some((checkout) => mustHaveEnded(known, chain, checkout, stored)) &&
  missing(known, chain, stored, everything).length === 0 &&
  unbooked(known, chain, stored).length === 0 &&
  forgotten(known, chain, stored).length === 0;

/** Payments that must be stored although one address cannot be read. */
export const checkOthers = (known: Knowledge, chain: Chain, stored: Stored, broken: string): string[] => {
  const others = stored.wallets.filter(({ address }) => address !== broken);
  // What lists leave out is found by audits, later.
  const isAudited = false;
  // As for what a wallet claims to have read, parked counts: it is read again at longer and
  // longer intervals.
  const upToNow = () => chain.latest.sequence;
  return missing({ ...known, isAudited }, chain, { ...stored, wallets: others }, upToNow).map(
    (each) => `${each}, because another account cannot be read`,
  );
};

/** Everything that must hold once faults have stopped and time has passed. */
export const checkAll = (
  known: Knowledge,
  chain: Chain,
  arrivals: readonly Arrival[],
  stored: Stored,
  {
    maxAttempts,
    finals,
    rates,
  }: { maxAttempts: number; finals: ReadonlyMap<string, string> | null; rates: RateObserver },
): string[] => [
  ...known.faults,
  ...missing(known, chain, stored, everything),
  ...forgotten(known, chain, stored),
  ...checkPayments(known, chain, stored, rates),
  ...checkRefunds(known, chain, stored),
  ...checkAudits(known, chain, stored, finals),
  ...checkSequences(stored),
  ...checkGapsTold(stored),
  ...checkDeliveries(known, arrivals, stored, maxAttempts),
];
