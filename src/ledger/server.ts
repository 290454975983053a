/** The health of one ledger server: when it may be asked again, and whether it is fit to be read. */
import { type SourceError, UnfitServer } from './errors.js';

export interface ServerHealth {
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
/** Longest pause before a failed server is tried again, unless it asked for more, or is unfit and not the only one. */
const LONGEST_PAUSE_MS = 5_000;
const LONGEST_BAR_MS = 3_600_000;

const HEALTHY = { errors: 0, lastError: null, restsUntil: 0, barredUntil: 0 };

export const newHealth = (): ServerHealth => ({ verified: false, ...HEALTHY });

/** @returns whether the server had failed before. A barred server stays barred, even when a request in flight succeeds. */
export function noteAnswer(server: ServerHealth, nowMs: number): boolean {
  if (server.errors === 0 || server.barredUntil > nowMs) return false;
  Object.assign(server, HEALTHY);
  return true;
}

/** @param hasOthers another server may answer in the meantime: a server is then retried after a minute at most, whatever it asked for */
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
export function candidates<Server extends ServerHealth>(servers: readonly Server[], nowMs: number): Server[] {
  const open = servers.filter((server) => server.barredUntil <= nowMs);
  return [
    ...open.filter((server) => server.restsUntil <= nowMs),
    ...open.filter((server) => server.restsUntil > nowMs),
  ];
}

/** Milliseconds until the first of them may be asked. */
export const pauseMs = (servers: readonly ServerHealth[], nowMs: number): number =>
  Math.max(Math.min(...servers.map((server) => server.barredUntil)) - nowMs, 0);
