/** Closes ledgers on a timer or on demand, one at a time, while this process holds the fence. Each
 *  ledger takes the waiting transactions. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Clock } from './clock.js';
import { prepareClose } from './close.js';
import type { Faults } from './faults.js';
import { type Injection, injectedId, type Network } from './injection.js';
import type { Past } from './past.js';
import type { Queue } from './queue.js';
import { type Head, LostLedgerError, type Store } from './store.js';

export interface CloserDeps {
  store: Store;
  queue: Queue;
  past: Past;
  faults: Faults;
  network: Network;
  clock: Clock;
  log: Logger;
  closeMs: number;
}

export type Closer = Awaited<ReturnType<typeof createCloser>>;

export async function createCloser({ store, queue, past, faults, network, clock, log, closeMs }: CloserDeps) {
  let head = await store.load();
  let state: 'watching' | 'closing' | 'lost' = 'watching';
  let injections: { injection: Injection; resolve(id: string): void }[] = [];
  /** Reports to the submitters, once the database confirms that their ledger is written. */
  let unsettled: (() => void) | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  let timer: AbortController | null = null;
  let onLost: () => void = () => undefined;
  const listeners = new Set<() => void>();

  /** Changes the head one change at a time. */
  function inTurn<T>(change: () => Promise<T>): Promise<T> {
    const mine = turn.then(change, change);
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function claim(url: string): Promise<void> {
    head = await store.claim({ token: randomUUID(), host: hostname(), url });
    state = 'closing';
  }

  async function takeFence(): Promise<void> {
    if (state === 'lost') throw new LostLedgerError();
    if (state === 'watching') await claim('');
  }

  async function closeAt(scheduledMs: number): Promise<number> {
    await takeFence();
    await finishUnsettled();
    // The machine's clock may be set back, but a ledger's time never is.
    const atMs = Math.max(scheduledMs, head.atMs);
    const batch = queue.nextBatch();
    const injected = injections;
    if (batch.length === 0 && injected.length === 0) {
      await write(store.closeEmpty(head, atMs), () => undefined);
      return head.sequence;
    }
    const records = injected.map(({ injection }) => injection);
    const { ledger, settlements, before } = await prepareClose(store, head, atMs, batch, records, network);
    const sequence = head.sequence + 1;
    past.note(sequence, before);
    faults.noteLedger(sequence, ledger.documents);
    await write(store.closeFull(head, ledger), () => {
      queue.remove(batch);
      injections = injections.slice(injected.length);
      const firstInjected = ledger.documents.length - injected.length + 1;
      for (const [index, { resolve }] of injected.entries()) resolve(injectedId(sequence, firstInjected + index));
      for (const [index, { settle }] of batch.entries()) settle(settlements[index]!);
    });
    return head.sequence;
  }

  async function write(next: Promise<Head>, settle: () => void): Promise<void> {
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
    announce();
  }

  /** Decides by the head in the database: a close may have happened although its answer
   *  was lost. */
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

  function announce(): void {
    for (const listener of [...listeners]) listener();
  }

  function lose(): void {
    state = 'lost';
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
    let nextMs = 0;
    while (!signal.aborted) {
      const nowMs = clock.nowMs();
      // A timer that fires early must not close twice. A clock that was set back is followed.
      const isJustBefore = nowMs <= nextMs && nextMs - nowMs < closeMs;
      nextMs = isJustBefore ? nextMs + closeMs : (Math.floor(nowMs / closeMs) + 1) * closeMs;
      await clock.sleep(nextMs - nowMs, signal);
      if (signal.aborted) return;
      // After a late wake-up or a change of the clock: a ledger must not close before
      // its transactions.
      if (clock.nowMs() - nextMs >= closeMs) nextMs = clock.nowMs();
      await inTurn(() => closeAt(nextMs)).catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, 'a ledger could not be closed');
      });
    }
  }

  return {
    head: () => head,
    isClosing: () => state === 'closing',

    /** Takes the right to close ledgers from its owner. Other processes on this database find the
     *  ledger at `url`. */
    claim: (url: string) => inTurn(() => claim(url)),
    /** Called when another process has taken the ledger over. */
    whenLost(callback: () => void): void {
      onLost = callback;
    },

    /** Closes one ledger now; resolves with its sequence. */
    closeLedger: () => inTurn(() => closeAt(clock.nowMs())),

    /** Closes a ledger at each whole multiple of `closeMs` from now on. */
    startTimer(): void {
      if (timer !== null) return;
      timer = new AbortController();
      void runTimer(timer.signal);
    },
    stopTimer,

    /** Puts a made-up record into the next ledger; resolves with its operation id when that
     *  has closed. */
    inject: (injection: Injection) =>
      new Promise<string>((resolve) => {
        injections.push({ injection, resolve });
      }),

    /** Begins a new chain at ledger 1, as a test network does a few times a year. */
    reset: () =>
      inTurn(async () => {
        await takeFence();
        head = await store.reset(head);
        past.forget();
        queue.dropAll();
        announce();
      }),

    /** Resolves once a ledger has closed, or the signal aborts. */
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

    /** Releases the fence, so that others can take over at once. */
    async close(): Promise<void> {
      stopTimer();
      await inTurn(async () => {
        if (state === 'closing') await store.release(head);
        state = 'lost';
      }).catch((error: unknown) => log.warn({ err: error }, 'the local ledger could not be released'));
      await store.end();
      queue.dropAll();
    },
  };
}
