/** Transactions and ledgers in the XDR in which Stellar RPC gives them. Changes of ledger entries are left out, as nobody keeps them here. */
import { xdr } from '@stellar/stellar-sdk/minimal';
import type { TransactionDocument } from '../records.js';
import { type EventDocument, toContractEvent } from './events.js';

export interface TransactionXdr {
  envelopeXdr: string;
  resultXdr: string;
  resultMetaXdr: string;
  events: { transactionEventsXdr: string[]; contractEventsXdr: string[][] };
}

/** `events` are all of the transaction, in order. */
export function transactionXdr({ record }: TransactionDocument, events: EventDocument[]): TransactionXdr {
  const { fees, operations } = arrange(events, Number(record.operation_count));
  return {
    envelopeXdr: String(record.envelope_xdr),
    resultXdr: String(record.result_xdr),
    resultMetaXdr: transactionMeta(fees, operations).toXDR('base64'),
    events: {
      transactionEventsXdr: fees.map((event) => event.toXDR('base64')),
      contractEventsXdr: operations.map((list) => list.map((event) => event.toXDR('base64'))),
    },
  };
}

function arrange(events: EventDocument[], operationCount: number) {
  const operations = Array.from({ length: operationCount }, (): xdr.ContractEvent[] => []);
  const fees: xdr.TransactionEvent[] = [];
  for (const event of events) {
    if (event.operation === null) {
      const stage = xdr.TransactionEventStage.transactionEventStageBeforeAllTxes();
      fees.push(new xdr.TransactionEvent({ stage, event: toContractEvent(event) }));
    } else {
      operations[event.operationIndex]!.push(toContractEvent(event));
    }
  }
  return { fees, operations };
}

function transactionMeta(fees: xdr.TransactionEvent[], operations: xdr.ContractEvent[][]): xdr.TransactionMeta {
  const meta = new xdr.TransactionMetaV4({
    ext: new xdr.ExtensionPoint(0),
    txChangesBefore: [],
    operations: operations.map(
      (events) => new xdr.OperationMetaV2({ ext: new xdr.ExtensionPoint(0), changes: [], events }),
    ),
    txChangesAfter: [],
    sorobanMeta: null,
    events: fees,
    diagnosticEvents: [],
  });
  // The SDK's types do not know version 4 yet, its decoder does.
  return new xdr.TransactionMeta(4, meta as never);
}

export interface LedgerXdr {
  /** A LedgerHeader, and the LedgerHeaderHistoryEntry with its hash. */
  headerXdr: string;
  historyEntryXdr: string;
  /** A LedgerCloseMeta. */
  metadataXdr: string;
}

/** `record` is Horizon's of the ledger; `transactions` are in order, each with its events. Those without an envelope are left out. */
export function ledgerXdr(
  record: Record<string, unknown>,
  transactions: { transaction: TransactionDocument; events: EventDocument[] }[],
): LedgerXdr {
  const header = xdr.LedgerHeader.fromXDR(String(record.header_xdr), 'base64');
  const historyEntry = new xdr.LedgerHeaderHistoryEntry({
    hash: Buffer.from(String(record.hash), 'hex'),
    header,
    ext: new xdr.LedgerHeaderHistoryEntryExt(0),
  });
  const genuine = transactions.filter(({ transaction }) => isGenuine(transaction));
  const set = new xdr.TransactionSetV1({
    previousLedgerHash: header.previousLedgerHash(),
    phases: [transactionPhase(genuine.map(({ transaction }) => transaction)), new xdr.TransactionPhase(0, [])],
  });
  const meta = new xdr.LedgerCloseMetaV2({
    ext: new xdr.LedgerCloseMetaExt(0),
    ledgerHeader: historyEntry,
    txSet: new xdr.GeneralizedTransactionSet(1, set),
    txProcessing: genuine.map(({ transaction, events }) => transactionResultMeta(transaction, events)),
    upgradesProcessing: [],
    scpInfo: [],
    totalByteSizeOfLiveSorobanState: xdr.Uint64.fromString('0'),
    evictedKeys: [],
  });
  return {
    headerXdr: String(record.header_xdr),
    historyEntryXdr: historyEntry.toXDR('base64'),
    metadataXdr: new xdr.LedgerCloseMeta(2, meta as never).toXDR('base64'),
  };
}

/** Made-up records may have no envelope, or one that is none. */
function isGenuine({ record }: TransactionDocument): boolean {
  try {
    xdr.TransactionEnvelope.fromXDR(String(record.envelope_xdr), 'base64');
    xdr.TransactionResult.fromXDR(String(record.result_xdr), 'base64');
    return true;
  } catch {
    return false;
  }
}

function transactionPhase(transactions: TransactionDocument[]): xdr.TransactionPhase {
  if (transactions.length === 0) return new xdr.TransactionPhase(0, []);
  const txes = transactions.map(({ record }) => xdr.TransactionEnvelope.fromXDR(String(record.envelope_xdr), 'base64'));
  const component = new xdr.TxSetComponentTxsMaybeDiscountedFee({ baseFee: null, txes });
  return new xdr.TransactionPhase(0, [xdr.TxSetComponent.txsetCompTxsMaybeDiscountedFee(component)]);
}

function transactionResultMeta({ hash, record }: TransactionDocument, events: EventDocument[]) {
  const { fees, operations } = arrange(events, Number(record.operation_count));
  return new xdr.TransactionResultMetaV1({
    ext: new xdr.ExtensionPoint(0),
    result: new xdr.TransactionResultPair({
      transactionHash: Buffer.from(hash, 'hex'),
      result: xdr.TransactionResult.fromXDR(String(record.result_xdr), 'base64'),
    }),
    feeProcessing: [],
    txApplyProcessing: transactionMeta(fees, operations),
    postTxApplyFeeProcessing: [],
  });
}
