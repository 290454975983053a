/** History archives: files of checkpoints, from servers that are never trusted. Requests are
 *  bounded in time and size and taken from the network's budget; a server that failed rests for
 *  some seconds. What a file holds is checked by who makes a proof of it. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import {
  BudgetUsedUp,
  createRequester,
  endpointOf,
  type Fetch,
  type LedgerBudget,
  labelsOf,
  SourceError,
} from '../ledger/index.js';

const unpack = promisify(gunzip);

/** Ledgers in a checkpoint; the last of each is one less than a multiple of it. */
export const CHECKPOINT = 64;
/** The last ledger of the checkpoint that has the ledger. */
export const checkpointOf = (ledger: number): number => ledger - (ledger % CHECKPOINT) + CHECKPOINT - 1;

/** The four files of a checkpoint of the public network have some 10 MB together. */
const MAX_FILE_BYTES = 25_165_824;
const MAX_UNPACKED_BYTES = 96 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
/** After a fault. Short, so that an archive is found honest again soon. */
const REST_MS = 10_000;
/** Payments of the same checkpoint share its files. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

export type ArchiveFile = 'ledger' | 'results' | 'transactions' | 'scp';

export interface Archive {
  /** Shown to people: its host. */
  label: string;
  /** Milliseconds until it may be asked again; 0 when it may. */
  restsMs(): number;
  /** A file of the checkpoint that ends with this ledger, unpacked; null when the archive does not
   *  have it, or not yet.
   *  @param patience waits for the request budget until this aborts
   *  @throws SourceError, BudgetUsedUp */
  file(kind: ArchiveFile, checkpoint: number, patience: AbortSignal): Promise<Uint8Array<ArrayBuffer> | null>;
  /** It is asked again for its files of these checkpoints. */
  forget(checkpoints: readonly number[]): void;
  /** Its files of these checkpoints proved nothing: it is asked for them again after a rest. */
  blame(checkpoints: readonly number[]): void;
}

interface ArchivesDeps {
  urls: readonly string[];
  /** Null for no limit. */
  budget: LedgerBudget | null;
  clock: Clock;
  monotonic: MonotonicClock;
  fetch?: Fetch | undefined;
  /** For one file, with its body. */
  timeoutMs?: number;
}

export type Archives = ReturnType<typeof createArchives>;

export function createArchives(deps: ArchivesDeps) {
  const { urls, budget, clock, monotonic, fetch, timeoutMs = TIMEOUT_MS } = deps;
  const requester = createRequester(clock, { fetch, maxBodyBytes: MAX_FILE_BYTES, parse: (body) => body });
  const labels = labelsOf(urls);
  const kept = createKept();

  async function spend(patience: AbortSignal): Promise<void> {
    for (const allowance of budget?.allowancesOf({ purpose: 'proofs' }) ?? [])
      for (let waitMs = await allowance.take(); waitMs > 0; waitMs = await allowance.take()) {
        await clock.sleep(waitMs, patience);
        if (patience.aborted) throw new BudgetUsedUp(waitMs);
      }
  }

  function archiveOf(url: string, label: string): Archive {
    const { headers, urlOf } = endpointOf(url);
    let restsUntilMs = 0;
    const rest = () => {
      restsUntilMs = monotonic.nowMs() + REST_MS;
    };
    const keyOf = (kind: ArchiveFile, checkpoint: number) => `${url} ${kind} ${checkpoint}`;
    const forget = (checkpoints: readonly number[]) => {
      for (const checkpoint of checkpoints)
        for (const kind of ['ledger', 'results', 'transactions', 'scp'] as const) kept.remove(keyOf(kind, checkpoint));
    };

    async function request(kind: ArchiveFile, checkpoint: number, patience: AbortSignal) {
      await spend(patience);
      const { status, body } = await requester.send({ url: urlOf(pathOf(kind, checkpoint)), headers }, timeoutMs);
      // Some hosts answer 403 for a file that is not there.
      if (status === 404 || status === 403) return null;
      if (status !== 200) throw new SourceError(`status ${status}`);
      return unpacked(body as Buffer);
    }

    return {
      label,
      restsMs: () => Math.max(0, restsUntilMs - monotonic.nowMs()),
      async file(kind, checkpoint, patience) {
        const known = kept.get(keyOf(kind, checkpoint));
        if (known) return known;
        const found = await request(kind, checkpoint, patience).catch((error: unknown) => {
          if (error instanceof SourceError) rest();
          throw error;
        });
        if (found) kept.add(keyOf(kind, checkpoint), found);
        return found;
      },
      forget,
      blame(checkpoints) {
        forget(checkpoints);
        rest();
      },
    };
  }

  return {
    all: urls.map((url, index) => archiveOf(url, labels[index]!)),
    close: () => requester.close(),
  };
}

/** `/ledger/00/00/3f/ledger-0000003f.xdr.gz` */
function pathOf(kind: ArchiveFile, checkpoint: number): string {
  const hex = checkpoint.toString(16).padStart(8, '0');
  return `/${kind}/${hex.slice(0, 2)}/${hex.slice(2, 4)}/${hex.slice(4, 6)}/${kind}-${hex}.xdr.gz`;
}

/** @throws SourceError */
async function unpacked(file: Buffer): Promise<Uint8Array<ArrayBuffer>> {
  // Where the server names gzip as the encoding of its answer, it is unpacked already.
  if (file[0] !== 0x1f || file[1] !== 0x8b) return new Uint8Array(file);
  try {
    return new Uint8Array(await unpack(file, { maxOutputLength: MAX_UNPACKED_BYTES }));
  } catch {
    throw new SourceError('a file that does not unpack');
  }
}

/** The files used last, up to a size. */
function createKept() {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  let bytes = 0;
  const remove = (key: string) => {
    bytes -= files.get(key)?.length ?? 0;
    files.delete(key);
  };
  return {
    remove,
    get(key: string) {
      const found = files.get(key);
      if (found) {
        files.delete(key);
        files.set(key, found);
      }
      return found;
    },
    add(key: string, file: Uint8Array<ArrayBuffer>) {
      remove(key);
      files.set(key, file);
      bytes += file.length;
      for (const [oldest] of files) {
        if (bytes <= MAX_KEPT_BYTES) break;
        remove(oldest);
      }
    },
  };
}
