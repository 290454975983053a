/** The ledger itself, without HTTP: takes transactions, closes ledgers one after the other, tells who waits. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Keypair } from '@stellar/stellar-sdk';
import type { mongo } from 'mongoose';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { check, checkedAccounts, type LedgerMoment } from './apply.js';
import { prepareClose } from './close.js';
import { type AccountEntry, accountKey, type Entry } from './entries.js';
import { decodeEnvelope, type Envelope } from './envelope.js';
import { createFaults } from './faults.js';
import { toCloseTime } from './headers.js';
import { createHistory, type Visible } from './history.js';
import { type Injection, injectedId } from './injection.js';
import { createQueue, type Settled } from './queue.js';
import type { TransactionOutcome } from './results.js';
import { type Head, LostLedgerError, openStore } from './store.js';

export interface LedgerDeps {
  db: mongo.Db;
  clock: Clock;
  log: Logger;
  closeMs: number;
  passphrase: string;
}

/** What is said at once about a submitted transaction. */
export type Submission =
  | { kind: 'rejected'; outcome: TransactionOutcome }
  | { kind: 'waiting'; settled: Promise<Settled>; isNew: boolean };

export type Ledger = Awaited<ReturnType<typeof createLedger>>;

export async function createLedger({ db, clock, log, closeMs, passphrase }: LedgerDeps) {
  const root = Keypair.master(passphrase);
  const store = await openStore(db, clock, root.publicKey());
  const queue = createQueue();
  const faults = createFaults(clock);
  const listeners = new Set<() => void>();
  const streams = new Set<AbortController>();
  let head = await store.load();
  let isMine = false;
  let injections: { injection: Injection; resolve(id: string): void }[] = [];
  let turn: Promise<unknown> = Promise.resolve();
  let timer: AbortController | null = null;
  let unsettled: (() => void) | null = null;
  let onLost: () => void = () => undefined;

  /** One change of the head at a time. */
  function inTurn<T>(change: () => Promise<T>): Promise<T> {
    const mine = turn.then(change, change);
    turn = mine.catch(() => undefined);
    return mine;
  }

  function visible(): Visible {
    const latest = Math.max(1, head.sequence - faults.lag());
    return { latest, elder: Math.min(latest, faults.elder() ?? 1) };
  }

  async function claim(url: string): Promise<void> {
    head = await store.claim({ token: randomUUID(), host: hostname(), url });
    isMine = true;
  }

  async function closeAt(scheduledMs: number): Promise<number> {
    if (!isMine) await claim('');
    await finishUnsettled();
    // The machine's clock may be set back; a ledger's time never is.
    const atMs = Math.max(scheduledMs, head.atMs);
    const batch = queue.nextBatch();
    const injected = injections;
    if (batch.length === 0 && injected.length === 0) {
      await write(store.closeEmpty(head, atMs), () => undefined);
      return head.sequence;
    }
    const records = injected.map(({ injection }) => injection);
    const { ledger, settlements } = await prepareClose(store, head, atMs, batch, records);
    const sequence = head.sequence + 1;
    await write(store.close(head, ledger), () => {
      queue.remove(batch);
      injections = injections.slice(injected.length);
      const firstInjected = ledger.documents.length - injected.length + 1;
      for (const [index, { resolve }] of injected.entries()) resolve(injectedId(sequence, firstInjected + index));
      for (const [index, { settle }] of batch.entries()) settle(settlements[index]!);
    });
    return head.sequence;
  }

  async function write(next: Promise<Head>, settle: () => void): Promise<void> {
    // Until the database has answered nobody knows whether the ledger is closed.
    unsettled = settle;
    try {
      written(await next);
    } catch (error) {
      if (error instanceof LostLedgerError) lose();
      throw error;
    }
  }

  function written(next: Head): void {
    head = next;
    unsettled?.();
    unsettled = null;
    for (const listener of [...listeners]) listener();
  }

  /** A close whose answer was cut off may have happened all the same: the head in the database says. */
  async function finishUnsettled(): Promise<void> {
    if (unsettled === null) return;
    const now = await store.load();
    if (now.fence !== head.fence) {
      lose();
      throw new LostLedgerError();
    }
    if (now.sequence === head.sequence + 1) written(now);
    unsettled = null;
  }

  function lose(): void {
    isMine = false;
    unsettled = null;
    stopTimer();
    queue.dropAll();
    log.warn('the local ledger is closed by another process now');
    onLost();
  }

  function stopTimer(): void {
    timer?.abort();
    timer = null;
  }

  async function runTimer(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const nextMs = (Math.floor(Math.max(clock.nowMs(), head.atMs) / closeMs) + 1) * closeMs;
      await clock.sleep(nextMs - clock.nowMs(), signal);
      if (signal.aborted) return;
      // A timer may fire a little early; the ledger closes at the moment it was meant for.
      await inTurn(() => closeAt(nextMs)).catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, 'a ledger could not be closed');
      });
    }
  }

  async function accountsOf(ids: string[]): Promise<Map<string, AccountEntry>> {
    const found = await store.entries.find({ _id: { $in: ids.map(accountKey) } }).toArray();
    return new Map((found as AccountEntry[]).map((entry) => [entry.owner, entry]));
  }

  return {
    passphrase,
    root,
    clock,
    closeMs,
    faults,
    history: createHistory(store, visible, () => head),
    head: () => head,
    visible,
    /** Streams that are open, to be ended with the ledger. */
    streams,

    /** Takes the right to close ledgers, whoever had it. `url` is where others on this database find the ledger. */
    claim: (url: string) => inTurn(() => claim(url)),
    isMine: () => isMine,
    liveOwner: store.liveOwner,
    /** Called when another process has taken the ledger over. */
    whenLost(callback: () => void): void {
      onLost = callback;
    },

    decode: (base64: string): Envelope | null => decodeEnvelope(base64, passphrase),

    /** Checks a transaction as the next ledger would, and lets it wait for that ledger. */
    async submit(envelope: Envelope): Promise<Submission> {
      const known = queue.find(envelope.hash.toString('hex'));
      if (known !== undefined) return { kind: 'waiting', settled: known.settled, isNew: false };
      const accounts = await accountsOf(checkedAccounts(envelope));
      const again = queue.find(envelope.hash.toString('hex'));
      if (again !== undefined) return { kind: 'waiting', settled: again.settled, isNew: false };
      const next: LedgerMoment = {
        sequence: head.sequence + 1,
        closeTime: toCloseTime(Math.max(clock.nowMs(), head.atMs)),
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

    /** The account as of the newest ledger, with all that it owns. */
    async account(id: string): Promise<{ account: AccountEntry; owned: Entry[] } | null> {
      const found = await store.entries.find({ owner: id }).sort({ _id: 1 }).toArray();
      const account = found.find((entry) => entry.kind === 'account');
      return account === undefined ? null : { account, owned: found.filter((entry) => entry !== account) };
    },

    /** Sequence number after all that waits, or null for an account that is not there. */
    async nextSequence(id: string): Promise<bigint | null> {
      const account = (await accountsOf([id])).get(id);
      return account === undefined ? null : (queue.sequenceOf(id) ?? account.sequence) + 1n;
    },

    /** Puts a made-up record into the next ledger; resolves with its operation id when that has closed. */
    inject: (injection: Injection) =>
      new Promise<string>((resolve) => {
        injections.push({ injection, resolve });
      }),

    /** Closes one ledger now; resolves with its sequence. */
    closeLedger: () => inTurn(() => closeAt(clock.nowMs())),

    /** From the next whole multiple of `closeMs` on, a ledger at each. */
    startTimer(): void {
      if (timer !== null) return;
      timer = new AbortController();
      void runTimer(timer.signal);
    },
    stopTimer,

    /** Begins a new chain at ledger 1, as a test network does a few times a year. */
    reset: () =>
      inTurn(async () => {
        if (!isMine) await claim('');
        head = await store.reset(head);
        queue.dropAll();
        for (const listener of [...listeners]) listener();
      }),

    /** Resolves once a ledger has closed (or the signal aborts). */
    nextClose: (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const done = () => {
          listeners.delete(done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        listeners.add(done);
        signal.addEventListener('abort', done);
        if (signal.aborted) done();
      }),

    async close(): Promise<void> {
      stopTimer();
      for (const stream of streams) stream.abort();
      await inTurn(async () => {
        if (isMine) await store.release(head);
        isMine = false;
      }).catch((error: unknown) => log.warn({ err: error }, 'the local ledger could not be released'));
      queue.dropAll();
    },
  };
}
