/** Tries parked records again: by itself, soon and then ever more rarely, and when the operator asks. What a record turns out to hold is recorded the
 *  ordinary way, judged as of its ledger. */
import type { Logger } from 'pino';
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { BudgetUsedUp, LedgerUnavailable, UnfitServer } from '../ledger/errors.js';
import type { LedgerSession, NetworkLedger } from '../ledger/network-ledger.js';
import { parseRecord } from '../ledger/parse.js';
import type { LedgerRecord } from '../ledger/records.js';
import type { Recorder } from '../payments/recorder.js';
import { createLoop } from '../runtime/loop.js';
import type { DueRecord, ParkedRecordDoc, ParkedRecordStore } from '../stores/parked-records.js';
import type { WalletStore } from '../stores/wallets.js';
import { type Reading, readRecords } from './reading.js';

/** The next try comes after half of the time since a record was set aside, within these. */
const SHORTEST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 6 * 3_600_000;
/** A record that lacks something for so long is told to the operator. */
const TELL_AFTER_MS = 60_000;
const DUE_AT_ONCE = 500;
/** So many are tried before it is looked for others that are due. */
const TRIED_AT_ONCE = 16;
const SIDE_BY_SIDE = 8;
const LONGEST_LOOK_MS = 10_000;
const SHORTEST_LOOK_MS = 200;

export interface ParkedRetry {
  /** Payments that it turned out to hold and that were not stored before. */
  payments: number;
  /** Why it stays parked; null when it does not. */
  reason: string | null;
}

interface RetryDeps {
  wallets: Pick<WalletStore, 'ours'>;
  parkedRecords: Pick<ParkedRecordStore, 'noteTry'>;
  recorder: Pick<Recorder, 'record'>;
  clock: Clock;
}

/** What a reading makes of a parked record: `left` of it is not understood, or lacks something, still. */
interface Reread {
  reading: Reading;
  left: ParkedRecordDoc[];
}

/**
 * Reads a parked record again and stores the payments that it holds. Whatever of it is still not understood stays parked, or is parked in its place: a
 * record that was parked as a whole may turn out to hold changes of which only some are understood.
 * @param sessions the servers to ask, one after the other
 * @throws BudgetUsedUp when nothing may be asked now
 */
export async function retryParked(
  deps: RetryDeps,
  parked: ParkedRecordDoc,
  sessions: readonly Pick<LedgerSession, 'complete' | 'transactionRecords'>[],
): Promise<ParkedRetry> {
  const { parkedRecords, recorder, clock } = deps;
  const { _id, network, createdAt } = parked;
  let found: Reread | null = null;
  let reason: string | null = null;
  for (const session of sessions) {
    try {
      found = await readAgain(deps, parked, session);
      reason = found.left[0]?.reason ?? null;
      if (reason === null) break;
    } catch (error) {
      if (error instanceof BudgetUsedUp) throw error;
      if (!(error instanceof LedgerUnavailable || error instanceof UnfitServer)) throw error;
      reason = found?.left[0]?.reason ?? error.message;
    }
  }
  const { reading, left } = found ?? { reading: null, left: [] };
  const self = left.find((each) => each._id === _id);
  const isOpen = reading === null || self !== undefined;
  // The other balance changes of its record were stored before, and are known by their keys.
  const others = left.filter((each) => each !== self);
  const stored = reading
    ? await recorder.record(network, { ...reading, parked: others, resolves: isOpen ? undefined : _id }, null)
    : [];
  if (isOpen) {
    const nextTryAt = nextTryOf(createdAt, clock);
    await parkedRecords.noteTry(_id, { reason: reason!, nextTryAt, ...(self ? { concerns: self.concerns } : {}) });
  }
  return { payments: stored.length, reason };
}

const nextTryOf = (createdAt: Date, clock: Clock): Date =>
  new Date(clock.nowMs() + pauseMs(clock.nowMs() - createdAt.getTime()));

const pauseMs = (ageMs: number): number => Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ageMs / 2));

async function readAgain(
  { wallets, clock }: RetryDeps,
  parked: ParkedRecordDoc,
  session: Pick<LedgerSession, 'complete' | 'transactionRecords'>,
): Promise<Reread> {
  const { network } = parked;
  const isOurs = (addresses: readonly string[]) => wallets.ours(network, addresses);
  const read = async (record: LedgerRecord): Promise<Reread> => {
    const reading = await readRecords({ network, session, clock, isOurs, historyOf: null, again: parked }, [record]);
    return { reading, left: reading.parked.filter((each) => isPartOf(each._id, parked._id)) };
  };
  const raw: unknown = JSON.parse(parked.raw);
  const outcome = parseRecord(raw, networkInfo[network].passphrase);
  const kept = await read({ raw, outcome });
  // What it lacks was asked for just now.
  if (kept.left.length === 0 || outcome.kind === 'incomplete' || !('transactionHash' in outcome)) return kept;
  const { transactionHash, pagingToken } = outcome;
  if (transactionHash === null || pagingToken === null) return kept;
  // Another server may show it whole.
  const records = (await session.transactionRecords(transactionHash)) ?? [];
  const own = records.find((each) => each.outcome.pagingToken === pagingToken);
  if (own?.outcome.kind !== 'credits' && own?.outcome.kind !== 'incomplete') return kept;
  const fresh = await read(own);
  return fresh.left.length === 0 ? fresh : kept;
}

/** A change that was parked by itself is all that matters of its record; a record that was parked as a whole matters with every change. */
const isPartOf = (id: string, parkedId: string): boolean => parkedId.split(':').length < 3 || id === parkedId;

/** Which of those that are due are tried first: wallets take turns, so that one with very many keeps no other waiting. Pure. */
export function planTries(due: readonly DueRecord[], most: number): DueRecord[] {
  const queues = new Map<string, DueRecord[]>();
  for (const record of due) {
    const of = record.concerns[0] ?? '';
    queues.set(of, [...(queues.get(of) ?? []), record]);
  }
  const chosen: DueRecord[] = [];
  for (let turn = 0; chosen.length < Math.min(most, due.length); turn++)
    for (const queue of queues.values()) if (turn < queue.length) chosen.push(queue[turn]!);
  return chosen.slice(0, most);
}

export interface ParkedRetries {
  /** Tries some of those that are due. @returns milliseconds until the next look */
  round(signal: AbortSignal): Promise<number>;
  /** Tries what is due until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Something was set aside: it may be due sooner than all others. */
  wake(): void;
}

export function createParkedRetries(
  deps: Omit<RetryDeps, 'parkedRecords'> & {
    network: Network;
    ledger: Pick<NetworkLedger, 'session' | 'servers'>;
    parkedRecords: Pick<ParkedRecordStore, 'noteTry' | 'due' | 'nextTryAt' | 'byId'>;
    log: Logger;
    /** Called when payments, and with them perhaps deliveries, were stored. */
    eventsStored: () => void;
  },
): ParkedRetries {
  const { network, ledger, parkedRecords, clock, log, eventsStored } = deps;

  /** One server a try, each in its turn: a record may be had from another one only. */
  function sessionFor({ tries }: ParkedRecordDoc): LedgerSession {
    const { servers } = ledger;
    const session = ledger.session({ purpose: 'parked' });
    return tries % servers.length === 0 ? session : session.on(servers[tries % servers.length]!);
  }

  async function tryOne({ _id }: DueRecord): Promise<void> {
    const parked = await parkedRecords.byId(_id);
    if (!parked || parked.dismissed) return;
    const retry = async () => retryParked(deps, parked, [sessionFor(parked)]);
    const { payments, reason } = await retry().catch(async (error: unknown) => {
      // Tried like one that cannot be had: otherwise it would stay the first that is due, in the way of all others.
      if (!(error instanceof BudgetUsedUp))
        await parkedRecords.noteTry(_id, { nextTryAt: nextTryOf(parked.createdAt, clock) });
      throw error;
    });
    const ageMs = clock.nowMs() - parked.createdAt.getTime();
    if (reason === null) log.info({ network, record: _id, payments, ageMs }, 'a parked record is recorded');
    else if (ageMs > TELL_AFTER_MS) log.warn({ network, record: _id, reason, ageMs }, 'a record is still parked');
    if (payments > 0) eventsStored();
  }

  async function round(signal: AbortSignal): Promise<number> {
    const due = await parkedRecords.due(network, clock.now(), DUE_AT_ONCE);
    const left = planTries(due, TRIED_AT_ONCE).reverse();
    let spentMs = 0;
    const tryOn = async () => {
      for (let record = left.pop(); record && !signal.aborted; record = left.pop()) {
        try {
          await tryOne(record);
        } catch (error) {
          if (error instanceof BudgetUsedUp) {
            left.length = 0;
            spentMs = error.retryAfterMs;
          } else log.error({ network, record: record._id, err: error }, 'a parked record could not be tried again');
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, left.length) }, tryOn));
    const next = await parkedRecords.nextTryAt(network);
    const untilMs = next === null ? LONGEST_LOOK_MS : next.getTime() - clock.nowMs();
    return Math.max(SHORTEST_LOOK_MS, spentMs, Math.min(LONGEST_LOOK_MS, untilMs));
  }

  const rounds = createLoop({
    step: round,
    onError: (error) => {
      log.error({ network, err: error }, 'parked records could not be tried again');
      return LONGEST_LOOK_MS;
    },
    clock,
  });
  return { round, wake: rounds.wake, run: rounds.run };
}
