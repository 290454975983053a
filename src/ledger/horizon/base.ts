/** One base URL of Horizon and how it fares: when it may be asked again, and whether it is known to serve the right network. */
import { WrongNetwork } from './unavailable.js';

/** A base did not answer, or not what it should. The reason names neither URL nor content. */
export class BaseFault extends Error {
  override readonly name = 'BaseFault';
  constructor(
    readonly reason: string,
    /** What the base asked for; null when it did not. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(reason);
  }
}

export interface Base {
  /** Host, and its place in the list where two share it: never path, query or user info, which may be keys. */
  readonly label: string;
  readonly headers: Record<string, string>;
  /** @param path begins with `/`. */
  url(path: string, query?: Record<string, string>): string;

  /** The network was checked since the last fault. */
  verified: boolean;
  /** Consecutive faults. */
  faults: number;
  lastFault: BaseFault | WrongNetwork | null;
  /** After a fault others go first until then. Milliseconds since the epoch, 0 for never. */
  restsUntil: number;
  /** After a fault it is not asked at all until then. */
  barredUntil: number;
}

const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;
/** A resting base is asked after this when no other is left. */
const LONGEST_PAUSE_MS = 5_000;
const LONGEST_BAR_MS = 3_600_000;

const SOUND = { faults: 0, lastFault: null, restsUntil: 0, barredUntil: 0 };

export function createBases(urls: readonly string[]): Base[] {
  const hosts = urls.map((url) => new URL(url).host);
  return urls.map((text, index) => {
    const base = new URL(text);
    const host = hosts[index]!;
    const shared = hosts.filter((each) => each === host).length > 1;
    const credentials = [base.username, base.password].map(decodeURIComponent).join(':');
    return {
      label: shared ? `${host} (${index + 1})` : host,
      headers: {
        accept: 'application/hal+json, application/json',
        ...(credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
      },
      url(path, query = {}) {
        const url = new URL(base);
        url.username = '';
        url.password = '';
        url.hash = '';
        url.pathname = base.pathname.replace(/\/+$/, '') + path;
        for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
        return url.href;
      },
      verified: false,
      ...SOUND,
    };
  });
}

/** @returns true when the base had failed before. One that asked to be left alone stays so, whatever was in flight. */
export function noteAnswer(base: Base, nowMs: number): boolean {
  if (base.faults === 0 || base.barredUntil > nowMs) return false;
  Object.assign(base, SOUND);
  return true;
}

export function noteFault(base: Base, fault: BaseFault | WrongNetwork, nowMs: number): void {
  base.verified = false;
  // Requests that ran side by side fail side by side: that is one fault.
  if (base.barredUntil <= nowMs) base.faults += 1;
  base.lastFault = fault;
  const rest = Math.min(FIRST_REST_MS * 2 ** (base.faults - 1), LONGEST_REST_MS);
  const asked = fault instanceof WrongNetwork ? LONGEST_REST_MS : (fault.retryAfterMs ?? 0);
  const bar = Math.min(Math.max(asked, Math.min(rest, LONGEST_PAUSE_MS)), LONGEST_BAR_MS);
  base.barredUntil = Math.max(base.barredUntil, nowMs + bar);
  base.restsUntil = Math.max(nowMs + rest, base.barredUntil);
}

/** Those that may be asked now: in the list's order, but resting ones last. */
export function candidates(bases: readonly Base[], nowMs: number): Base[] {
  const open = bases.filter((base) => base.barredUntil <= nowMs);
  return [...open.filter((base) => base.restsUntil <= nowMs), ...open.filter((base) => base.restsUntil > nowMs)];
}

/** How long until one of them may be asked. */
export const pauseMs = (bases: readonly Base[], nowMs: number): number =>
  Math.max(Math.min(...bases.map((base) => base.barredUntil)) - nowMs, 0);
