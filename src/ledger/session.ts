/** A session with a network's servers: one piece of work, whose requests go to one server, within
 *  the budget; and the search for the ledger of a moment. */
import type { Clock, MonotonicClock } from '../kit/clock.js';
import type { createFailover, Server, SourceCall } from './failover.js';
import type { AccountHistory } from './history.js';
import type { Asker, LedgerBudget, RequestBudget } from './request.js';
import {
  BudgetUsedUp,
  type LedgerSource,
  type LedgerTip,
  LedgerUnavailable,
  type Page,
  SourceError,
  UnfitServer,
} from './source.js';

// Finds a ledger by its close time with few requests: ledgers close evenly enough for guesses to
// land near.

export interface ClosedLedger {
  sequence: number;
  closedAt: Date;
}

/** Ledgers close every 5 to 6 seconds on the public networks. Only the first guess uses it. */
const USUAL_LEDGER_MS = 5_500;

/** The newest ledger between `elder` and `latest` that closed at or before `time`; null when all
 *  are younger.
 *  @param ask for a ledger in between; null when the server no longer keeps it */
export async function findLedgerAtOrBefore(
  time: Date,
  elder: number,
  latest: ClosedLedger,
  ask: (sequence: number) => Promise<ClosedLedger | null>,
): Promise<ClosedLedger | null> {
  const wanted = time.getTime();
  if (latest.closedAt.getTime() <= wanted) return latest;
  // Invariants: `after` closed after the time; all ledgers before `from` are gone or too old;
  // `before` closed at or before the time.
  let after = latest;
  let before: ClosedLedger | null = null;
  let from = elder;
  for (let round = 0; from < after.sequence; round++) {
    const middle: number = Math.floor((from + after.sequence - 1) / 2);
    // Every third request halves the rest, so that unevenly closed ledgers cannot prolong
    // the search.
    const guess: number = round % 3 === 2 ? middle : interpolate(wanted, before, after, latest);
    const sequence: number = Math.min(Math.max(guess, from), after.sequence - 1);
    const found: ClosedLedger | null = await ask(sequence);
    if (found !== null && found.closedAt.getTime() > wanted) {
      after = found;
    } else {
      before = found ?? before;
      from = sequence + 1;
    }
  }
  return before;
}

/** Interpolates from `after` back to the time, by the pace between `after` and the nearest
 *  known ledger. */
function interpolate(wanted: number, before: ClosedLedger | null, after: ClosedLedger, latest: ClosedLedger): number {
  const beside = before ?? latest;
  const ledgers = beside.sequence - after.sequence;
  const pace = ledgers === 0 ? USUAL_LEDGER_MS : (beside.closedAt.getTime() - after.closedAt.getTime()) / ledgers;
  return after.sequence - Math.ceil((after.closedAt.getTime() - wanted) / Math.max(pace, 1));
}

// Page sizes. A page that is too large or too slow is requested again with half as many records,
// down to one. Successful pages double the size again, later after each failed attempt, because a
// failure may cost a timeout. Each stream has its own size: one heavy account says nothing about
// the others.

const MAX_REMEMBERED = 1000;
/** The most pages that must succeed before the size doubles. */
const LONGEST_TRIAL = 32;

interface PageSizes {
  /** @param stream an address, or null for the whole network */
  of(stream: string | null, limit: number): number;
  /** @returns false when the size was 1 already */
  shrink(stream: string | null, size: number): boolean;
  /** Notes a successful page of this size. */
  grow(stream: string | null, size: number, limit: number): void;
}

interface StreamSize {
  size: number;
  /** Pages that must succeed before the size doubles. */
  trial: number;
  /** The size was doubled, and no page of it has succeeded yet. */
  isTried: boolean;
  pages: number;
}

export function createPageSizes(): PageSizes {
  const streams = new Map<string | null, StreamSize>();
  return {
    of: (stream, limit) => Math.min(limit, streams.get(stream)?.size ?? limit),
    shrink(stream, size) {
      const { trial = 1, isTried = false } = streams.get(stream) ?? {};
      if (streams.size >= MAX_REMEMBERED) streams.clear();
      streams.set(stream, {
        size: Math.max(1, Math.floor(size / 2)),
        trial: isTried ? Math.min(2 * trial, LONGEST_TRIAL) : trial,
        isTried: false,
        pages: 0,
      });
      return size > 1;
    },
    grow(stream, size, limit) {
      const known = streams.get(stream);
      if (!known) return;
      if (size >= limit) {
        streams.delete(stream);
        return;
      }
      const trial = known.isTried ? Math.max(1, known.trial / 2) : known.trial;
      const pages = known.pages + 1;
      const isDouble = pages >= trial;
      streams.set(stream, { size: isDouble ? 2 * size : size, trial, isTried: isDouble, pages: isDouble ? 0 : pages });
    },
  };
}

/** All calls reject with `LedgerUnavailable` or `UnfitServer`; errors of the budget
 *  pass through. */
export interface LedgerSession extends Required<LedgerSource> {
  /** Label of the server that answers this session; null before its first answer. */
  readonly server: string | null;
  /** Number of requests sent, also by its sessions with single servers. */
  readonly requests: number;
  /** Whether it has used another server than the first for so long that the first should be
   *  tried again. */
  isStale(): boolean;
  /** The tips of all servers of the network; null for a server that does not answer.
   *  @throws BudgetUsedUp */
  tips(): Promise<ServerTip[]>;
  /** A session with this server only. */
  on(server: string): LedgerSession;
}

export interface ServerTip {
  server: string;
  hasHistories: boolean;
  tip: LedgerTip | null;
}

/** The caller handles longer waits for the budget. */
const LONGEST_BUDGET_WAIT_MS = 5_000;
/** Longest wait for the missing part of one record; then the record is parked and retried on
 *  its own. */
const WATCHED_RECORD_MS = 2_000;
/** Payment pages are shown without the answer after this wait. */
const LONGEST_PAGE_WAIT_MS = 500;
/** The first server of the list is tried again after this time. */
const FIRST_AGAIN_MS = 60_000;

const callOf = <T>(run: (source: LedgerSource) => Promise<T>): SourceCall<T> => ({ run, provesHealthy: true });
const TIP: SourceCall<LedgerTip> = { run: async (_source, tip) => tip!, needsTip: true, provesHealthy: false };

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

/** Shared by all sessions of a network. */
export interface Asking {
  budget: LedgerBudget | null;
  failover: ReturnType<typeof createFailover>;
  sizes: ReturnType<typeof createPageSizes>;
  /** Aborts when the ledger is closed. */
  closed: AbortSignal;
  clock: Clock;
  monotonic: MonotonicClock;
}

interface SessionOptions {
  /** The only server to ask; null tries the list. */
  only: Server | null;
  asker: Asker;
  patience?: AbortSignal | undefined;
}

/** @param sent by the session and by those that it has with single servers */
export function createSession(asking: Asking, options: SessionOptions, sent = { requests: 0 }): LedgerSession {
  const { servers } = asking.failover;
  const { ask, answering, isStale } = createConversation(asking, options, sent);
  const withinMs = options.asker.purpose === 'watching' ? WATCHED_RECORD_MS : undefined;
  const on = (server: Server) => createSession(asking, { ...options, only: server }, sent);
  const askPage = (
    stream: string | null,
    limit: number,
    read: (source: LedgerSource, size: number, lean: boolean) => Promise<Page>,
  ): Promise<Page> =>
    ask({
      run: (source, _tip, within) =>
        readPage(asking, stream, { limit, withinMs: within }, (size, lean) => read(source, size, lean)),
      provesHealthy: true,
    });
  return {
    get server() {
      return answering()?.label ?? null;
    },
    get requests() {
      return sent.requests;
    },
    isStale,
    tip: () => ask(TIP),
    accountPayments: (address, cursor, limit, pageOptions) =>
      askPage(address, limit, (source, size, lean) =>
        source.accountPayments(address, cursor, size, { ...pageOptions, lean }),
      ),
    payments: (cursor, limit, pageOptions) =>
      askPage(null, limit, (source, size, lean) => source.payments(cursor, size, { ...pageOptions, lean })),
    complete: (...args) => ask({ ...callOf((source) => source.complete(...args)), withinMs }),
    ...plainCalls(ask),
    tips: () => Promise.all(servers.map((server) => tipOf(server, on(server)))),
    on(label) {
      const server = servers.find((each) => each.label === label);
      if (!server) throw new RangeError(`no server is called ${label}`);
      return on(server);
    },
  };
}

/** Sends the requests of one piece of work: the first finds a server, the others stay with it. */
function createConversation(asking: Asking, { only, asker, patience }: SessionOptions, sent: { requests: number }) {
  const { budget, monotonic, failover } = asking;
  const allowances = budget?.allowancesOf(asker) ?? [];
  const longestMs = asker.purpose === 'pages' ? LONGEST_PAGE_WAIT_MS : LONGEST_BUDGET_WAIT_MS;
  let pinned: Promise<Server> | null = only && Promise.resolve(only);
  let answering: Server | null = only;
  let sinceMs = monotonic.nowMs();
  const spend = async () => {
    const untilMs = patience ? Number.POSITIVE_INFINITY : monotonic.nowMs() + longestMs;
    for (const allowance of allowances)
      await takeFrom(asking, allowance, { untilMs, patience, requests: sent.requests });
    sent.requests += 1;
  };
  return {
    answering: () => answering,
    isStale: () =>
      answering !== null && answering !== failover.servers[0] && monotonic.nowMs() - sinceMs > FIRST_AGAIN_MS,
    async ask<T>(call: SourceCall<T>): Promise<T> {
      if (pinned) return failover.runOn(await pinned, call, spend);
      const found = failover.runOnFirst(call, spend);
      pinned = found.then(({ server }) => server);
      // The rejection reaches the requests that wait for it; without any it must not count
      // as unhandled.
      pinned.catch(() => undefined);
      const { server, answer } = await found;
      [answering, sinceMs] = [server, monotonic.nowMs()];
      return answer;
    },
  };
}

/** Calls without special handling. */
const plainCalls = (ask: <T>(call: SourceCall<T>) => Promise<T>) =>
  ({
    quietCheck: (...args) => ask(callOf((source) => source.quietCheck(...args))),
    transactionRecords: (...args) => ask(callOf((source) => source.transactionRecords(...args))),
    ledger: (...args) => ask(callOf((source) => source.ledger(...args))),
    ledgerBytes: (...args) => ask(callOf((source) => source.ledgerBytes(...args))),
    invocation: (...args) => ask(callOf((source) => source.invocation(...args))),
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
  }) satisfies Partial<LedgerSession>;

/** @throws BudgetUsedUp */
async function tipOf({ label, hasHistories }: Server, session: LedgerSession): Promise<ServerTip> {
  try {
    return { server: label, hasHistories, tip: await session.tip() };
  } catch (error) {
    const isAway = error instanceof LedgerUnavailable || error instanceof UnfitServer;
    if (!isAway || error instanceof BudgetUsedUp) throw error;
    return { server: label, hasHistories, tip: null };
  }
}

/** @param untilMs of the monotonic clock. @param requests that the session has sent already: it
 *  begins again, so the budget has to grant as many, and one more. @throws BudgetUsedUp, also
 *  when the patience ends; LedgerUnavailable when the ledger is closed */
async function takeFrom(
  { clock, monotonic, closed }: Asking,
  allowance: RequestBudget,
  { untilMs, patience, requests }: { untilMs: number; patience: AbortSignal | undefined; requests: number },
): Promise<void> {
  for (let waitMs = await allowance.take(); waitMs; waitMs = await allowance.take()) {
    if (monotonic.nowMs() + waitMs > untilMs) throw new BudgetUsedUp(waitMs + requests * allowance.intervalMs);
    // Combine signals only for an actual wait: Node 20 keeps each combined signal as long as one of
    // its sources lives.
    const ended = patience ? AbortSignal.any([patience, closed]) : closed;
    await clock.sleep(waitMs, ended);
    if (closed.aborted) throw new LedgerUnavailable('closed', 0);
    if (ended.aborted) throw new BudgetUsedUp(waitMs);
  }
}

/** Reads a page, with fewer records if it is too large or slow. A single record that is too large
 *  is read without its transaction. */
async function readPage(
  { monotonic, sizes }: Asking,
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
        // Another server or the next attempt may be faster, and requests fewer records.
        throw error;
      }
    }
  }
}
