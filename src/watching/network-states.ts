/** The state of each watched network: its newest ledger as last seen, its source's version, how
 *  this host's clock stands to it, and the watcher's trouble. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { LedgerClose } from '../domain/terms.js';
import { type DocOf, define, NONE, nullable, openCollection, optional, text } from '../kit/collection.js';
import type { LedgerTip } from '../ledger/index.js';

// Measures this host's clock against the ledger's: the time a ledger is first seen less its close
// time. Until a few ledgers were seen, the newest ledger of an answer gives an upper bound.

const SAMPLES = 10;
const ENOUGH = 3;
/** When the time of day and the monotonic clock diverge by more than this, the clock was set. */
const SET_MS = 1000;
/** When close times advance this much faster than the monotonic clock, the source is
 *  catching up. */
const CATCHING_UP_MS = 3000;

type Newest = Pick<LedgerTip, 'latestLedger' | 'latestClosedAt' | 'isBehind'>;

/** Tells whether the clock was set since the last look. @param steadyMs of the monotonic clock */
function createSetCheck(): (nowMs: number, steadyMs: number) => boolean {
  let lastMs: number | null = null;
  return (nowMs, steadyMs) => {
    const wasSet = lastMs !== null && Math.abs(nowMs - steadyMs - lastMs) > SET_MS;
    lastMs = nowMs - steadyMs;
    return wasSet;
  };
}

interface ClockCheck {
  /** @param steadyMs of the monotonic clock. Default: the clock is never set */
  saw(tip: Newest, nowMs: number, steadyMs?: number): void;
  /** Milliseconds, negative when the clock is behind; null until a few ledgers were seen. The
   *  smallest of the last samples, because it holds the least delay. */
  aheadMs(): number | null;
  /** Call after a reset. */
  forget(): void;
}

export function createClockCheck(): ClockCheck {
  let last: { ledger: number; closedMs: number; steadyMs: number } | null = null;
  let samples: number[] = [];
  const wasSet = createSetCheck();
  return {
    saw({ latestLedger, latestClosedAt, isBehind }, nowMs, steadyMs = nowMs) {
      if (wasSet(nowMs, steadyMs)) samples = [];
      if (last && latestLedger <= last.ledger) return;
      const closedMs = latestClosedAt.getTime();
      const isCatchingUp = last && closedMs - last.closedMs - (steadyMs - last.steadyMs) > CATCHING_UP_MS;
      // The first ledger's age is unknown, and a server that is behind says nothing about
      // the clock.
      if (last && !isBehind && !isCatchingUp) samples = [...samples, nowMs - closedMs].slice(-SAMPLES);
      last = { ledger: latestLedger, closedMs, steadyMs };
    },
    aheadMs: () => (samples.length < ENOUGH ? null : Math.min(...samples)),
    forget() {
      last = null;
      samples = [];
    },
  };
}

/** Older answers no longer bound the clock. */
const BOUND_FOR_MS = 300_000;
/** A larger bound more likely comes from a source that is behind without saying so. */
const MOST_AHEAD_MS = 90_000;
/** Milliseconds; null when the bound is implausible. */
export const likelyBound = (aheadMs: number): number | null => (aheadMs <= MOST_AHEAD_MS ? aheadMs : null);

/** Upper bound of the host clock's lead, from single answers of sources: no newer ledger had closed
 *  then, nor one in the future. */
export interface ClockBound {
  /** @param steadyMs of the monotonic clock. Default: the clock is never set */
  saw(newest: Pick<Newest, 'latestClosedAt' | 'isBehind'>, nowMs: number, steadyMs?: number): void;
  /** Milliseconds; null without a recent answer. */
  aheadMs(nowMs: number, steadyMs?: number): number | null;
}

export function createClockBound(): ClockBound {
  /** Smallest first. */
  let samples: { aheadMs: number; atMs: number }[] = [];
  const wasSet = createSetCheck();
  const keepLate = (nowMs: number, steadyMs: number) => {
    const isSet = wasSet(nowMs, steadyMs);
    samples = isSet ? [] : samples.filter(({ atMs }) => steadyMs - atMs < BOUND_FOR_MS);
  };
  return {
    saw({ latestClosedAt, isBehind }, nowMs, steadyMs = nowMs) {
      keepLate(nowMs, steadyMs);
      if (isBehind) return;
      const aheadMs = nowMs - latestClosedAt.getTime();
      const smaller = samples.filter((each) => each.aheadMs < aheadMs);
      samples = [...smaller, { aheadMs, atMs: steadyMs }].slice(0, SAMPLES);
    },
    aheadMs(nowMs, steadyMs = nowMs) {
      keepLate(nowMs, steadyMs);
      const [smallest] = samples;
      return smallest ? likelyBound(smallest.aheadMs) : null;
    },
  };
}

// Versions of Horizon whose account histories leave records out.

const OMITS_CONTRACT_PAYMENTS = [22, 0, 3];
const OMITS_RECORDS = [28, 0, 0];

const isBefore = (version: readonly number[], other: readonly number[]): boolean => {
  const at = other.findIndex((part, index) => part !== version[index]);
  return at >= 0 && (version[at] ?? 0) < other[at]!;
};

/** @param version such as `27.1.0`; null when unknown. @returns why its account histories are
 *  unreliable; null when they are not */
export function sourceWarning(version: string | null): string | null {
  if (version === null) return null;
  const parts = version.split('.').map(Number);
  if (isBefore(parts, OMITS_CONTRACT_PAYMENTS))
    return `Horizon ${version} can leave contract payments and other records out of an account's history: upgrade it to 28.0.0 or later.`;
  if (isBefore(parts, OMITS_RECORDS))
    return `Horizon ${version} can leave records out of an account's history: upgrade it to 28.0.0 or later.`;
  return null;
}

// Close times of recently seen ledgers. Any other ledger is dated by the newest known one
// before it.

const MAX_KNOWN = 1000;
/** Close times are whole seconds: over a shorter span they give no pace. */
const TELLING_MS = 10_000;

export interface KnownCloses {
  note(close: LedgerClose): void;
  /** The newest known ledger up to this one; null when all known ones come later. */
  atOrBefore(ledger: number): LedgerClose | null;
  /** The newest known ledger that closed at or before a time. */
  closedAtOrBefore(time: Date): LedgerClose | null;
  /** Milliseconds from one ledger to the next; null while too little is known. */
  pace(): number | null;
  /** Call after a reset. */
  forget(): void;
}

export function createKnownCloses(): KnownCloses {
  /** Ordered by ledger. */
  let known: LedgerClose[] = [];
  return {
    note(close) {
      let end = known.findLastIndex(({ ledger }) => ledger <= close.ledger) + 1;
      if (known[end - 1]?.closedAt.getTime() === close.closedAt.getTime() && known[end - 1]!.ledger === close.ledger)
        return;
      // What contradicts it was a false claim, or it is one: the next close then puts it right.
      let from = end;
      while (from > 0 && (known[from - 1]!.ledger === close.ledger || known[from - 1]!.closedAt > close.closedAt))
        from--;
      while (end < known.length && known[end]!.closedAt < close.closedAt) end++;
      known.splice(from, end - from, close);
      if (known.length > MAX_KNOWN) known = known.slice(-MAX_KNOWN / 2);
    },
    atOrBefore: (ledger) => known.findLast((close) => close.ledger <= ledger) ?? null,
    closedAtOrBefore: (time) => known.findLast((close) => close.closedAt <= time) ?? null,
    pace() {
      const [first, last] = [known[0], known.at(-1)];
      const ms = first && last ? last.closedAt.getTime() - first.closedAt.getTime() : 0;
      return ms < TELLING_MS ? null : ms / (last!.ledger - first!.ledger);
    },
    forget() {
      known = [];
    },
  };
}

const NETWORK_STATES = define('networkStates', {
  _id: text<Network>(),
  latestLedger: Number,
  latestClosedAt: Date,
  /** When it was first seen, and by which machine's clock; null when the source was behind, so that
   *  the time means nothing. */
  latestSeen: optional(nullable({ at: Date, by: nullable(String) })),
  /** When a source last answered. */
  seenAt: Date,
  /** A ledger and its hash: another hash for it means a reset. */
  anchor: nullable({ ledger: Number, hash: String }),
  /** Since when the watcher fails, and why; null while it works. */
  trouble: nullable({ since: Date, reason: String }),
  /** Last reset: the close time of the first ledger seen after it. Absent without one. */
  resetAt: optional(nullable(Date)),
  /** Since when a gap waits for silent sources that may still have its ledgers. */
  gapWaitsSince: optional(nullable(Date)),
  /** Milliseconds by which this host's clock leads the close times of ledgers, negative when it is
   *  behind. Some seconds are usual, because a ledger is seen after it closed. Null until a few
   *  ledgers were seen. */
  clockAheadMs: optional(nullable(Number)),
  /** The machine with that clock; null when unknown. */
  clockHost: optional(nullable(String)),
  /** The source's software version; null when unknown. */
  sourceVersion: optional(nullable(String)),
  /** The network's protocol, by the source; null when unknown. */
  protocol: optional(nullable(Number)),
  /** The source says that its newest ledger is not the network's. */
  isSourceBehind: optional(Boolean),
  /** Why the source's account histories are unreliable; null when they are not. */
  sourceWarning: optional(nullable(String)),
});

export interface NetworkStateDoc extends DocOf<typeof NETWORK_STATES> {}

/** A network that no source has shown yet has its trouble alone. */
const WAS_READ = { seenAt: { $ne: NONE } };
/** The fields of a state that was never read: a new document has every field. */
const UNREAD = {
  ...{ latestSeen: null, anchor: null, trouble: null, resetAt: null, gapWaitsSince: null, clockAheadMs: null },
  ...{ clockHost: null, sourceVersion: null, protocol: null, isSourceBehind: false, sourceWarning: null },
};
const withUnread = (known: object) => Object.fromEntries(Object.entries(UNREAD).filter(([field]) => !(field in known)));

export type NetworkStateStore = ReturnType<typeof createNetworkStateStore>;

export function createNetworkStateStore(connection: mongoose.Connection) {
  const states = openCollection<NetworkStateDoc>(connection, NETWORK_STATES);
  return {
    byNetwork: (network: Network) => states.findOne({ _id: network, ...WAS_READ }),
    all: () => states.find(WAS_READ).toArray(),
    /** Why networks that no source has shown yet cannot be read. */
    troublesOfUnread: async (): Promise<ReadonlyMap<Network, string>> => {
      const unread = await states.find({ seenAt: NONE }).toArray();
      return new Map(unread.map(({ _id, trouble }) => [_id, trouble!.reason]));
    },
    async save(network: Network, changes: Partial<Omit<NetworkStateDoc, '_id'>>): Promise<void> {
      await states.updateOne({ _id: network }, { $set: changes, $setOnInsert: withUnread(changes) }, { upsert: true });
    },
    /** Records since when a gap waits; null ends the wait. Does not create a state for a network
     *  that was never read. */
    async noteGapWait(network: Network, gapWaitsSince: Date | null): Promise<void> {
      await states.updateOne({ _id: network, ...WAS_READ }, { $set: { gapWaitsSince } });
    },
    /** Records the watcher's trouble, also with a network that was never read, keeping the time
     *  it began. */
    async noteTrouble(network: Network, reason: string, since: Date): Promise<void> {
      const fresh = { ...UNREAD, trouble: { since, reason } };
      await states.updateOne({ _id: network }, { $setOnInsert: fresh }, { upsert: true });
      await states.updateOne({ _id: network, trouble: null }, { $set: { trouble: { since, reason } } });
      await states.updateOne({ _id: network, trouble: { $ne: null } }, { $set: { 'trouble.reason': reason } });
    },
  };
}
