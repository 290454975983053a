/** A network's ledger, read from a list of servers that are tried in order, asked within the request budget and never trusted. */
import type { Logger } from 'pino';
import type { Clock, MonotonicClock } from '../clock.js';
import type { RequestBudget } from './budget.js';
import { LedgerUnavailable, SourceError, UnfitServer } from './errors.js';
import { createFailover, type LedgerServer, type Server, type SourceCall } from './failover.js';
import type { AccountHistory } from './history.js';
import { createPageSizes } from './page-sizes.js';
import type { LedgerSource, LedgerTip, Page } from './source.js';

/** All calls reject with `LedgerUnavailable` or `UnfitServer`; what the budget itself rejects with passes through. */
export interface LedgerSession extends Required<LedgerSource> {
  /** Which server answers this session. Null before the first answer. */
  readonly server: string | null;
  /** How many requests it has sent. */
  readonly requests: number;
  /** It stays with a server that is not the first of the list, for so long that the first should be tried again. */
  isStale(): boolean;
  /** Asks every server of the network how much of the ledger it has. Null for one that does not answer. */
  tips(): Promise<ServerTip[]>;
  /** A session with this server only. */
  on(server: string): LedgerSession;
}

export interface ServerTip {
  server: string;
  hasHistories: boolean;
  tip: LedgerTip | null;
}

export interface SessionOptions {
  /** Waits for the budget however long it takes, until the signal aborts. Without it a longer wait is an error, which names the wait. */
  patience?: AbortSignal;
  /** A part of the budget that the session's requests must have as well; null for no limit of its own. */
  share?: RequestBudget | null;
}

export interface NetworkLedger {
  /** No budget limits its requests. */
  readonly isFree: boolean;
  /** The first request goes along the list until a server answers; all that follow go to that server, so that a tip and pages belong together.
   *  A session is for one piece of work: when it fails, the next one finds the next server. */
  session(options?: SessionOptions): LedgerSession;
  /** Asks every server. @throws UnfitServer when one that answers must not be read; those that do not answer are passed over. */
  checkNetwork(): Promise<void>;
  /** Ends what is in flight: it rejects with `LedgerUnavailable`. */
  close(): Promise<void>;
}

export interface NetworkLedgerOptions {
  servers: readonly LedgerServer[];
  /** Null for no limit. */
  budget: RequestBudget | null;
  clock: Clock;
  /** Pauses go by the time that passed, wherever the clock is set to meanwhile. Default the clock. */
  monotonic?: MonotonicClock;
  log: Logger;
  /** Of one request, its body included. Default 10,000. */
  timeoutMs?: number;
  onClose(): Promise<void>;
}

/** Longer waits for the budget are the caller's. */
const LONGEST_BUDGET_WAIT_MS = 5_000;
/** The first server of the list is tried again after this. */
const FIRST_AGAIN_MS = 60_000;

const callOf = <T>(run: (source: LedgerSource) => Promise<T>): SourceCall<T> => ({ run, provesHealthy: true });
const pageCall = (run: (source: LedgerSource, withinMs: number) => Promise<Page>): SourceCall<Page> => ({
  run: (source, _tip, withinMs) => run(source, withinMs),
  provesHealthy: true,
});
const TIP: SourceCall<LedgerTip> = { run: async (source, tip) => tip ?? (await source.tip()), provesHealthy: false };

/** @throws LedgerUnavailable */
function historyOf({ history }: LedgerSource): AccountHistory {
  if (history) return history;
  throw new LedgerUnavailable('it keeps no histories of accounts', 0);
}

export function createNetworkLedger(options: NetworkLedgerOptions): NetworkLedger {
  const { budget, clock, monotonic = clock, log, timeoutMs } = options;
  const closing = new AbortController();
  const { servers, runOnFirst, runOn } = createFailover({
    servers: options.servers,
    closed: closing.signal,
    monotonic,
    timeoutMs,
    log,
  });
  const sizes = createPageSizes();

  /** @throws LedgerUnavailable */
  async function takeFrom(allowance: RequestBudget | null, patience: AbortSignal | undefined): Promise<void> {
    if (!allowance) return;
    const until = patience ? Number.POSITIVE_INFINITY : monotonic.nowMs() + LONGEST_BUDGET_WAIT_MS;
    for (let waitMs = await allowance.take(1); waitMs; waitMs = await allowance.take(1)) {
      if (monotonic.nowMs() + waitMs > until) throw new LedgerUnavailable('the request budget is used up', waitMs);
      // Not before there is something to wait for: Node 20 remembers each joined signal for as long as one of its sources lives.
      const ended = patience ? AbortSignal.any([patience, closing.signal]) : closing.signal;
      await clock.sleep(waitMs, ended);
      if (ended.aborted) throw new LedgerUnavailable('closed', 0);
    }
  }

  /** Reads a page, with fewer records at once where more are too many. One record that is too large is read without its transaction. */
  async function readPage(
    stream: string | null,
    { limit, withinMs }: { limit: number; withinMs: number },
    read: (limit: number, lean: boolean) => Promise<Page>,
  ): Promise<Page> {
    const startedMs = monotonic.nowMs();
    for (let lean = false; ; ) {
      const size = lean ? 1 : sizes.of(stream, limit);
      try {
        const page = await read(size, lean);
        sizes.grow(stream, size, limit);
        return page;
      } catch (error) {
        if (!(error instanceof SourceError) || error.kind === 'server') throw error;
        const isSmaller = sizes.shrink(stream, size);
        if (error.kind === 'too_large') {
          if (lean) throw error;
          lean = !isSmaller;
        } else if (!isSmaller || monotonic.nowMs() - startedMs >= withinMs) {
          // What is slow may be fast elsewhere, or later; fewer are asked for then.
          throw error;
        }
      }
    }
  }

  /** @param only the server to ask; null goes along the list. */
  function sessionWith(only: Server | null, sessionOptions: SessionOptions): LedgerSession {
    const { patience, share = null } = sessionOptions;
    let pinned: Promise<Server> | null = only && Promise.resolve(only);
    let answering: Server | null = only;
    let sinceMs = monotonic.nowMs();
    let requests = 0;
    const spend = async () => {
      await takeFrom(share, patience);
      await takeFrom(budget, patience);
      requests += 1;
    };
    const on = (server: Server) => {
      const other = sessionWith(server, sessionOptions);
      others.push(other);
      return other;
    };
    const others: LedgerSession[] = [];
    async function ask<T>(call: SourceCall<T>): Promise<T> {
      if (pinned) return runOn(await pinned, call, spend);
      const found = runOnFirst(call, spend);
      pinned = found.then(({ server }) => server);
      // Those who wait for it see it reject; nobody else need.
      pinned.catch(() => undefined);
      const { server, answer } = await found;
      [answering, sinceMs] = [server, monotonic.nowMs()];
      return answer;
    }
    const askPage = (
      stream: string | null,
      limit: number,
      read: (source: LedgerSource, size: number, lean: boolean) => Promise<Page>,
    ): Promise<Page> =>
      ask(
        pageCall((source, withinMs) => readPage(stream, { limit, withinMs }, (size, lean) => read(source, size, lean))),
      );
    return {
      get server() {
        return answering?.label ?? null;
      },
      get requests() {
        return others.reduce((sum, other) => sum + other.requests, requests);
      },
      isStale: () => answering !== null && answering !== servers[0] && monotonic.nowMs() - sinceMs > FIRST_AGAIN_MS,
      tip: () => ask(TIP),
      accountPayments: (address, cursor, limit, pageOptions) =>
        askPage(address, limit, (source, size, lean) =>
          source.accountPayments(address, cursor, size, { ...pageOptions, lean }),
        ),
      payments: (cursor, limit, pageOptions) =>
        askPage(null, limit, (source, size, lean) => source.payments(cursor, size, { ...pageOptions, lean })),
      quietCheck: (...args) => ask(callOf((source) => source.quietCheck(...args))),
      complete: (...args) => ask(callOf((source) => source.complete(...args))),
      transactionRecords: (...args) => ask(callOf((source) => source.transactionRecords(...args))),
      ledger: (...args) => ask(callOf((source) => source.ledger(...args))),
      ledgerAtOrBefore: (...args) => ask(callOf((source) => source.ledgerAtOrBefore(...args))),
      account: (...args) => ask(callOf((source) => source.account(...args))),
      holdings: (...args) => ask(callOf((source) => source.holdings(...args))),
      sequenceOf: (...args) => ask(callOf((source) => source.sequenceOf(...args))),
      submit: (...args) => ask(callOf((source) => source.submit(...args))),
      history: {
        effects: (...args) => ask(callOf((source) => historyOf(source).effects(...args))),
        operations: (...args) => ask(callOf((source) => historyOf(source).operations(...args))),
        operation: (...args) => ask(callOf((source) => historyOf(source).operation(...args))),
        fees: (...args) => ask(callOf((source) => historyOf(source).fees(...args))),
        effectsEnd: (...args) => ask(callOf((source) => historyOf(source).effectsEnd(...args))),
        feesEnd: (...args) => ask(callOf((source) => historyOf(source).feesEnd(...args))),
      },
      tips: () =>
        Promise.all(
          servers.map(async (server) => {
            try {
              return { server: server.label, hasHistories: server.hasHistories, tip: await on(server).tip() };
            } catch (error) {
              if (!(error instanceof LedgerUnavailable || error instanceof UnfitServer)) throw error;
              return { server: server.label, hasHistories: server.hasHistories, tip: null };
            }
          }),
        ),
      on(label) {
        const server = servers.find((each) => each.label === label);
        if (!server) throw new RangeError(`no server is called ${label}`);
        return on(server);
      },
    };
  }

  return {
    isFree: budget === null,

    session: (sessionOptions = {}) => sessionWith(null, sessionOptions),

    async checkNetwork() {
      for (const server of servers) {
        await sessionWith(server, {})
          .tip()
          .catch((error) => {
            if (!(error instanceof LedgerUnavailable)) throw error;
          });
      }
    },

    async close() {
      closing.abort();
      await options.onClose();
    },
  };
}
