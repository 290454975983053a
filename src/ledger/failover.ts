/** Runs a call on a network's servers: on the first in the list that answers, or on a given one. It
 *  tracks each server's health, checks a server's network before using its first answer, and
 *  refuses a newest ledger that cannot have closed yet. */

import type { Logger } from 'pino';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import { type LedgerSource, type LedgerTip, LedgerUnavailable, SourceError, UnfitServer } from './source.js';

// The health of one ledger server: when it may be asked again, and whether it is fit to be read.

interface ServerHealth {
  /** Its network was checked since the last error. */
  verified: boolean;
  /** Consecutive errors. */
  errors: number;
  lastError: SourceError | UnfitServer | null;
  /** Other servers are tried first until this time, in ms; 0 for never. */
  restsUntil: number;
  /** It is not asked at all until this time. */
  barredUntil: number;
}

const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;
/** Longest pause before a failed server is tried again, unless it asked for more, or is unfit and
 *  not the only one. */
const LONGEST_PAUSE_MS = 5_000;
const LONGEST_BAR_MS = 3_600_000;

const HEALTHY = { errors: 0, lastError: null, restsUntil: 0, barredUntil: 0 };

export const newHealth = (): ServerHealth => ({ verified: false, ...HEALTHY });

/** @returns whether the server had failed before. A barred server stays barred, even when a request
 *  in flight succeeds. */
function noteAnswer(server: ServerHealth, nowMs: number): boolean {
  if (server.errors === 0 || server.barredUntil > nowMs) return false;
  Object.assign(server, HEALTHY);
  return true;
}

/** @param hasOthers another server may answer in the meantime: a server is then retried after a
 *  minute at most, whatever it asked for */
export function noteError(
  server: ServerHealth,
  error: SourceError | UnfitServer,
  { nowMs, hasOthers }: { nowMs: number; hasOthers: boolean },
): void {
  const isOneAnswer = !(error instanceof UnfitServer) && error.kind !== 'server';
  if (!isOneAnswer) server.verified = false;
  // Concurrent requests fail together: count one failure.
  if (server.barredUntil <= nowMs) server.errors += 1;
  server.lastError = error;
  const restMs = Math.min(FIRST_REST_MS * 2 ** (server.errors - 1), LONGEST_REST_MS);
  // When one answer was slow, too large or missing, the next request may succeed.
  if (!isOneAnswer) {
    // Behind one URL there may be several machines, of which only one is unfit.
    const unfitMs = hasOthers ? LONGEST_REST_MS : 0;
    const askedMs = error instanceof UnfitServer ? unfitMs : (error.retryAfterMs ?? 0);
    const barMs = Math.max(askedMs, Math.min(restMs, LONGEST_PAUSE_MS));
    server.barredUntil = Math.max(
      server.barredUntil,
      nowMs + Math.min(barMs, hasOthers ? LONGEST_REST_MS : LONGEST_BAR_MS),
    );
  }
  server.restsUntil = Math.max(nowMs + restMs, server.barredUntil);
}

/** Servers that may be asked now, in the list's order, resting ones last. */
function candidates<Server extends ServerHealth>(servers: readonly Server[], nowMs: number): Server[] {
  const open = servers.filter((server) => server.barredUntil <= nowMs);
  return [
    ...open.filter((server) => server.restsUntil <= nowMs),
    ...open.filter((server) => server.restsUntil > nowMs),
  ];
}

/** Milliseconds until the first of them may be asked. */
export const pauseMs = (servers: readonly ServerHealth[], nowMs: number): number =>
  Math.max(Math.min(...servers.map((server) => server.barredUntil)) - nowMs, 0);

// What a server may claim to be the newest ledger.

/** No network closes ledgers faster. */
export const SHORTEST_LEDGER_MS = 50;
/** So many more may seem to close at once, because answers take their time. */
const MOST_AT_ONCE = 500;

/** The newest ledger as last seen, and when. */
export interface SeenLedger extends Pick<LedgerTip, 'latestLedger' | 'latestClosedAt'> {
  seenAt: Date;
}

/** @throws what `ask` throws, SourceError for a tip that is not believed */
type AskTip = (ask: () => Promise<LedgerTip>) => Promise<LedgerTip>;

/** Refuses a newest ledger that the network cannot have closed since the last one that was told:
 *  reading would begin or rest there, and what closes before would never be read. The first one
 *  that is told is believed until another closes later, with a lower number.
 *  @param lastSeen by earlier processes; asked before the first tip */
export function createTipCheck(
  clock: Pick<Clock, 'nowMs'>,
  monotonic: Pick<MonotonicClock, 'nowMs'>,
  lastSeen: () => Promise<SeenLedger | null>,
): AskTip {
  let newest: (SeenLedger & { steadyMs: number }) | null = null;

  function check(tip: LedgerTip): LedgerTip {
    const { latestLedger, latestClosedAt } = tip;
    const [nowMs, steadyMs] = [clock.nowMs(), monotonic.nowMs()];
    if (newest) {
      // One clock may be set back, the other one may stand still while the machine sleeps, and the
      // last server may have been far behind.
      const closedMs = latestClosedAt.getTime() - newest.latestClosedAt.getTime();
      const sinceMs = Math.max(nowMs - newest.seenAt.getTime(), steadyMs - newest.steadyMs, closedMs);
      if (latestLedger - newest.latestLedger > MOST_AT_ONCE + sinceMs / SHORTEST_LEDGER_MS)
        throw new SourceError('the newest ledger that it names cannot have closed yet');
    }
    if (!newest || latestLedger >= newest.latestLedger || latestClosedAt > newest.latestClosedAt)
      newest = { latestLedger, latestClosedAt, seenAt: new Date(nowMs), steadyMs };
    return tip;
  }

  return async (ask) => {
    if (!newest) {
      // Without the database what is read cannot be stored either.
      const seen = await lastSeen().catch(() => null);
      newest ??= seen && { ...seen, steadyMs: monotonic.nowMs() };
    }
    return check(await ask());
  };
}

export interface LedgerServer {
  /** Shown to operators: a host, never path, query or user info, which may hold keys. */
  label: string;
  /** Whether it keeps histories of accounts. */
  hasHistories: boolean;
  /** @param spend waits for the budget; called before each request. @param timeoutMs of
   *  one request */
  connect(spend: () => Promise<void>, timeoutMs: number): LedgerSource;
}

/** A server and its health. */
export type Server = LedgerServer & ServerHealth;

export interface SourceCall<T> {
  /** @param tip if it was just requested: for the call, or for the check of the network */
  run(source: LedgerSource, tip: LedgerTip | null, withinMs: number): Promise<T>;
  /** Default false. */
  needsTip?: boolean;
  /** Whether an answer proves that a failed server has recovered; a tip alone proves little. */
  provesHealthy: boolean;
  /** A shorter time limit of one request. */
  withinMs?: number | undefined;
}

const TIMEOUT_MS = 10_000;
/** Time limit for a server that failed before, while another one may answer. */
const PROBE_TIMEOUT_MS = 3_000;
/** Waits for the budget; called before each request. */
type Spend = () => Promise<void>;

export function createFailover(options: {
  servers: readonly LedgerServer[];
  /** Aborts when the ledger is closed: requests in flight then reject with `LedgerUnavailable`. */
  closed: AbortSignal;
  monotonic: MonotonicClock;
  askTip: AskTip;
  /** Time limit of one request including its body. Default 10,000. */
  timeoutMs?: number | undefined;
  log: Logger;
}) {
  const { closed, monotonic, askTip, timeoutMs = TIMEOUT_MS, log } = options;
  const servers: Server[] = options.servers.map((server) => ({ ...server, ...newHealth() }));

  /** @throws SourceError or UnfitServer after noting it, LedgerUnavailable when the server is not
   *  to blame */
  async function run<T>(server: Server, call: SourceCall<T>, spend: Spend, withinMs: number): Promise<T> {
    const source = server.connect(spend, withinMs);
    try {
      const tip = server.verified && !call.needsTip ? null : await askTip(() => source.tip());
      server.verified = true;
      const answer = await call.run(source, tip, withinMs);
      if (call.provesHealthy && noteAnswer(server, monotonic.nowMs()))
        log.info({ server: server.label }, 'a source answers again');
      return answer;
    } catch (error) {
      if (closed.aborted) throw new LedgerUnavailable('closed', 0);
      if (error instanceof SourceError || error instanceof UnfitServer) {
        const isFirst = server.errors === 0;
        noteError(server, error, { nowMs: monotonic.nowMs(), hasOthers: servers.length > 1 });
        log[isFirst ? 'warn' : 'debug']({ server: server.label, reason: error.message }, 'a source does not answer');
      }
      throw error;
    }
  }

  function unavailable(blamed: readonly Server[], isOfOne = false): LedgerUnavailable | UnfitServer {
    const errors = blamed.map((server) => server.lastError);
    const wrong = errors.find((error) => error instanceof UnfitServer);
    if (wrong && errors.every((error) => error instanceof UnfitServer)) return wrong;
    const reasons = blamed.map(({ label, lastError }) => `${label}: ${lastError?.message ?? 'no answer'}`);
    return new LedgerUnavailable(reasons.join('; '), pauseMs(servers, monotonic.nowMs()), isOfOne);
  }

  /** Tries the servers in the list's order until one answers. */
  async function runOnFirst<T>(call: SourceCall<T>, spend: Spend): Promise<{ server: Server; answer: T }> {
    const open = candidates(servers, monotonic.nowMs());
    for (const server of open) {
      const withinMs = server.errors > 0 && open.length > 1 ? Math.min(PROBE_TIMEOUT_MS, timeoutMs) : timeoutMs;
      try {
        return { server, answer: await run(server, call, spend, withinMs) };
      } catch (error) {
        if (!(error instanceof SourceError || error instanceof UnfitServer)) throw error;
      }
    }
    throw unavailable(servers);
  }

  async function runOn<T>(server: Server, call: SourceCall<T>, spend: Spend): Promise<T> {
    if (server.barredUntil > monotonic.nowMs()) throw unavailable([server]);
    try {
      return await run(server, call, spend, Math.min(timeoutMs, call.withinMs ?? timeoutMs));
    } catch (error) {
      throw error instanceof SourceError ? unavailable([server], error.kind !== 'server') : error;
    }
  }

  return { servers, runOnFirst, runOn };
}
