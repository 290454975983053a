/** How one server of the ledger fares: when it may be asked again, and whether it is known to be fit to be read. */
import { type SourceError, UnfitServer } from './errors.js';

export interface ServerHealth {
  /** It was checked since the last error. */
  verified: boolean;
  /** Consecutive errors. */
  errors: number;
  lastError: SourceError | UnfitServer | null;
  /** After an error others go first until then. Milliseconds, 0 for never. */
  restsUntil: number;
  /** After an error it is not asked at all until then. */
  barredUntil: number;
}

const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;
/** A resting server is asked after this when no other is left. */
const LONGEST_PAUSE_MS = 5_000;
const LONGEST_BAR_MS = 3_600_000;

const HEALTHY = { errors: 0, lastError: null, restsUntil: 0, barredUntil: 0 };

export const newHealth = (): ServerHealth => ({ verified: false, ...HEALTHY });

/** @returns true when the server had failed before. One that asked to be left alone stays so, whatever was in flight. */
export function noteAnswer(server: ServerHealth, nowMs: number): boolean {
  if (server.errors === 0 || server.barredUntil > nowMs) return false;
  Object.assign(server, HEALTHY);
  return true;
}

/** @param hasOthers another server can answer until then: a server is tried again after at most a minute, whatever it asked for. */
export function noteError(
  server: ServerHealth,
  error: SourceError | UnfitServer,
  { nowMs, hasOthers }: { nowMs: number; hasOthers: boolean },
): void {
  const isOneAnswer = !(error instanceof UnfitServer) && error.kind !== 'server';
  if (!isOneAnswer) server.verified = false;
  // Requests that ran side by side fail side by side: that counts once.
  if (server.barredUntil <= nowMs) server.errors += 1;
  server.lastError = error;
  const restMs = Math.min(FIRST_REST_MS * 2 ** (server.errors - 1), LONGEST_REST_MS);
  // Where one answer took too long, the next question may be answered.
  if (!isOneAnswer) {
    const askedMs = error instanceof UnfitServer ? LONGEST_REST_MS : (error.retryAfterMs ?? 0);
    const barMs = Math.max(askedMs, Math.min(restMs, LONGEST_PAUSE_MS));
    server.barredUntil = Math.max(
      server.barredUntil,
      nowMs + Math.min(barMs, hasOthers ? LONGEST_REST_MS : LONGEST_BAR_MS),
    );
  }
  server.restsUntil = Math.max(nowMs + restMs, server.barredUntil);
}

/** Those that may be asked now: in the list's order, but resting ones last. */
export function candidates<Server extends ServerHealth>(servers: readonly Server[], nowMs: number): Server[] {
  const open = servers.filter((server) => server.barredUntil <= nowMs);
  return [
    ...open.filter((server) => server.restsUntil <= nowMs),
    ...open.filter((server) => server.restsUntil > nowMs),
  ];
}

/** How long until one of them may be asked. */
export const pauseMs = (servers: readonly ServerHealth[], nowMs: number): number =>
  Math.max(Math.min(...servers.map((server) => server.barredUntil)) - nowMs, 0);
