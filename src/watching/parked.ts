/** Retries parked records, at growing intervals and on the operator's request. Payments found in
 *  one are recorded as usual, judged as of their ledger. */

import type { Logger } from 'pino';
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { Clock } from '../kit/clock.js';
import { createLoop } from '../kit/loop.js';
import {
  BudgetUsedUp,
  type LedgerRecord,
  type LedgerSession,
  LedgerUnavailable,
  type NetworkLedger,
  parseRecord,
  UnfitServer,
} from '../ledger/index.js';
import type { Recorder } from '../payments/index.js';
import type { DueRecord, ParkedRecordDoc, ParkedRecordStore } from './parked-store.js';
import { type Reading, readRecords } from './reading.js';
import type { WalletStore } from './wallet-store.js';

/** The wait before the next try is half the record's age, within these bounds. */
const SHORTEST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 6 * 3_600_000;
/** A record parked for longer is logged as a warning. */
const TELL_AFTER_MS = 60_000;
const DUE_AT_ONCE = 500;
/** Records tried before the next query for due ones. */
const TRIED_AT_ONCE = 16;
const SIDE_BY_SIDE = 8;
const LONGEST_LOOK_MS = 10_000;
const SHORTEST_LOOK_MS = 200;

export interface ParkedRetry {
  /** Payments found in it that were not stored before. */
  payments: number;
  /** Why it stays parked; null when it was recorded. */
  reason: string | null;
}

interface RetryDeps {
  wallets: Pick<WalletStore, 'ours'>;
  parkedRecords: Pick<ParkedRecordStore, 'noteTry'>;
  recorder: Pick<Recorder, 'record'>;
  clock: Clock;
}

/** The result of reading a parked record again: `left` is what still cannot be understood or
 *  lacks something. */
interface Reread {
  reading: Reading;
  left: ParkedRecordDoc[];
}

/**
 * Reads a parked record again and stores its payments. What is still not understood stays
 * parked; of a record that was parked whole, each such change is parked in its place.
 * @param sessions one for each server, tried in order
 * @throws BudgetUsedUp
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
  // The record's other changes were stored before; their unique keys skip them.
  const others = left.filter((each) => each !== self);
  const stored = reading
    ? await recorder.record(network, { ...reading, parked: others, resolves: isOpen ? undefined : _id }, null)
    : [];
  if (isOpen) {
    const nextTryAt = nextTryOf(createdAt, clock);
    // A server that cannot be read says nothing of the record.
    await parkedRecords.noteTry(_id, { nextTryAt, ...(self ? { reason: self.reason, concerns: self.concerns } : {}) });
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
  // What it lacks was requested just now.
  if (kept.left.length === 0 || outcome.kind === 'incomplete' || !('transactionHash' in outcome)) return kept;
  const { transactionHash, pagingToken } = outcome;
  if (transactionHash === null || pagingToken === null) return kept;
  // Another server may show the whole record.
  const records = (await session.transactionRecords(transactionHash)) ?? [];
  const own = records.find((each) => each.outcome.pagingToken === pagingToken);
  if (own?.outcome.kind !== 'credits' && own?.outcome.kind !== 'incomplete') return kept;
  const fresh = await read(own);
  return fresh.left.length === 0 ? fresh : kept;
}

/** Only that change counts where a change was parked by itself; every change counts where the
 *  record was parked whole. */
const isPartOf = (id: string, parkedId: string): boolean => parkedId.split(':').length < 3 || id === parkedId;

/** Orders due records so that wallets take turns: one with many records must not delay the
 *  others. Pure. */
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
  /** Tries a batch of due records. @returns milliseconds until the next look */
  round(signal: AbortSignal): Promise<number>;
  /** Tries due records until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Call when records were parked: they may be due before all others. */
  wake(): void;
}

export function createParkedRetries(
  deps: Omit<RetryDeps, 'parkedRecords'> & {
    network: Network;
    ledger: Pick<NetworkLedger, 'session' | 'servers'>;
    parkedRecords: Pick<ParkedRecordStore, 'noteTry' | 'due' | 'nextTryAt' | 'byId'>;
    log: Logger;
    eventsStored: () => void;
  },
): ParkedRetries {
  const { network, ledger, parkedRecords, clock, log, eventsStored } = deps;

  /** Servers alternate from try to try: perhaps only one of them has the record. */
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
      // Postponed like a failed try: otherwise it would stay first in line and block the others.
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
