/** Transactions and ledgers in Stellar RPC's XDR. Changes of ledger entries are omitted, because
 *  they are not kept. */
import { xdr } from '@stellar/stellar-sdk/base';
import type { Patch } from '../patch.js';
import type { TransactionDocument } from '../records.js';
import { INTERNAL_ERROR, RpcError } from './error.js';
import { type EventDocument, toContractEvent } from './events.js';
import { type Format, inFormat, type Piece, pieceOf } from './piece.js';

interface Told {
  transaction: TransactionDocument;
  /** All events of the transaction, in order. */
  events: EventDocument[];
}

/** The fields of a transaction. @throws RpcError when the server itself does not know an arm */
export function transactionFields({ transaction, events }: Told, format: Format): Record<string, unknown> {
  refuseLost(format, [transaction, ...events]);
  const { fees, operations, patches } = arrange(events, transaction);
  return {
    ...inFormat(format, {
      envelope: envelopeOf(transaction),
      result: resultOf(transaction),
      resultMeta: pieceOf(transactionMeta(transaction, fees, operations), patches),
    }),
    events: inFormat(format, {
      transactionEvents: fees.map((event) => pieceOf(event, patches)),
      contractEvents: operations.map((list) => list.map((event) => pieceOf(event, patches))),
    }),
  };
}

/** @throws RpcError when JSON is requested and the server cannot decode a document */
export function refuseLost(format: Format, documents: readonly { isServerLost?: true }[]): void {
  const isLost = format === 'json' && documents.some(({ isServerLost }) => isServerLost);
  if (isLost) throw new RpcError(INTERNAL_ERROR, 'could not decode XDR');
}

const readEnvelope = (base64: string) => xdr.TransactionEnvelope.fromXdr(base64, 'base64');
const readResult = (base64: string) => xdr.TransactionResult.fromXdr(base64, 'base64');

const envelopeOf = ({ record, envelopeJson }: TransactionDocument): Piece => ({
  base64: String(record.envelope_xdr),
  json: () => envelopeJson ?? readEnvelope(String(record.envelope_xdr)).toJson(),
});

const resultOf = ({ record, resultJson }: TransactionDocument): Piece => ({
  base64: String(record.result_xdr),
  json: () => resultJson ?? readResult(String(record.result_xdr)).toJson(),
});

function arrange(events: EventDocument[], { record }: TransactionDocument) {
  const operations = Array.from({ length: Number(record.operation_count) }, (): xdr.ContractEvent[] => []);
  const fees: xdr.TransactionEvent[] = [];
  const patches: Patch[] = [];
  for (const each of events) {
    const { event, patches: own } = toContractEvent(each);
    patches.push(...own);
    if (each.operation === null) {
      const stage = xdr.TransactionEventStage.transactionEventStageBeforeAllTxs;
      fees.push(new xdr.TransactionEvent({ stage, event }));
    } else {
      operations[each.operationIndex]!.push(event);
    }
  }
  return { fees, operations, patches };
}

/** A made-up call returns nothing. */
const ofCall = () =>
  new xdr.SorobanTransactionMetaV2({ ext: xdr.SorobanTransactionMetaExt.v0(), returnValue: xdr.ScVal.scvVoid() });

function transactionMeta(
  { phase }: Pick<TransactionDocument, 'phase'>,
  fees: xdr.TransactionEvent[],
  operations: xdr.ContractEvent[][],
): xdr.TransactionMeta {
  const meta = new xdr.TransactionMetaV4({
    ext: xdr.ExtensionPoint.v0(),
    txChangesBefore: [],
    operations: operations.map(
      (events) => new xdr.OperationMetaV2({ ext: xdr.ExtensionPoint.v0(), changes: [], events }),
    ),
    txChangesAfter: [],
    sorobanMeta: phase === 'call' ? ofCall() : null,
    events: fees,
    diagnosticEvents: [],
  });
  return xdr.TransactionMeta.v4(meta);
}

export interface LedgerPieces {
  /** A LedgerHeader, and the LedgerHeaderHistoryEntry with its hash. */
  header: Piece;
  historyEntry: Piece;
  /** A LedgerCloseMeta. */
  metadata: Piece;
}

/** @param record Horizon's record of the ledger. @param transactions in order; those without an
 *  envelope are omitted */
export function ledgerPieces(record: Record<string, unknown>, transactions: Told[]): LedgerPieces {
  const header = xdr.LedgerHeader.fromXdr(String(record.header_xdr), 'base64');
  const historyEntry = new xdr.LedgerHeaderHistoryEntry({
    hash: Buffer.from(String(record.hash), 'hex'),
    header,
    ext: xdr.LedgerHeaderHistoryEntryExt.v0(),
  });
  // Made-up records may have none.
  const genuine = transactions.filter(({ transaction }) => transaction.record.envelope_xdr !== '').map(applied);
  const txs = genuine.map(({ envelope }) => envelope);
  const component = new xdr.TxSetComponentTxsMaybeDiscountedFee({ baseFee: null, txs });
  const components = txs.length === 0 ? [] : [xdr.TxSetComponent.txsetCompTxsMaybeDiscountedFee(component)];
  const set = new xdr.TransactionSetV1({
    previousLedgerHash: header.previousLedgerHash,
    phases: [xdr.TransactionPhase.v0Components(components), xdr.TransactionPhase.v0Components([])],
  });
  const meta = new xdr.LedgerCloseMetaV2({
    ext: xdr.LedgerCloseMetaExt.v0(),
    ledgerHeader: historyEntry,
    txSet: xdr.GeneralizedTransactionSet.v1TxSet(set),
    txProcessing: genuine.map(({ result }) => result),
    upgradesProcessing: [],
    scpInfo: [],
    totalByteSizeOfLiveSorobanState: 0n,
    evictedKeys: [],
  });
  const patches = genuine.flatMap((each) => each.patches);
  return {
    header: pieceOf(header),
    historyEntry: pieceOf(historyEntry),
    metadata: pieceOf(xdr.LedgerCloseMeta.v2(meta), patches),
  };
}

/** A transaction as a ledger holds it, with stand-ins for what the SDK cannot decode. */
function applied({ transaction, events }: Told) {
  const { fees, operations, patches } = arrange(events, transaction);
  const envelope = knownOr(readEnvelope, envelopeOf(transaction), () => standInEnvelope(transaction));
  const outcome = knownOr(readResult, resultOf(transaction), () => standInResult(transaction));
  const result = new xdr.TransactionResultMetaV1({
    ext: xdr.ExtensionPoint.v0(),
    result: new xdr.TransactionResultPair({
      transactionHash: Buffer.from(transaction.hash, 'hex'),
      result: outcome.value,
    }),
    feeProcessing: [],
    txApplyProcessing: transactionMeta(transaction, fees, operations),
    postTxApplyFeeProcessing: [],
  });
  return { envelope: envelope.value, result, patches: [...patches, ...envelope.patches, ...outcome.patches] };
}

interface Known<T> {
  value: T;
  patches: Patch[];
}

function knownOr<T extends { toXdr(): Uint8Array; toJson(): unknown }>(
  decode: (base64: string) => T,
  piece: Piece,
  standIn: () => T,
): Known<T> {
  try {
    return { value: decode(piece.base64), patches: [] };
  } catch {
    const value = standIn();
    const real = { bytes: Buffer.from(piece.base64, 'base64'), json: piece.json() };
    return { value, patches: [{ standIn: { bytes: value.toXdr(), json: value.toJson() }, real }] };
  }
}

function standInEnvelope({ hash }: TransactionDocument): xdr.TransactionEnvelope {
  const tx = new xdr.Transaction({
    sourceAccount: xdr.MuxedAccount.keyTypeEd25519(Buffer.from(hash, 'hex')),
    fee: 0,
    seqNum: 0n,
    cond: xdr.Preconditions.precondNone(),
    memo: xdr.Memo.memoNone(),
    operations: [],
    ext: xdr.TransactionExt.v0(),
  });
  return xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] }));
}

/** The stand-in is unique: its fee, which is not paid, is the transaction's place. */
const standInResult = ({ _id: place }: TransactionDocument): xdr.TransactionResult =>
  new xdr.TransactionResult({
    feeCharged: place,
    result: xdr.TransactionResultResult.txInternalError(),
    ext: xdr.TransactionResultExt.v0(),
  });
