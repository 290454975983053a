/** Makes the proof of one payment: from what Horizon or Stellar RPC shows, or from history
 *  archives. Nothing of it is believed: our own verifier checks each bundle, and the payment has to
 *  be the one that is stored. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { ProofLevel } from '../../contracts/proofs.js';
import type { Clock } from '../kit/clock.js';
import {
  BudgetUsedUp,
  type BytesSoFar,
  type LedgerBytes,
  LedgerUnavailable,
  type NetworkLedger,
  noBytes,
  operationOrderOf,
  SourceError,
  UnfitServer,
} from '../ledger/index.js';
import type { PaymentDoc } from '../payments/index.js';
import {
  assembleProof,
  type Bundle,
  type Claim,
  KNOWN_VALIDATORS,
  MAX_BYTES,
  makeProof,
  NoTransaction,
  signedPartOf,
  TooLarge,
  type Validator,
  verifyProof,
} from '../proof/index.js';
import { type Archive, type Archives, CHECKPOINT, checkpointOf } from './archives.js';
import type { DueProof, Outcome } from './proof-store.js';

const compress = promisify(gzip);

/** After a fault of a source. With the time limits of requests, a proof is READY within a minute of
 *  a source's honesty. */
const AGAIN_MS = 10_000;
/** The same for a proof that has been tried for long. */
const LATE_AGAIN_MS = 300_000;
const LATE_TRIES = 200;
/** A ledger without a budget may close many times a second. */
const FREE_LOOK_MS = 500;
const LEDGER_MS = 5_500;
/** From the end of a checkpoint until its files are there. */
const PUBLISHED_MS = 30_000;
const LONGEST_LOOK_MS = 60_000;
/** A source that has had this long does not have the ledger, nor an archive the checkpoint. */
const MISSING_MS = 3_600_000;

/** Until the files of an archive that lack the transaction are read again: 320 of them an hour, of
 *  the 450 requests that proofs have by default. */
const REREAD_MS = 45_000;

const TOO_LARGE = 'The proof would be larger than a verifier takes.';

/** Why a proof is not made now. */
class NotNow extends Error {
  constructor(
    readonly reason: string,
    /** Null: it may never be. */
    readonly inMs: number | null,
  ) {
    super(reason);
  }
}

/** What a server answered is no proof. */
class Lie extends NotNow {
  constructor(server: string, reasons: readonly string[]) {
    super(`${server} answered with bytes that prove nothing: ${reasons.at(-1) ?? 'they fit nowhere'}.`, AGAIN_MS);
  }
}

export interface MakerDeps {
  network: Network;
  ledger: Pick<NetworkLedger, 'session' | 'servers' | 'isFree'>;
  /** Null without one. */
  archives: Archives | null;
  /** Whose signatures count, where the verifier knows none of the network by itself. */
  validators: () => Promise<readonly Validator[]>;
  clock: Clock;
}

/** @param patience waits for the request budget until this aborts */
export type MakeProof = (proof: DueProof, payment: PaymentDoc, patience: AbortSignal) => Promise<Outcome>;

/** What was read of a payment's ledger, by server. */
type Begun = Map<string, BytesSoFar | 'gone'>;
type Making = MakerDeps & { patience: AbortSignal; begun: Begun };

/** Proofs that wait for the budget and whose bytes are kept. */
const MOST_KEPT = 8;

/** @returns a function that never rejects but for faults of this program */
export function createMaker(deps: MakerDeps): MakeProof {
  const { clock } = deps;
  const make = { ledger: fromLedger, signed: fromArchives } satisfies Record<ProofLevel, unknown>;

  /** By proof: a small budget grants the requests of one over hours. */
  const kept = new Map<string, Begun>();

  return async ({ _id, level, tries, nextAt }, payment, patience) => {
    const begun: Begun = kept.get(_id) ?? new Map();
    kept.delete(_id);
    try {
      const json = JSON.stringify(await make[level]({ ...deps, patience, begun }, payment));
      if (Buffer.byteLength(json) > MAX_BYTES) throw new NotNow(TOO_LARGE, null);
      return { state: 'READY', reason: null, nextAt: null, bundle: await compress(json) };
    } catch (error) {
      if (error instanceof BudgetUsedUp) {
        kept.set(_id, begun);
        if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
        // Still the first of its account.
        return { state: 'WAITING', reason: `The request budget of ${payment.network} is used up for now.`, nextAt };
      }
      const isOfSource = error instanceof LedgerUnavailable || error instanceof UnfitServer;
      const again = isOfSource ? new NotNow(`${payment.network}: ${error.message}.`, AGAIN_MS) : error;
      if (!(again instanceof NotNow)) throw error;
      if (again.inMs === null) return { state: 'UNAVAILABLE', reason: again.reason, nextAt: null };
      const inMs = tries > LATE_TRIES ? Math.max(again.inMs, LATE_AGAIN_MS) : again.inMs;
      return { state: 'WAITING', reason: again.reason, nextAt: new Date(clock.nowMs() + inMs) };
    }
  };
}

/** The fields of the claim that the payment has to have. */
const claimOf = (payment: PaymentDoc): Partial<Claim> => ({
  transactionHash: payment.transactionHash,
  from: payment.senderAddress,
  to: payment.receiverAddress,
  toMuxedId: payment.destinationMuxedId ?? null,
  memoType: payment.memoType,
  // How many marks stand for bytes that are no text, readers decide differently.
  ...(payment.memo?.includes('\ufffd') ? {} : { memo: payment.memo }),
  assetCode: payment.assetCode,
  assetIssuer: payment.assetIssuer,
  amount: payment.amount,
});

const placeOf = ({ network, operationId }: PaymentDoc) => ({
  networkPassphrase: networkInfo[network].passphrase,
  operationIndex: operationOrderOf(BigInt(operationId)) - 1,
});

/** Asks each server of the network for what the result of a contract call covers.
 *  @param hash that it has to have
 *  @returns one of another hash where no server has the right one: the server lies, or who told
 *  the result
 *  @throws NotNow when none tells it */
async function invocationOf(deps: Making, { transactionHash }: PaymentDoc, hash: Uint8Array) {
  const { ledger, network, patience } = deps;
  const session = ledger.session({ purpose: 'proofs' }, patience);
  let isAway = false;
  let another: Uint8Array<ArrayBuffer> | null = null;
  for (const server of ledger.servers) {
    try {
      const told = await session.on(server).invocation(transactionHash);
      if (!told) continue;
      if (createHash('sha256').update(told).digest().equals(hash)) return new Uint8Array(told);
      another = new Uint8Array(told);
    } catch (error) {
      if (error instanceof BudgetUsedUp || !(error instanceof LedgerUnavailable || error instanceof UnfitServer))
        throw error;
      isAway = true;
    }
  }
  if (another) return another;
  if (isAway)
    throw new NotNow('A source of the ledger is away, and the others do not tell of contract calls.', AGAIN_MS);
  throw new NotNow(
    `A contract was called, and no source of ${network} tells what it did, or no longer: set RPC_URLS_${network}, and ask within days of the payment.`,
    null,
  );
}

/** From the first server that has the ledger. */
async function fromLedger(deps: Making, payment: PaymentDoc): Promise<Bundle> {
  const { network } = payment;
  const [found, server] = await ledgerBytesOf(deps, payment);
  const own = found.transactions.find(({ hash }) => hash === payment.transactionHash);
  if (!own) throw lacking(server, againIn(deps, payment));
  const bundle = await proving(server, () =>
    assembleProof({
      ...placeOf(payment),
      transaction: signedPartOf(new Uint8Array(own.envelope)),
      resultSet: resultSetOf(found),
      headers: [new Uint8Array(found.header)],
      anchor: null,
      invocation: (hash) => invocationOf(deps, payment, hash),
      like: claimOf(payment),
    }),
  );
  const { passphrase } = networkInfo[network];
  const { verdict, claim, reasons } = await verifyProof(bundle, { passphrase });
  if (verdict !== 'CONSISTENT' || !isOf(payment, claim)) throw new Lie(server, reasons);
  return bundle;
}

async function ledgerBytesOf(deps: Making, payment: PaymentDoc): Promise<[LedgerBytes, string]> {
  const { ledger, patience, begun } = deps;
  const session = ledger.session({ purpose: 'proofs' }, patience);
  let [isGone, away]: [boolean, Error | null] = [true, null];
  for (const server of ledger.servers) {
    const soFar = begun.get(server) ?? noBytes();
    if (soFar === 'gone') continue;
    begun.set(server, soFar);
    try {
      const found = await session.on(server).ledgerBytes(payment.ledger, soFar);
      if (found && found !== 'gone') return [found, server];
      if (found === 'gone') begun.set(server, found);
      else isGone = false;
    } catch (error) {
      if (error instanceof BudgetUsedUp || !(error instanceof LedgerUnavailable || error instanceof UnfitServer))
        throw error;
      away = error;
    }
  }
  if (away) throw away;
  if (!isGone)
    throw new NotNow(`No source of ${payment.network} has ledger ${payment.ledger} now.`, againIn(deps, payment));
  throw new NotNow(`Ledger ${payment.ledger} is older than the sources of ${payment.network} keep.`, null);
}

const lacking = (server: string, inMs: number | null) =>
  new NotNow(`${server} does not show the payment’s transaction in its ledger.`, inMs);

/** Null for a payment so old that every source has its ledger, unless the network started over. */
const againIn = ({ clock }: MakerDeps, { ledgerClosedAt }: PaymentDoc): number | null =>
  clock.nowMs() > ledgerClosedAt.getTime() + MISSING_MS ? null : AGAIN_MS;

/** `TransactionResultSet`. */
function resultSetOf({ transactions }: LedgerBytes): Uint8Array<ArrayBuffer> {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(transactions.length);
  const pairs = transactions.flatMap(({ hash, result }) => [Buffer.from(hash, 'hex'), result]);
  return new Uint8Array(Buffer.concat([count, ...pairs]));
}

const isOf = ({ ledger }: PaymentDoc, claim: Claim | null): boolean => claim?.ledger === ledger;

/** What is thrown over the bytes of a server is the server's fault, unless they are many, or show
 *  a ledger without the transaction. @throws NotNow, NoTransaction */
async function proving<T>(server: string, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof NotNow || error instanceof LedgerUnavailable || error instanceof UnfitServer) throw error;
    if (error instanceof NoTransaction) throw error;
    if (error instanceof TooLarge) throw new NotNow(TOO_LARGE, null);
    throw new Lie(server, error instanceof Error ? [error.message] : []);
  }
}

/** From the first archive whose files prove it. @throws NotNow with the fault of the last one */
async function fromArchives(deps: Making, payment: PaymentDoc): Promise<Bundle> {
  const { archives, network } = deps;
  if (!archives) throw new NotNow(withoutArchive(network), null);
  const rests = archives.all.map((archive) => archive.restsMs());
  const resting = rests.filter((ms) => ms > 0);
  const rest = new NotNow(`History archives of ${network} did not answer as they should.`, Math.min(...resting));
  if (resting.length === rests.length) throw rest;
  const faults: NotNow[] = [];
  for (const archive of archives.all.filter((each) => each.restsMs() === 0)) {
    try {
      return await fromArchive(deps, archive, payment);
    } catch (error) {
      const fault = error instanceof SourceError ? new NotNow(`${archive.label}: ${error.message}.`, AGAIN_MS) : error;
      if (!(fault instanceof NotNow)) throw error;
      faults.push(fault);
    }
  }
  // One that has to be waited for is more than one that has nothing; one that rests may have it.
  throw faults.find(({ inMs }) => inMs !== null) ?? (resting.length > 0 ? rest : faults[0]!);
}

export const withoutArchive = (network: Network): string =>
  `${network} has no history archive here: set ARCHIVE_URLS_${network}.`;

async function fromArchive(deps: Making, archive: Archive, payment: PaymentDoc): Promise<Bundle> {
  const { passphrase } = networkInfo[payment.network];
  const validators = KNOWN_VALIDATORS[passphrase] ?? (await deps.validators());
  const files = await filesOf(deps, archive, payment);
  try {
    const bundle = await proving(archive.label, () =>
      makeProof(files, {
        ...placeOf(payment),
        ledger: payment.ledger,
        transactionHash: payment.transactionHash,
        invocation: (hash) => invocationOf(deps, payment, hash),
        like: claimOf(payment),
        validators,
      }),
    );
    const { verdict, claim, reasons } = await verifyProof(bundle, { passphrase, validators });
    if (verdict === 'SIGNED' && isOf(payment, claim)) return bundle;
    throw new Lie(archive.label, reasons);
  } catch (error) {
    if (error instanceof NoTransaction) {
      // The files may be those of another network: the archive may have the right ones later.
      archive.forget(checkpointsOf(payment));
      throw lacking(archive.label, againIn(deps, payment) && REREAD_MS);
    }
    // A source that does not tell of a contract call is not the archive's fault.
    if (error instanceof Lie) archive.blame(checkpointsOf(payment));
    throw error;
  }
}

/** The payment's checkpoint; for its last ledger also the next, because signatures are of a ledger
 *  after the payment's. */
function checkpointsOf({ ledger }: PaymentDoc): number[] {
  const own = checkpointOf(ledger);
  return ledger === own ? [own, own + CHECKPOINT] : [own];
}

/** @throws NotNow while a file is missing; SourceError, BudgetUsedUp */
async function filesOf(deps: Making, archive: Archive, payment: PaymentDoc) {
  const [own, next] = checkpointsOf(payment);
  const last = next ?? own!;
  const take = async (kind: 'ledger' | 'results' | 'transactions' | 'scp', checkpoint: number) => {
    const file = await archive.file(kind, checkpoint, deps.patience);
    if (!file) throw missing(deps, archive, payment, last, kind);
    return file;
  };
  // The last one first: the others are there once it is.
  const ofLast = {
    ledger: await take('ledger', last),
    transactions: await take('transactions', last),
    scp: await take('scp', last),
  };
  if (next === undefined) return { ...ofLast, results: await take('results', own!) };
  return {
    ledger: joined(await take('ledger', own!), ofLast.ledger),
    transactions: joined(await take('transactions', own!), ofLast.transactions),
    results: await take('results', own!),
    scp: ofLast.scp,
  };
}

const joined = (...files: Uint8Array<ArrayBuffer>[]) => new Uint8Array(Buffer.concat(files));

/** An archive publishes a checkpoint after its last ledger. */
function missing(
  { clock, ledger: { isFree } }: MakerDeps,
  { label }: Archive,
  { ledger, ledgerClosedAt, network }: PaymentDoc,
  last: number,
  kind: string,
): NotNow {
  const expectedMs = ledgerClosedAt.getTime() + (last - ledger) * LEDGER_MS + PUBLISHED_MS;
  const nowMs = clock.nowMs();
  if (nowMs > expectedMs + MISSING_MS)
    return new NotNow(`${label} does not have the file ${kind} of the ledgers up to ${last} of ${network}.`, null);
  const inMs = isFree ? FREE_LOOK_MS : Math.min(Math.max(expectedMs - nowMs, AGAIN_MS), LONGEST_LOOK_MS);
  return new NotNow(`${label} does not have the ledgers up to ${last} of ${network} yet.`, inMs);
}
