/** One round of watching a network, in short repeatable steps: deal with a reset, start new
 *  wallets, choose the mode of reading, read the streams, stop ended wallets. The pure functions in
 *  `plan.ts` decide; `watch.ts` calls the rounds. */

import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { isClockOff } from '../domain/ledger-time.js';
import { protocolWarning } from '../domain/stellar-sdk.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import { type LedgerSession, type LedgerTip, LedgerUnavailable, UnsureHistory } from '../ledger/index.js';
import type { Recorder } from '../payments/index.js';
import type { PaymentLinkStore, ProductStore } from '../selling/index.js';
import type { CursorDoc, CursorStore } from './cursors.js';
import type { FlagGap } from './gap-store.js';
import { createGaps, createResets } from './lost-ledgers.js';
import { createModes } from './mode.js';
import {
  createClockCheck,
  createKnownCloses,
  type NetworkStateDoc,
  type NetworkStateStore,
  sourceWarning,
} from './network-states.js';
import type { ParkedRecordStore } from './parked-store.js';
import { type Histories, planStreams } from './plan.js';
import {
  createStreamFailures,
  createStreamReader,
  type ReadOptions,
  type StreamRole,
  type WatcherMetrics,
} from './stream-reader.js';
import { createWalletStarts, createWalletStops } from './wallet-starts.js';
import type { WalletStore } from './wallet-store.js';

export type { WatcherMetrics } from './stream-reader.js';

const PAGE_LIMIT = 200;
const READ_ONE_BY_ONE = 2;
/** After so many failures at one cursor, records that lack something are parked. */
const STUCK_AFTER = 3;

export interface WatcherDeps {
  network: Network;
  wallets: WalletStore;
  cursors: CursorStore;
  networkStates: NetworkStateStore;
  parkedRecords: ParkedRecordStore;
  recorder: Recorder;
  flagGap: FlagGap;
  products: Pick<ProductStore, 'forgetLedgers'>;
  paymentLinks: Pick<PaymentLinkStore, 'forgetLedgers'>;
  clock: Clock;
  /** Shows when the clock was set. Default the clock: never. */
  monotonic?: Pick<MonotonicClock, 'nowMs'>;
  log: Logger;
  metrics: WatcherMetrics;
  eventsStored: () => void;
  /** Called when records were parked. Default nothing. */
  recordsParked?: () => void;
  /** Records per page. Default 200, Horizon's maximum. */
  pageLimit?: number;
  /** More addresses than this are read through the feed; at half as many, one by one again. Default
   *  2: beyond it the feed takes fewer requests. */
  readOneByOne?: number;
  /** Name of this machine, whose clock is measured. Default unknown. */
  host?: string;
}

export interface RoundLimits {
  /** Each stream ends after its current page. */
  enough: AbortSignal;
  /** Aborts when the process ends or another has the lease: no further stream is read. */
  held: AbortSignal;
}

const NEVER = new AbortController().signal;
const WITHOUT_LIMITS: RoundLimits = { enough: NEVER, held: NEVER };

/** Shared by all streams of a round. */
interface Round extends Omit<ReadOptions, 'role'> {
  held: AbortSignal;
  histories: Histories;
  /** Null while addresses are read one by one. */
  feed: CursorDoc | null;
  /** A stream waited for a source that may have its ledgers, by the end of the round before. */
  hasWaited: boolean;
}

export type Watcher = ReturnType<typeof createWatcher>;

function createParts(deps: WatcherDeps) {
  const { pageLimit = PAGE_LIMIT, readOneByOne = READ_ONE_BY_ONE, recordsParked = () => undefined } = deps;
  const knownCloses = createKnownCloses();
  const failures = createStreamFailures();
  const isStuck = (from: Pick<CursorDoc, '_id' | 'cursor'>) => failures.at(from) >= STUCK_AFTER;
  const reader = createStreamReader({ ...deps, recordsParked, isStuck, knownCloses, pageLimit });
  const modes = createModes({ ...deps, knownCloses, readOneByOne });
  const stops = createWalletStops({ ...deps, reader, modes });
  return {
    ...deps,
    monotonic: deps.monotonic ?? deps.clock,
    ...{ knownCloses, failures, reader, modes, stops },
    clockCheck: createClockCheck(),
    starts: createWalletStarts({ ...deps, knownCloses }),
    resets: createResets(deps),
    gaps: createGaps({ ...deps, done: stops.done }),
    /** Each warning is logged once. */
    warned: new Set<string>(),
  };
}

/** A watcher's dependencies and what is made of them. */
type Parts = ReturnType<typeof createParts>;

export function createWatcher(deps: WatcherDeps) {
  const parts: Parts = createParts(deps);
  const { clock, monotonic, knownCloses, failures, modes, stops, clockCheck, gaps } = parts;

  return {
    /** Reads everything that is new. When it rejects, what was stored stays.
     *  @param tip this session's. @returns how many pages were read
     *  @throws LedgerUnavailable, CursorConflict, or what MongoDB rejects with */
    async round(session: LedgerSession, tip: LedgerTip, { enough, held } = WITHOUT_LIMITS): Promise<number> {
      const tipAt = clock.now();
      const state = await dealWithReset(parts, session, tip, tipAt);
      knownCloses.note({ ledger: tip.latestLedger, closedAt: tip.latestClosedAt });
      clockCheck.saw(tip, clock.nowMs(), monotonic.nowMs());
      await startWallets(parts, session, tip, state);
      const nowMs = monotonic.nowMs();
      const histories = sourceWarning(tip.version) === null ? 'complete' : 'lossy';
      const source = { histories, oldestKept: (ledger: number) => gaps.oldestKept(session, tip, ledger) } as const;
      const { feed, streams } = await modes.choose(tip, source, failures.waiting(nowMs));
      const all = feed ? [feed, ...streams] : streams;
      const hasWaited = Boolean(state?.gapWaitsSince);
      const round: Round = { session, tip, enough, held, histories, feed, hasWaited };
      const pages = await readStreams(parts, round, planStreams(all, failures.all, nowMs));
      await stops.stopAll(round);
      await keepState(parts, session, tip, { state, tipAt });
      return pages;
    },
  };
}

function warnOnce({ warned, log, network }: Parts, warning: string | null, server: string | null): void {
  if (warning === null || warned.has(warning)) return;
  warned.add(warning);
  log.warn({ network, ...(server ? { server } : {}) }, warning);
}

const seenOf = ({ host }: Parts, { isBehind }: LedgerTip, at: Date) => (isBehind ? null : { at, by: host ?? null });

/** @returns the state to continue with */
async function dealWithReset(
  parts: Parts,
  session: LedgerSession,
  tip: LedgerTip,
  tipAt: Date,
): Promise<NetworkStateDoc | null> {
  const { networkStates, network, resets, knownCloses, clockCheck } = parts;
  const state = await networkStates.byNetwork(network);
  if (!state || !(await resets.happened(session, tip, state))) return state;
  knownCloses.forget();
  clockCheck.forget();
  return resets.startAnew(tip, state, seenOf(parts, tip, tipAt));
}

/** Reads one stream, after dealing with ledgers that its source has dropped. @returns how many
 *  pages were read; null when the stream has to wait */
async function readStream(parts: Parts, round: Round, stream: CursorDoc): Promise<number | null> {
  const next = await parts.gaps.pass(round.session, round.tip, stream);
  if (!next) return null;
  const { session, tip, cursor } = next;
  // A lossy history would leave records out: the next round may begin the feed there instead.
  if (cursor.address !== null && round.histories === 'lossy' && cursor !== stream) return 0;
  const { enough } = round;
  const role = roleOf(parts, cursor, round);
  const read = (of: Pick<ReadOptions, 'session' | 'tip'>) => parts.reader.read({ ...of, enough, role }, cursor);
  try {
    return await read({ session, tip });
  } catch (error) {
    if (!(error instanceof UnsureHistory)) throw error;
    return readElsewhere(session, read, error);
  }
}

/** Only the feed may skip ahead, and only where complete histories let addresses catch up. */
function roleOf({ modes }: Parts, { address }: CursorDoc, { feed, histories, tip }: Round): StreamRole {
  if (feed === null) return { kind: 'address' };
  if (address !== null) return { kind: 'straggler', feedFrom: feed.fromLedger! };
  if (histories === 'lossy') return { kind: 'feed', fastForward: null };
  return { kind: 'feed', fastForward: (reached, pages) => modes.fastForward(tip, feed, reached, pages) };
}

/** Reads a stream from another server that answers. @throws `unsure` when there is none: the
 *  cursor stays */
async function readElsewhere(
  session: LedgerSession,
  read: (of: Pick<ReadOptions, 'session' | 'tip'>) => Promise<number>,
  unsure: UnsureHistory,
): Promise<number> {
  for (const { server, tip } of await session.tips()) {
    if (tip === null || server === session.server) continue;
    try {
      return await read({ session: session.on(server), tip });
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) throw error;
    }
  }
  throw unsure;
}

/** Reads the streams of a round. One that fails is logged and waits; the others are still read.
 *  @throws the first error, when all failed */
async function readStreams(parts: Parts, round: Round, streams: readonly CursorDoc[]): Promise<number> {
  const { failures, monotonic, log, network, gaps } = parts;
  let pages = 0;
  let waiting = 0;
  const errors: unknown[] = [];
  for (const stream of streams) {
    if (round.held.aborted) break;
    try {
      const read = await readStream(parts, round, stream);
      if (read === null) waiting += 1;
      pages += read ?? 0;
      failures.succeeded(stream._id);
    } catch (error) {
      errors.push(error);
      failures.failed(stream, monotonic.nowMs());
      if (error instanceof LedgerUnavailable)
        log.warn({ network, stream: stream._id, reason: error.message }, 'a stream could not be read');
    }
  }
  if (errors.length > 0 && errors.length + waiting === streams.length) throw errors[0];
  // An error other than an unavailable ledger ends the round, after the other streams were read.
  for (const error of errors) if (!(error instanceof LedgerUnavailable)) throw error;
  const isFree = waiting === 0 && errors.length === 0 && streams.length > 0;
  if (isFree && round.hasWaited) await gaps.endWait();
  return pages;
}

/** A wallet whose first ledger cannot be found yet must not keep others from being read. */
async function startWallets(
  { starts, log, network }: Parts,
  session: LedgerSession,
  tip: LedgerTip,
  state: NetworkStateDoc | null,
): Promise<void> {
  try {
    await starts.startAll(session, { tip, state });
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error;
    log.warn({ network, reason: error.message }, 'new wallets are not watched yet');
  }
}

/** @param tipAt when the tip was requested: the reading since may have taken long */
async function keepState(
  parts: Parts,
  session: LedgerSession,
  tip: LedgerTip,
  { state, tipAt }: { state: NetworkStateDoc | null; tipAt: Date },
): Promise<void> {
  const { clock, host, clockCheck, networkStates, network, resets } = parts;
  const { latestLedger, latestClosedAt, version, protocol } = tip;
  const answered = { seenAt: clock.now(), trouble: null };
  // A lagging server must not lower the newest known ledger.
  const isNew = !state || latestLedger > state.latestLedger || latestClosedAt > state.latestClosedAt;
  const clockHost = host ?? null;
  const warning = sourceWarning(version);
  // Another machine's measure does not apply to this clock.
  const measuredMs = state?.clockHost === clockHost ? state?.clockAheadMs : null;
  const clockAheadMs = clockCheck.aheadMs() ?? measuredMs ?? null;
  warnOnce(parts, warning, session.server);
  warnOnce(parts, protocolWarning(protocol), session.server);
  warnOnce(
    parts,
    isClockOff(clockAheadMs) ? "this host's clock does not agree with the ledger's close times" : null,
    null,
  );
  await networkStates.save(network, {
    ...answered,
    ...(isNew ? { latestLedger, latestClosedAt, latestSeen: seenOf(parts, tip, tipAt) } : {}),
    clockAheadMs,
    clockHost,
    sourceVersion: version,
    protocol,
    isSourceBehind: tip.isBehind,
    sourceWarning: warning,
  });
  await resets.keepAnchor(session, tip, state);
}
