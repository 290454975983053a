/** A network's ledger, read from a list of servers that are tried in order, asked within the request budget and never trusted. */
import type { Logger } from 'pino';
import type { Clock, MonotonicClock } from '../clock.js';
import { protocolWarning } from '../domain/stellar-sdk.js';
import type { Asker, LedgerBudget, RequestBudget } from './budget.js';
import { BudgetUsedUp, LedgerUnavailable, SourceError, UnfitServer } from './errors.js';
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
  /** Asks every server of the network how much of the ledger it has. Null for one that does not answer. @throws BudgetUsedUp */
  tips(): Promise<ServerTip[]>;
  /** A session with this server only. */
  on(server: string): LedgerSession;
}

export interface ServerTip {
  server: string;
  hasHistories: boolean;
  tip: LedgerTip | null;
}

export interface NetworkLedger {
  /** No budget limits its requests. */
  readonly isFree: boolean;
  /** The installation closes its ledgers itself: what it says is the newest one is. */
  readonly isOwn: boolean;
  /** Names of its servers, in the order in which they are tried. */
  readonly servers: readonly string[];
  /** Those of them that find ways to pay in another asset: the Horizons. */
  readonly finders: readonly string[];
  /** The first request goes along the list until a server answers; all that follow go to that server, so that a tip and pages belong together.
   *  A session is for one piece of work: when it fails, the next one finds the next server.
   *  @param asker whose share of the budget its requests are taken from
   *  @param patience waits for the budget however long it takes, until it aborts. Without it a longer wait is `BudgetUsedUp`. */
  session(asker: Asker, patience?: AbortSignal): LedgerSession;
  /** Requests that others have sent since this was last called, as the watcher's sessions find them in the budget they share. */
  othersSpent(): number;
  /** Asks every server, and warns of a protocol that is too new to be decoded. @throws UnfitServer when one that answers must not be read; those that do not answer are passed over. */
  checkNetwork(): Promise<void>;
  /** Ends what is in flight: it rejects with `LedgerUnavailable`. */
  close(): Promise<void>;
}

export interface NetworkLedgerOptions {
  servers: readonly LedgerServer[];
  /** Null for no limit. */
  budget: LedgerBudget | null;
  /** Default false. */
  isOwn?: boolean;
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
/** What one record lacks may keep the watcher waiting so long: the record is set aside then, and tried again by itself. */
const WATCHED_RECORD_MS = 2_000;
/** A page is shown without what it asked by then. */
const LONGEST_PAGE_WAIT_MS = 500;
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

/** @throws LedgerUnavailable */
function waysOf({ waysTo }: LedgerSource): NonNullable<LedgerSource['waysTo']> {
  if (waysTo) return waysTo;
  throw new LedgerUnavailable('it sees no market', 0);
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

  /** @param untilMs of the monotonic clock. @throws BudgetUsedUp, also when the patience is over; LedgerUnavailable when the ledger is closed */
  async function takeFrom(allowance: RequestBudget, untilMs: number, patience: AbortSignal | undefined): Promise<void> {
    for (let waitMs = await allowance.take(); waitMs; waitMs = await allowance.take()) {
      if (monotonic.nowMs() + waitMs > untilMs) throw new BudgetUsedUp(waitMs);
      // Not before there is something to wait for: Node 20 remembers each joined signal for as long as one of its sources lives.
      const ended = patience ? AbortSignal.any([patience, closing.signal]) : closing.signal;
      await clock.sleep(waitMs, ended);
      if (closing.signal.aborted) throw new LedgerUnavailable('closed', 0);
      if (ended.aborted) throw new BudgetUsedUp(waitMs);
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
  function sessionWith(only: Server | null, asker: Asker, patience?: AbortSignal): LedgerSession {
    const allowances = budget?.allowancesOf(asker) ?? [];
    const longestMs = asker.purpose === 'pages' ? LONGEST_PAGE_WAIT_MS : LONGEST_BUDGET_WAIT_MS;
    const withinMs = asker.purpose === 'watching' ? WATCHED_RECORD_MS : undefined;
    let pinned: Promise<Server> | null = only && Promise.resolve(only);
    let answering: Server | null = only;
    let sinceMs = monotonic.nowMs();
    let requests = 0;
    const spend = async () => {
      const untilMs = patience ? Number.POSITIVE_INFINITY : monotonic.nowMs() + longestMs;
      for (const allowance of allowances) await takeFrom(allowance, untilMs, patience);
      requests += 1;
    };
    const on = (server: Server) => {
      const other = sessionWith(server, asker, patience);
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
      complete: (...args) => ask({ ...callOf((source) => source.complete(...args)), withinMs }),
      transactionRecords: (...args) => ask(callOf((source) => source.transactionRecords(...args))),
      ledger: (...args) => ask(callOf((source) => source.ledger(...args))),
      ledgerAtOrBefore: (...args) => ask(callOf((source) => source.ledgerAtOrBefore(...args))),
      account: (...args) => ask(callOf((source) => source.account(...args))),
      holdings: (...args) => ask(callOf((source) => source.holdings(...args))),
      sequenceOf: (...args) => ask(callOf((source) => source.sequenceOf(...args))),
      submit: (...args) => ask(callOf((source) => source.submit(...args))),
      waysTo: (...args) => ask(callOf((source) => waysOf(source)(...args))),
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
              const isAway = error instanceof LedgerUnavailable || error instanceof UnfitServer;
              if (!isAway || error instanceof BudgetUsedUp) throw error;
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
    isOwn: options.isOwn ?? false,
    servers: servers.map(({ label }) => label),
    finders: servers.filter(({ hasHistories }) => hasHistories).map(({ label }) => label),

    session: (asker, patience) => sessionWith(null, asker, patience),

    othersSpent: () => budget?.othersSpent() ?? 0,

    async checkNetwork() {
      for (const server of servers) {
        await sessionWith(server, { purpose: 'watching' })
          .tip()
          .then(({ protocol }) => {
            const warning = protocolWarning(protocol);
            if (warning) log.warn({ server: server.label }, warning);
          })
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
