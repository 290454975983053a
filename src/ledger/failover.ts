/** Runs a call on a network's servers: on the first in the list that answers, or on a given one. It tracks each server's health, and checks a
 *  server's network before using its first answer. */
import type { Logger } from 'pino';
import type { MonotonicClock } from '../kit/clock.js';
import { LedgerUnavailable, SourceError, UnfitServer } from './errors.js';
import { candidates, newHealth, noteAnswer, noteError, pauseMs, type ServerHealth } from './server.js';
import type { LedgerSource, LedgerTip } from './source.js';

export interface LedgerServer {
  /** Shown to operators: a host, never path, query or user info, which may hold keys. */
  label: string;
  /** Whether it keeps histories of accounts. */
  hasHistories: boolean;
  /** @param spend waits for the budget; called before each request. @param timeoutMs of one request */
  connect(spend: () => Promise<void>, timeoutMs: number): LedgerSource;
}

/** A server and its health. */
export type Server = LedgerServer & ServerHealth;

export interface SourceCall<T> {
  /** @param tip if it was just requested, for the check of the network */
  run(source: LedgerSource, tip: LedgerTip | null, withinMs: number): Promise<T>;
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
  /** Time limit of one request including its body. Default 10,000. */
  timeoutMs?: number | undefined;
  log: Logger;
}) {
  const { closed, monotonic, timeoutMs = TIMEOUT_MS, log } = options;
  const servers: Server[] = options.servers.map((server) => ({ ...server, ...newHealth() }));

  /** @throws SourceError or UnfitServer after noting it, LedgerUnavailable when the server is not to blame */
  async function run<T>(server: Server, call: SourceCall<T>, spend: Spend, withinMs: number): Promise<T> {
    const source = server.connect(spend, withinMs);
    try {
      const tip = server.verified ? null : await source.tip();
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
