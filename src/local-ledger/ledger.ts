/** The ledger without HTTP: submissions, state, history, and the closer. */
import { Keypair } from '@stellar/stellar-sdk/base';
import type { Db } from 'mongodb';
import type { Logger } from 'pino';
import { createArchive } from './archive.js';
import type { Clock } from './clock.js';
import { createCloser } from './closer.js';
import { decodeEnvelope, type Envelope } from './envelope.js';
import { type Api, createFaults } from './faults.js';
import { createHistory, type Visible } from './history.js';
import { createPast } from './past.js';
import { createQueue } from './queue.js';
import { createRateLimiter } from './rate-limiter.js';
import { createEventReader } from './rpc/event-reader.js';
import { createContractIds } from './rpc/events.js';
import { createState } from './state.js';
import { openStore } from './store.js';
import { createSubmissions } from './submissions.js';

export interface LedgerDeps {
  db: Db;
  clock: Clock;
  log: Logger;
  /** Interval between ledgers, in milliseconds. */
  closeMs: number;
  passphrase: string;
}

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

  const history = createHistory({ api: 'horizon', store, visible, faults, head });
  const validator = Keypair.fromRawEd25519Seed(Buffer.from((await store.load()).validatorSeed, 'hex'));

  return {
    passphrase,
    root,
    /** Signs every ledger; see `archive`. */
    validator,
    archive: createArchive({ passphrase, validator, store, history }),
    clock,
    closeMs,
    faults,
    rateLimiter: createRateLimiter(faults, clock),
    closer,
    history,
    /** The history as Stellar RPC shows it. */
    rpcHistory: createHistory({ api: 'rpc', store, visible: () => visible('rpc'), faults, head }),
    events: createEventReader(store, faults),
    head,
    visible,
    /** Open streams; closing the ledger ends them. */
    streams: new Set<AbortController>(),
    /** The owner, if it closed a ledger within this many milliseconds. */
    liveOwner: store.liveOwner,
    ...createState({ store, past, visible }),
    ...createSubmissions({ store, queue, clock, head }),

    /** Resolves with whether the ledger becomes visible within the time, because a lagging ledger
     *  shows a close later. */
    async becomesVisible(sequence: number, withinMs: number): Promise<boolean> {
      if (visible().latest >= sequence) return true;
      const waiting = new AbortController();
      void clock.sleep(withinMs, waiting.signal).then(() => waiting.abort());
      while (!waiting.signal.aborted && visible().latest < sequence) await closer.nextClose(waiting.signal);
      waiting.abort();
      return visible().latest >= sequence;
    },

    /** Null for text that is not an envelope. */
    decode: (base64: string): Envelope | null => decodeEnvelope(base64, passphrase),
  };
}
