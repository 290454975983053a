/** A history archive of the ledger, in the layout of the public network's: files of checkpoints of
 *  64 ledgers, with the decisions of the ledger's one validator. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Keypair } from '@stellar/stellar-sdk/base';
import { type Header, sha256 } from './headers.js';
import type { History } from './history.js';
import type { Store } from './store.js';
import { afterLedger, ledgerStart } from './toid.js';
import { type AppliedTransaction, appliedOf, resultSet, transactionSet } from './transaction-set.js';

const compress = promisify(gzip);

/** Ledgers in a checkpoint; the last of each is one less than a multiple of it. */
export const CHECKPOINT = 64;

export const ARCHIVE_FILES = ['ledger', 'results', 'transactions', 'scp'] as const;
export type ArchiveFile = (typeof ARCHIVE_FILES)[number];

/** The last ledger of the newest complete checkpoint; 0 before the first. */
const newestCheckpoint = (latest: number): number =>
  Math.max(0, Math.floor((latest + 1) / CHECKPOINT) * CHECKPOINT - 1);

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const uint64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};

const [ZERO, ONE, TWO] = [uint32(0), uint32(1), uint32(2)];

/** A record of a file: its length, with the highest bit set, and its bytes. */
function record(...parts: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(parts);
  return Buffer.concat([uint32((0x8000_0000 | bytes.length) >>> 0), bytes]);
}

/** Where the value that validators agree on lies in a header. */
const VALUE = { start: 36, end: 84 } as const;

export interface ArchiveDeps {
  passphrase: string;
  validator: Keypair;
  store: Store;
  history: Pick<History, 'visible' | 'headersOf'>;
}

export type Archive = ReturnType<typeof createArchive>;

export function createArchive({ passphrase, validator, store, history }: ArchiveDeps) {
  const networkId = sha256(Buffer.from(passphrase));
  const quorumSet = Buffer.concat([ONE, ONE, ZERO, validator.rawPublicKey(), ZERO]);
  const quorumSetHash = sha256(quorumSet);

  /** The validator's EXTERNALIZE for a ledger. A key signs the same bytes the same way each time,
   *  so that no signature is kept. */
  function decision({ sequence, bytes }: Header): Buffer {
    const value = bytes.subarray(VALUE.start, VALUE.end);
    const ballot = Buffer.concat([ONE, uint32(value.length), value]);
    const pledges = Buffer.concat([TWO, ballot, ONE, quorumSetHash]);
    const statement = Buffer.concat([ZERO, validator.rawPublicKey(), uint64(sequence), pledges]);
    const signature = Buffer.from(validator.sign(Buffer.concat([networkId, ONE, statement])));
    return Buffer.concat([statement, uint32(signature.length), signature]);
  }

  const recordOf: Record<ArchiveFile, (header: Header, applied: AppliedTransaction[]) => Buffer | null> = {
    ledger: ({ hash, bytes }) => record(hash, bytes, ZERO),
    results: ({ sequence }, applied) =>
      applied.length === 0 ? null : record(uint32(sequence), resultSet(applied), ZERO),
    transactions: ({ sequence, previousHash }, applied) =>
      applied.length === 0
        ? null
        : // An empty set of the old kind, then the set, which begins with the arm of its union.
          record(uint32(sequence), previousHash, ZERO, ONE, transactionSet(previousHash, applied)),
    scp: (header) => record(ZERO, ONE, quorumSet, uint32(header.sequence), ONE, decision(header)),
  };

  /** The transactions of these ledgers that their hashes cover, by ledger. */
  async function appliedIn(from: number, to: number): Promise<Map<number, AppliedTransaction[]>> {
    const found = await store.transactions
      .find({ _id: { $gte: ledgerStart(from), $lte: afterLedger(to) } })
      .sort({ _id: 1 })
      .toArray();
    const byLedger = new Map<number, AppliedTransaction[]>();
    for (const each of found) byLedger.set(each.ledger, [...(byLedger.get(each.ledger) ?? []), ...appliedOf([each])]);
    return byLedger;
  }

  const newest = (): number => newestCheckpoint(history.visible().latest);

  return {
    /** The last ledger of the newest complete checkpoint; 0 before the first. */
    newest,

    /** A file of the checkpoint that ends with this ledger, compressed; null when there is none, as
     *  for the ledgers of releases that did not chain them. */
    async file(kind: ArchiveFile, last: number): Promise<Buffer | null> {
      if ((last + 1) % CHECKPOINT !== 0 || last > newest()) return null;
      const first = Math.max(1, last + 1 - CHECKPOINT);
      const headers = await history.headersOf(first, last);
      if (headers.some(({ span }) => span.previousHash === undefined)) return null;
      const applied = await appliedIn(first, last);
      const records = headers.map(({ header }) => recordOf[kind](header, applied.get(header.sequence) ?? []));
      return compress(Buffer.concat(records.filter((each) => each !== null)));
    },
  };
}
