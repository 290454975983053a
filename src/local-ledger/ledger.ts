/** The ledger without HTTP: takes transactions, knows accounts and history, and has a closer that closes. */
import { Keypair } from '@stellar/stellar-sdk';
import type { mongo } from 'mongoose';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { check, checkedAccounts, type LedgerMoment } from './apply.js';
import { isSameAsset, type LedgerAsset } from './asset.js';
import { createCloser } from './closer.js';
import {
  type AccountEntry,
  accountKey,
  type ClaimableBalanceEntry,
  claimableBalanceKey,
  type Entry,
} from './entries.js';
import { decodeEnvelope, type Envelope } from './envelope.js';
import { type Api, createFaults } from './faults.js';
import { toCloseTime } from './headers.js';
import { createHistory, type Visible } from './history.js';
import { createPast } from './past.js';
import { createQueue, type Settled } from './queue.js';
import { createRateLimiter } from './rate-limiter.js';
import type { TransactionOutcome } from './results.js';
import { createEventReader } from './rpc/event-reader.js';
import { createContractIds } from './rpc/events.js';
import { openStore } from './store.js';

export interface LedgerDeps {
  db: mongo.Db;
  clock: Clock;
  log: Logger;
  /** Time between two ledgers, in milliseconds. */
  closeMs: number;
  passphrase: string;
}

/** What is said at once about a submitted transaction. */
export type Submission =
  | { kind: 'rejected'; outcome: TransactionOutcome }
  | { kind: 'waiting'; settled: Promise<Settled>; isNew: boolean };

export interface ClaimableBalanceFilter {
  claimant?: string;
  sponsor?: string;
  asset?: LedgerAsset;
}

function matchesBalance(entry: Readonly<Entry>, { claimant, sponsor, asset }: ClaimableBalanceFilter): boolean {
  if (entry.kind !== 'claimable_balance') return false;
  if (claimant !== undefined && !entry.claimants.some(({ destination }) => destination === claimant)) return false;
  if (sponsor !== undefined && entry.sponsor !== sponsor) return false;
  return asset === undefined || isSameAsset(entry.asset, asset);
}

const byChange = (a: ClaimableBalanceEntry, b: ClaimableBalanceEntry): number =>
  a.modified.ledger - b.modified.ledger || (a.owner < b.owner ? -1 : 1);

export type Ledger = Awaited<ReturnType<typeof createLedger>>;

export async function createLedger({ db, clock, log, closeMs, passphrase }: LedgerDeps) {
  const root = Keypair.master(passphrase);
  const store = await openStore(db, clock, root.publicKey());
  const queue = createQueue();
  const faults = createFaults(clock);
  const past = createPast();
  const network = { passphrase, contractIdOf: createContractIds(passphrase) };
  const closer = await createCloser({ store, queue, past, faults, network, clock, log, closeMs });
  const { head } = closer;

  function visible(api: Api = 'horizon'): Visible {
    const latest = Math.max(1, head().sequence - faults.lag(api));
    return { latest, elder: Math.min(latest, faults.elder(api) ?? 1) };
  }

  /** Read again if a ledger closed meanwhile: accounts and queue must be of the same moment, or a sequence number gets lost between. */
  async function accountsOf(ids: string[]): Promise<Map<string, AccountEntry>> {
    const before = head();
    const found = await store.entries.find({ _id: { $in: ids.map(accountKey) } }).toArray();
    if (head() !== before) return await accountsOf(ids);
    return new Map((found as AccountEntry[]).map((entry) => [entry.owner, entry]));
  }

  return {
    passphrase,
    root,
    clock,
    closeMs,
    faults,
    rateLimiter: createRateLimiter(faults, clock),
    closer,
    history: createHistory(store, visible, faults, head),
    /** What Stellar RPC shows of the same ledgers. */
    rpcHistory: createHistory(store, () => visible('rpc'), faults, head),
    events: createEventReader(store, faults),
    head,
    visible,
    /** Streams that are open, to be ended with the ledger. */
    streams: new Set<AbortController>(),
    /** Who has closed a ledger within so many milliseconds. */
    liveOwner: store.liveOwner,

    /** With a lag, a closed ledger shows later. Resolves with whether it does within that time. */
    async becomesVisible(sequence: number, withinMs: number): Promise<boolean> {
      if (visible().latest >= sequence) return true;
      const waiting = new AbortController();
      void clock.sleep(withinMs, waiting.signal).then(() => waiting.abort());
      while (!waiting.signal.aborted && visible().latest < sequence) await closer.nextClose(waiting.signal);
      waiting.abort();
      return visible().latest >= sequence;
    },

    /** Null for what is no envelope. */
    decode: (base64: string): Envelope | null => decodeEnvelope(base64, passphrase),

    /** Checks a transaction as the next ledger would, and lets it wait for that ledger. */
    async submit(envelope: Envelope): Promise<Submission> {
      const hash = envelope.hash.toString('hex');
      const accounts = await accountsOf(checkedAccounts(envelope));
      const known = queue.find(hash);
      if (known !== undefined) return { kind: 'waiting', settled: known.settled, isNew: false };
      const next: LedgerMoment = {
        sequence: head().sequence + 1,
        closeTime: toCloseTime(Math.max(clock.nowMs(), head().atMs)),
      };
      const rejected = check(
        envelope,
        (id) => accounts.get(id) ?? null,
        next,
        (source) => queue.sequenceOf(source.owner) ?? source.sequence,
      );
      if (rejected !== null) return { kind: 'rejected', outcome: rejected };
      return { kind: 'waiting', settled: queue.add(envelope).settled, isNew: true };
    },

    /** The account as of the newest ledger that shows, with all that it owns. */
    async account(id: string, api?: Api): Promise<{ account: AccountEntry; owned: Entry[] } | null> {
      const newest = await store.entries.find({ owner: id }).sort({ _id: 1 }).toArray();
      const found = past.asOf(visible(api).latest, ({ owner }) => owner === id, newest);
      const account = found.find((entry) => entry.kind === 'account');
      return account === undefined ? null : { account, owned: found.filter((entry) => entry !== account) };
    },

    /** The claimable balance of this id, in hexadecimal, as of the newest ledger that shows. */
    async claimableBalance(id: string, api?: Api): Promise<ClaimableBalanceEntry | null> {
      const newest = await store.entries.find({ _id: claimableBalanceKey(id) }).toArray();
      const [found] = past.asOf(visible(api).latest, ({ _id }) => _id === claimableBalanceKey(id), newest);
      return found?.kind === 'claimable_balance' ? found : null;
    },

    /** Claimable balances as of the newest ledger that shows, in the order of their creation or last change. */
    async claimableBalances(filter: ClaimableBalanceFilter): Promise<ClaimableBalanceEntry[]> {
      const { claimant, ...fields } = filter;
      const wanted = { kind: 'claimable_balance', ...fields, ...(claimant && { 'claimants.destination': claimant }) };
      const newest = await store.entries.find(wanted as mongo.Filter<Entry>).toArray();
      const found = past.asOf(visible().latest, (entry) => matchesBalance(entry, filter), newest);
      return (found as ClaimableBalanceEntry[]).sort(byChange);
    },

    /** Lumens as of the newest ledger, whether it shows or not; null for an account that is not there. */
    balance: async (id: string): Promise<bigint | null> => (await accountsOf([id])).get(id)?.balance ?? null,

    /** Sequence number after all that waits, or null for an account that is not there. */
    async nextSequence(id: string): Promise<bigint | null> {
      const account = (await accountsOf([id])).get(id);
      return account === undefined ? null : (queue.sequenceOf(id) ?? account.sequence) + 1n;
    },
  };
}
