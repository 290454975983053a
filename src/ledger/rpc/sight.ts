/** Whether a server shows events of classic payments. A stellar-core that emits none reports no
 *  error: payments are just missing. Every transaction has a fee event, so a ledger is seen if the
 *  answer with its payments also holds a fee event, or if it has no transaction. Each answer may
 *  come from another machine and proves nothing about the next. */
import { z } from 'zod';
import { SourceError } from '../source.js';
import { type Call, INVALID_PARAMS, ledgerNumber, OUT_OF_RANGE, RpcError } from './call.js';
import { feePayerOf, feeTopics, filtersFor, getEvents, MOST_WITNESSES } from './events.js';
import { type LedgerRange, readWholeLedgers, type WholeLedgers } from './page.js';
import type { ContractIdOf } from './token-event.js';

/** Accounts that pay fees in most ledgers. Where fees are many, only theirs are requested. */
export interface Witnesses {
  /** As topics; null requests the fees of all payers. */
  payers: readonly string[] | null;
  /** The number of searched ledgers in which each payer paid, with more weight on recent ones. */
  known: Map<string, number>;
}

export const newWitnesses = (): Witnesses => ({ payers: null, known: new Map() });

/** The server shows a ledger without its classic events. */
export class UnseenLedger extends SourceError {
  constructor(ledger: number) {
    super(`it shows no events of classic payments in ledger ${ledger}: it needs EMIT_CLASSIC_EVENTS=true`);
  }
}

export interface Looking {
  call: Call;
  witnesses: Witnesses;
  contractIdOf: ContractIdOf;
}

/** With up to this many fees per ledger, all are requested. */
const FEW_FEES = 8;
const MOST_KNOWN = 1000;
const FADING = 0.9;
/** One of several machines behind a URL may see. */
const PROBES = 3;
/** Each transaction carries several kB of meta data. */
const TRANSACTIONS_AT_ONCE = 50;

const transactionsSchema = z.object({
  transactions: z.array(z.object({ ledger: ledgerNumber })).nullish(),
  latestLedger: ledgerNumber,
});

/** Reads whole ledgers as far as they are proven to be seen, perhaps none. @throws UnseenLedger
 *  when the first one is not */
export async function readSeenLedgers(
  looking: Looking,
  range: LedgerRange,
  topics: readonly string[][],
  limit: number,
): Promise<WholeLedgers> {
  const { witnesses } = looking;
  const { startLedger } = range;
  if (witnesses.payers !== null) {
    const { read, seen } = await look(looking, range, topics, limit);
    const end = runOf(seen, startLedger, read.upTo);
    if (end >= startLedger || read.upTo < startLedger) return upTo(read, end);
    // The witnesses paid nothing here, or nothing is shown: request the fees of all payers.
    witnesses.payers = null;
    return readSeenLedgers(looking, { startLedger, endLedger: startLedger + 1 }, topics, limit);
  }
  const { read, seen } = await look(looking, range, topics, limit);
  const end = await lastSeen(looking.call, seen, startLedger, read.upTo);
  if (end !== 'unseen') return upTo(read, end);
  for (let probe = 1; probe < PROBES; probe++) {
    const again = await look(looking, range, topics, limit);
    const seenTo = runOf(again.seen, startLedger, again.read.upTo);
    if (seenTo >= startLedger) return upTo(again.read, seenTo);
  }
  throw new UnseenLedger(startLedger);
}

/** @returns the ledgers, and which of them show a fee */
async function look(
  looking: Looking,
  range: LedgerRange,
  topics: readonly string[][],
  limit: number,
): Promise<{ read: WholeLedgers; seen: ReadonlySet<number> }> {
  const { call, witnesses, contractIdOf } = looking;
  const { payers } = witnesses;
  const read = await readWholeLedgers(call, range, filtersFor([...topics, ...feeTopics(payers)]), limit);
  const paid = read.events.flatMap((event) => {
    const payer = feePayerOf(event, contractIdOf);
    return payer === null ? [] : [{ payer, ledger: event.ledger }];
  });
  if (payers === null) chooseWitnesses(witnesses, paid, read.upTo - range.startLedger + 1);
  return { read, seen: new Set(paid.map(({ ledger }) => ledger)) };
}

/** The last of the consecutive ledgers that show a fee; the one before the first when that
 *  shows none. */
function runOf(seen: ReadonlySet<number>, from: number, end: number): number {
  let at = from;
  while (at <= end && seen.has(at)) at += 1;
  return at - 1;
}

const upTo = (read: WholeLedgers, ledger: number): WholeLedgers => ({
  ...read,
  events: read.events.filter((event) => event.ledger <= ledger),
  upTo: Math.min(read.upTo, ledger),
});

interface PaidFee {
  payer: string;
  ledger: number;
}

/** @param paid all fees of this many ledgers */
function chooseWitnesses(witnesses: Witnesses, paid: readonly PaidFee[], ledgers: number): void {
  if (paid.length <= FEW_FEES * Math.max(1, ledgers)) return;
  const { known } = witnesses;
  for (const [payer, count] of known) known.set(payer, count * FADING);
  for (const key of new Set(paid.map(({ payer, ledger }) => `${ledger} ${payer}`))) {
    const payer = key.split(' ')[1]!;
    known.set(payer, (known.get(payer) ?? 0) + 1);
  }
  // Among equals, the payer with more fees is likelier to pay in the next ledger.
  const counts = new Map<string, number>();
  for (const { payer } of paid) counts.set(payer, (counts.get(payer) ?? 0) + 1);
  const ranked = [...known].sort(([a, one], [b, other]) => other - one || (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
  witnesses.known = new Map(ranked.slice(0, MOST_KNOWN));
  witnesses.payers = ranked.slice(0, MOST_WITNESSES).map(([payer]) => payer);
}

/** The last of the consecutive ledgers that each show a fee or have no transaction. `unseen`: the
 *  first one has transactions but shows no fee. */
async function lastSeen(call: Call, seen: ReadonlySet<number>, from: number, end: number): Promise<number | 'unseen'> {
  let at = runOf(seen, from, end) + 1;
  while (at <= end) {
    const { used, knownTo } = await usedLedgers(call, at, at === end ? 1 : TRANSACTIONS_AT_ONCE);
    const first = at;
    while (at <= Math.min(end, knownTo) && (seen.has(at) || !used.has(at))) at += 1;
    if (at <= end && used.has(at) && !seen.has(at)) return at === from ? 'unseen' : at - 1;
    if (at === first) return at - 1;
    at = runOf(seen, at, end) + 1;
  }
  return end;
}

interface Used {
  used: ReadonlySet<number>;
  /** Other ledgers up to this one have no transaction. */
  knownTo: number;
}

/** The ledgers from `startLedger` on that have a transaction. */
async function usedLedgers(call: Call, startLedger: number, limit: number): Promise<Used> {
  try {
    const params = { startLedger, pagination: { limit } };
    const answer = await call('getTransactions', params, transactionsSchema);
    const ledgers = (answer.transactions ?? []).map(({ ledger }) => ledger).filter((ledger) => ledger >= startLedger);
    // A server may return fewer than requested: only an empty answer means that there are no more.
    return { used: new Set(ledgers), knownTo: ledgers.length > 0 ? Math.max(...ledgers) : answer.latestLedger };
  } catch (error) {
    // Another machine, which is behind.
    const isBehind = error instanceof RpcError && (error.code === OUT_OF_RANGE || error.code === INVALID_PARAMS);
    if (isBehind) return { used: new Set(), knownTo: startLedger - 1 };
    const isTooMuch = error instanceof SourceError && (error.kind === 'too_large' || error.kind === 'slow');
    if (isTooMuch && limit > 1) return usedLedgers(call, startLedger, 1);
    throw error;
  }
}

/** `nothing`: no transaction from this ledger on. @throws SourceError, an `RpcError` for a ledger
 *  that the server does not have */
export async function probeSight(call: Call, startLedger: number): Promise<'sees' | 'blind' | 'nothing'> {
  const params = { startLedger, pagination: { limit: 1 } };
  const { transactions } = await call('getTransactions', params, transactionsSchema);
  const first = transactions?.[0];
  if (!first) return 'nothing';
  const there = { startLedger: first.ledger, endLedger: first.ledger + 1 };
  for (let probe = 0; probe < PROBES; probe++) {
    const { events } = await getEvents(call, there, filtersFor(feeTopics(null)), 1);
    if (events.length > 0) return 'sees';
  }
  return 'blind';
}
