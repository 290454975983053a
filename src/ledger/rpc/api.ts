/** One Stellar RPC server as a ledger source. An answer of another form than expected is the
 *  server's error, never data. */
import { z } from 'zod';
import type { MonotonicClock } from '../../kit/clock.js';
import type { LedgerServer } from '../failover.js';
import { hash } from '../horizon/fields.js';
import { type LedgerRecord, partiesOf } from '../records.js';
import { endpointOf, type Requester } from '../request.js';
import { findLedgerAtOrBefore } from '../session.js';
import {
  BlindServer,
  type Ledger,
  type LedgerSource,
  type LedgerTip,
  type Page,
  SourceError,
  WrongNetwork,
} from '../source.js';
import { type Call, createCall, INVALID_PARAMS, ledgerNumber, moment, OUT_OF_RANGE, RpcError } from './call.js';
import { getEvents } from './events.js';
import { parseOperation } from './operation.js';
import { type PageRequest, rangeOf, readEventsPage } from './page.js';
import { newWitnesses, probeSight, UnseenLedger, type Witnesses } from './sight.js';
import { account, holdings, invocation, ledgerBytes, sequenceOf, submitTransaction } from './submission.js';
import { type ContractIdOf, createContractIds } from './token-event.js';
import { type FoundOperation, getOperation, getOperations, type Transactions } from './transaction.js';

/** What is remembered of a server between requests. */
interface ServerMemory {
  /** Monotonic time before which its network and sight need no check. */
  checkedUntilMs: number;
  /** Calls until the next check; time and calls must both have passed. */
  uncheckedCalls: number;
  witnesses: Witnesses;
  /** The protocol version at the last check. */
  protocol: number | null;
  transactions: Transactions;
}

const newMemory = (): ServerMemory => ({
  checkedUntilMs: 0,
  uncheckedCalls: 0,
  witnesses: newWitnesses(),
  protocol: null,
  transactions: new Map(),
});

/** A server may restart with other settings without a failed request. */
const CHECK_AGAIN_MS = 300_000;
/** A check takes up to six calls. A small budget may allow no more than that in five minutes, so
 *  that checks by time alone would leave none for other work. */
const CHECK_AGAIN_CALLS = 50;
/** How many of the newest ledgers are searched for one with a transaction. On a network in use the
 *  first number suffices. */
const LOOKED_AT = [10, 10_000];
/** A quiet check looks for any payment at all. */
const QUIET_LIMIT = 40;

const healthSchema = z.object({
  latestLedger: ledgerNumber,
  oldestLedger: ledgerNumber,
  // Since 27.1.
  latestLedgerCloseTime: moment.optional().catch(undefined),
});
const networkSchema = z.object({ passphrase: z.string(), protocolVersion: z.int().optional().catch(undefined) });
const ledgersSchema = z.object({
  ledgers: z.array(z.object({ hash, sequence: ledgerNumber, ledgerCloseTime: moment })),
});
interface RpcSourceDeps {
  call: Call;
  memory: ServerMemory;
  passphrase: string;
  contractIdOf: ContractIdOf;
  /** Names the server in errors. */
  label: string;
  clock: MonotonicClock;
}

function createRpcSource(deps: RpcSourceDeps): LedgerSource {
  const { call, clock } = deps;

  return {
    tip: () => tip(deps),
    ledger: (sequence) => ledger(deps, sequence),
    ledgerBytes: (sequence, soFar) => ifKept(deps, sequence, () => ledgerBytes(call, sequence, soFar)),
    invocation: (transactionHash) => invocation(call, transactionHash),
    accountPayments: (address, cursor, limit, { shownLedger = 0 } = {}) =>
      page(deps, { addresses: [address], cursor, shownLedger, limit }),
    payments: async (cursor, limit, { shownLedger = 0, among } = {}) =>
      page(deps, { addresses: (await among?.()) ?? null, cursor, shownLedger, limit }),
    quietCheck: quietCheck(deps),
    complete: complete(deps),
    transactionRecords: transactionRecords(deps),
    ledgerAtOrBefore: ledgerAtOrBefore(deps),
    account: account(call),
    holdings: holdings(call),
    sequenceOf: sequenceOf(call),

    submit: (envelope) => submitTransaction(call, envelope, clock),
  };
}

const asking = ({ call, memory, passphrase, contractIdOf }: RpcSourceDeps) => ({
  call,
  remembered: memory.transactions,
  passphrase,
  contractIdOf,
});

async function tip(deps: RpcSourceDeps): Promise<LedgerTip> {
  const { call, clock, memory, passphrase } = deps;
  const { latestLedger, oldestLedger, latestLedgerCloseTime } = await call('getHealth', null, healthSchema);
  if (oldestLedger > latestLedger)
    throw new SourceError('invalid answer to getHealth: its oldest ledger is newer than its newest');
  const isDue = clock.nowMs() >= memory.checkedUntilMs && memory.uncheckedCalls <= 0;
  if (isDue) await check(deps, latestLedger, oldestLedger);
  const told = { oldestLedger, passphrase, version: null, protocol: memory.protocol, isBehind: false };
  if (latestLedgerCloseTime) return { ...told, latestLedger, latestClosedAt: latestLedgerCloseTime };
  const answer = await getEvents(call, { startLedger: latestLedger }, [], 1);
  if (!answer.latestClosedAt) throw new SourceError('it does not tell when its newest ledger closed');
  return { ...told, latestLedger: answer.latestLedger, latestClosedAt: answer.latestClosedAt };
}

/** @throws WrongNetwork, BlindServer */
async function check(
  { call, passphrase, label, memory, clock }: RpcSourceDeps,
  latestLedger: number,
  oldestLedger: number,
): Promise<void> {
  const found = await call('getNetwork', null, networkSchema);
  if (found.passphrase !== passphrase) throw new WrongNetwork(label, passphrase, found.passphrase);
  memory.protocol = found.protocolVersion ?? null;
  for (const ledgers of LOOKED_AT) {
    const sight = await probeSight(call, Math.max(oldestLedger, latestLedger - ledgers + 1));
    if (sight === 'blind') throw new BlindServer(label);
    if (sight === 'sees') break;
  }
  memory.checkedUntilMs = clock.nowMs() + CHECK_AGAIN_MS;
  memory.uncheckedCalls = CHECK_AGAIN_CALLS;
}

/** Whether a ledger is too old for the server, or too new. @throws SourceError when it is neither:
 *  something else was refused */
async function missing(
  { call }: RpcSourceDeps,
  sequence: number,
  code: number,
): Promise<{ isGone: boolean; latestLedger: number }> {
  const { latestLedger, oldestLedger } = await call('getHealth', null, healthSchema);
  if (sequence >= oldestLedger && sequence <= latestLedger)
    // It may accept a smaller limit of events only.
    throw new SourceError('ledgers that it should have are missing', {
      kind: code === INVALID_PARAMS ? 'too_large' : 'server',
    });
  return { isGone: sequence < oldestLedger, latestLedger };
}

const isMissing = (error: unknown): error is RpcError =>
  error instanceof RpcError && (error.code === OUT_OF_RANGE || error.code === INVALID_PARAMS);

async function page(deps: RpcSourceDeps, request: PageRequest): Promise<Page> {
  const { call, memory, contractIdOf } = deps;
  const from = rangeOf(request).startLedger;
  const empty: Page = {
    records: [],
    cursor: null,
    full: false,
    gone: false,
    shownLedger: null,
    among: request.addresses,
  };
  try {
    return await readEventsPage({ call, witnesses: memory.witnesses, contractIdOf }, request);
  } catch (error) {
    // The next check tells whether the server as a whole is blind.
    if (error instanceof UnseenLedger) Object.assign(memory, { checkedUntilMs: 0, uncheckedCalls: 0 });
    if (!isMissing(error)) throw error;
    const { isGone, latestLedger } = await missing(deps, from, error.code);
    return { ...empty, gone: isGone, shownLedger: latestLedger };
  }
}

const ledger = (deps: RpcSourceDeps, sequence: number): Promise<Ledger | 'gone' | null> =>
  ifKept(deps, sequence, async () => {
    const params = { startLedger: sequence, pagination: { limit: 1 } };
    const [found] = (await deps.call('getLedgers', params, ledgersSchema)).ledgers;
    if (found?.sequence !== sequence) throw new SourceError('invalid answer to getLedgers');
    return { sequence, hash: found.hash, closedAt: found.ledgerCloseTime };
  });

async function ifKept<T>(deps: RpcSourceDeps, sequence: number, read: () => Promise<T>): Promise<T | 'gone' | null> {
  try {
    return await read();
  } catch (error) {
    if (!isMissing(error)) throw error;
    return (await missing(deps, sequence, OUT_OF_RANGE)).isGone ? 'gone' : null;
  }
}

/** A ledger's close time: from one of its events, which is small, otherwise from the whole ledger.
 *  Null when it is gone. */
async function closeOf(deps: RpcSourceDeps, sequence: number): Promise<Pick<Ledger, 'sequence' | 'closedAt'> | null> {
  try {
    const { events } = await getEvents(deps.call, { startLedger: sequence, endLedger: sequence + 1 }, [], 1);
    const [event] = events;
    if (event) return { sequence, closedAt: new Date(event.ledgerClosedAt) };
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const found = await ledger(deps, sequence);
  if (found === null)
    throw new SourceError('a ledger between its oldest and its newest is missing', { kind: 'missing' });
  return found === 'gone' ? null : found;
}

const toLedgerRecord = ({ contractIdOf }: RpcSourceDeps, { raw, decoded }: FoundOperation): LedgerRecord => ({
  raw,
  outcome: parseOperation(raw, contractIdOf, decoded),
});

const quietCheck =
  (deps: RpcSourceDeps): LedgerSource['quietCheck'] =>
  async (address, cursor, { shownLedger = 0 } = {}) => {
    const addresses = address === null ? null : [address];
    const found = await page(deps, { addresses, cursor, shownLedger, limit: QUIET_LIMIT });
    const isQuiet = !found.full && found.records.length === 0 && !found.gone;
    return { isQuiet, shownLedger: found.shownLedger };
  };

const complete =
  (deps: RpcSourceDeps): LedgerSource['complete'] =>
  async (record, concernsUs) => {
    const { outcome } = record;
    if (outcome.kind !== 'incomplete' || !concernsUs(partiesOf(outcome))) return record;
    try {
      const found = await getOperation(asking(deps), outcome);
      if (found) return withReceivers(toLedgerRecord(deps, found), outcome.receivers);
      return { raw: record.raw, outcome: { kind: 'ignored', reason: 'failed', pagingToken: outcome.pagingToken } };
    } catch (error) {
      // A transaction that is too large ever to be read is set aside.
      if (error instanceof SourceError && error.kind === 'too_large')
        return { raw: record.raw, outcome: { ...outcome, isTooLarge: true } };
      throw error;
    }
  };

const transactionRecords =
  (deps: RpcSourceDeps): LedgerSource['transactionRecords'] =>
  async (transactionHash) => {
    const operations = await getOperations(asking(deps), transactionHash);
    return operations?.map((operation) => toLedgerRecord(deps, operation)) ?? null;
  };

const ledgerAtOrBefore =
  (deps: RpcSourceDeps): LedgerSource['ledgerAtOrBefore'] =>
  async (time) => {
    const { latestLedger, latestClosedAt, oldestLedger } = await tip(deps);
    const newest = { sequence: latestLedger, closedAt: latestClosedAt };
    return findLedgerAtOrBefore(time, oldestLedger, newest, (sequence) => closeOf(deps, sequence));
  };

/** Limits an unreadable operation to the receivers named by its event. */
function withReceivers({ raw, outcome }: LedgerRecord, receivers: readonly string[]): LedgerRecord {
  return {
    raw,
    outcome: outcome.kind === 'parked' ? { ...outcome, receivers: outcome.receivers ?? receivers } : outcome,
  };
}

// Stellar RPC servers as servers of a network's ledger.

export function rpcServer(
  url: string,
  deps: { label: string; passphrase: string; requester: Requester; monotonic: MonotonicClock },
): LedgerServer {
  const { label, passphrase, requester, monotonic } = deps;
  const { headers, urlOf } = endpointOf(url);
  const contractIdOf = createContractIds(passphrase);
  const memory = newMemory();
  const sent = { accept: 'application/json', 'content-type': 'application/json', ...headers };
  return {
    label,
    hasHistories: false,
    connect(spend, timeoutMs) {
      const callOnce = createCall(async (body) => {
        await spend();
        memory.uncheckedCalls -= 1;
        return requester.send({ url: urlOf(''), headers: sent, body }, timeoutMs);
      });
      const call: Call = async (...args) => {
        try {
          return await callOnce(...args);
        } catch (error) {
          // The server may return with other settings, or as another one.
          if (error instanceof SourceError && !(error instanceof RpcError)) Object.assign(memory, newMemory());
          throw error;
        }
      };
      return createRpcSource({ call, memory, passphrase, contractIdOf, label, clock: monotonic });
    },
  };
}
