/** Reads Horizon: a list of bases that serve one network, tried in order, asked within the request budget and never trusted. */
import type { Logger } from 'pino';
import type { Network } from '../../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../../clock.js';
import { type Ask, createVerbs, type HorizonVerbs, type Root, toAnswer } from './api.js';
import { type Base, BaseFault, candidates, createBases, noteAnswer, noteFault, pauseMs } from './base.js';
import type { RequestBudget } from './budget.js';
import { createRequester, type Fetch } from './request.js';
import { HorizonUnavailable, WrongNetwork } from './unavailable.js';

export type { Ledger, Page, Root } from './api.js';

export interface HorizonOptions {
  network: Network;
  /** Tried in order; may hold keys in path, query or user info, which are never shown. */
  urls: readonly string[];
  passphrase: string;
  /** Null for no limit. */
  budget: RequestBudget | null;
  clock: Clock;
  /** Time that passed, which pauses go by, wherever the clock is set to meanwhile. Default the clock. */
  monotonic?: MonotonicClock;
  log: Logger;
  /** Of one request, its body included. Default 10,000. */
  timeoutMs?: number;
  fetch?: Fetch;
}

/** All verbs reject with `HorizonUnavailable` or `WrongNetwork`; what the budget itself rejects with passes through. */
export interface HorizonSession extends HorizonVerbs {
  /** Which base answers this session: its host. Null before the first answer. */
  readonly base: string | null;
}

export interface Horizon {
  /** The first request goes along the list until a base answers; all that follow go to that base, so that a root and pages belong together.
   *  A session is for one piece of work: when it fails, the next one finds the next base. */
  session(): HorizonSession;
  /** Asks every base. @throws WrongNetwork when one that answers serves another network; those that do not answer are passed over. */
  checkNetwork(): Promise<void>;
  /** Ends what is in flight: it rejects with `HorizonUnavailable`. */
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
/** For a base that failed before, while another one could answer meanwhile. */
const PROBE_TIMEOUT_MS = 3_000;
/** Longer waits for the budget are the caller's. */
const LONGEST_BUDGET_WAIT_MS = 5_000;
/** A request that Horizon calls bad will not get better soon. */
const REFUSED_RETRY_MS = 60_000;

interface Question<T> {
  /** @param root when it has just been asked, to check the network. */
  put(verbs: HorizonVerbs, root: Root | null): Promise<T>;
  /** A base that failed has recovered when it answers this; a root alone proves little. */
  proves: boolean;
}

const that = <T>(put: (verbs: HorizonVerbs) => Promise<T>): Question<T> => ({ put, proves: true });
const ROOT: Question<Root> = { put: async (verbs, root) => root ?? (await verbs.root()), proves: false };

export function createHorizon(options: HorizonOptions): Horizon {
  const { network, passphrase, budget, clock, monotonic = clock, timeoutMs = TIMEOUT_MS } = options;
  const bases = createBases(options.urls);
  const log = options.log.child({ network });
  const requester = createRequester(clock, options.fetch);
  const closing = new AbortController();

  async function spend(): Promise<void> {
    const until = monotonic.nowMs() + LONGEST_BUDGET_WAIT_MS;
    for (let waitMs = await budget?.take(1); waitMs; waitMs = await budget?.take(1)) {
      if (monotonic.nowMs() + waitMs > until) throw new HorizonUnavailable('the request budget is used up', waitMs);
      await clock.sleep(waitMs, closing.signal);
      if (closing.signal.aborted) throw new HorizonUnavailable('closed', 0);
    }
  }

  const asking =
    (base: Base, withinMs: number): Ask =>
    async (path, query) => {
      await spend();
      const { status, body, retryAfterMs } = await requester.get(base.url(path, query), base.headers, withinMs);
      if (status === 400) throw new HorizonUnavailable(`${base.label}: refused the request`, REFUSED_RETRY_MS);
      return toAnswer(status, body, retryAfterMs);
    };

  /** @throws BaseFault or WrongNetwork, which are noted, or HorizonUnavailable when the base is not to blame. */
  async function put<T>(base: Base, question: Question<T>, withinMs: number): Promise<T> {
    const verbs = createVerbs(asking(base, withinMs), passphrase, base.label);
    try {
      const root = base.verified ? null : await verbs.root();
      base.verified = true;
      const answer = await question.put(verbs, root);
      if (question.proves && noteAnswer(base, monotonic.nowMs()))
        log.info({ base: base.label }, 'Horizon answers again');
      return answer;
    } catch (error) {
      if (closing.signal.aborted) throw new HorizonUnavailable('closed', 0);
      if (error instanceof BaseFault || error instanceof WrongNetwork) {
        const first = base.faults === 0;
        noteFault(base, error, monotonic.nowMs());
        log[first ? 'warn' : 'debug']({ base: base.label, reason: error.message }, 'Horizon does not answer');
      }
      throw error;
    }
  }

  function unavailable(blamed: readonly Base[]): HorizonUnavailable | WrongNetwork {
    const faults = blamed.map((base) => base.lastFault);
    const wrong = faults.find((fault) => fault instanceof WrongNetwork);
    if (wrong && faults.every((fault) => fault instanceof WrongNetwork)) return wrong;
    const reasons = blamed.map(({ label, lastFault }) => `${label}: ${lastFault?.message ?? 'no answer'}`);
    return new HorizonUnavailable(reasons.join('; '), pauseMs(bases, monotonic.nowMs()));
  }

  /** Along the list, until one answers. */
  async function first<T>(question: Question<T>): Promise<{ base: Base; answer: T }> {
    const open = candidates(bases, monotonic.nowMs());
    for (const base of open) {
      const withinMs = base.faults > 0 && open.length > 1 ? Math.min(PROBE_TIMEOUT_MS, timeoutMs) : timeoutMs;
      try {
        return { base, answer: await put(base, question, withinMs) };
      } catch (error) {
        if (!(error instanceof BaseFault || error instanceof WrongNetwork)) throw error;
      }
    }
    throw unavailable(bases);
  }

  async function only<T>(base: Base, question: Question<T>): Promise<T> {
    if (base.barredUntil > monotonic.nowMs()) throw unavailable([base]);
    try {
      return await put(base, question, timeoutMs);
    } catch (error) {
      throw error instanceof BaseFault ? unavailable([base]) : error;
    }
  }

  return {
    session() {
      let pinned: Promise<Base> | null = null;
      let label: string | null = null;
      async function ask<T>(question: Question<T>): Promise<T> {
        if (pinned) return only(await pinned, question);
        const found = first(question);
        pinned = found.then(({ base }) => base);
        // Those who wait for it see it reject; nobody else need.
        pinned.catch(() => undefined);
        const { base, answer } = await found;
        label = base.label;
        return answer;
      }
      return {
        get base() {
          return label;
        },
        root: () => ask(ROOT),
        account: (...args) => ask(that((verbs) => verbs.account(...args))),
        accountPayments: (...args) => ask(that((verbs) => verbs.accountPayments(...args))),
        payments: (...args) => ask(that((verbs) => verbs.payments(...args))),
        ledger: (...args) => ask(that((verbs) => verbs.ledger(...args))),
        transaction: (...args) => ask(that((verbs) => verbs.transaction(...args))),
        operationEffects: (...args) => ask(that((verbs) => verbs.operationEffects(...args))),
        ledgerAtOrBefore: (...args) => ask(that((verbs) => verbs.ledgerAtOrBefore(...args))),
      };
    },

    async checkNetwork() {
      for (const base of bases) {
        await only(base, ROOT).catch((error) => {
          if (!(error instanceof HorizonUnavailable)) throw error;
        });
      }
    },

    async close() {
      closing.abort();
      await requester.close();
    },
  };
}
