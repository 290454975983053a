/** Envelope and result of a transaction as Stellar RPC gives them, decoded. */
import type { xdr } from '@stellar/stellar-sdk/minimal';
import { StrKey, sdk } from '../../domain/stellar-sdk.js';
import { operationResultsIn } from '../operation-results.js';
import { addressOf } from './horizon-form.js';
import type { RpcOperation } from './operation.js';

export interface TransactionParts {
  /** G…, or M… where it is muxed. */
  source: string;
  memo: xdr.Memo;
  operations: xdr.Operation[];
}

/** Envelope and result of a transaction, which its operations share: each is decoded once, when it is first asked for. Both throw where they cannot be
 *  decoded. */
export interface DecodedTransaction {
  envelope(): TransactionParts;
  /** A result for each operation. */
  results(): xdr.OperationResult[];
}

export function decodeLazily({
  envelopeXdr,
  resultXdr,
}: Pick<RpcOperation, 'envelopeXdr' | 'resultXdr'>): DecodedTransaction {
  let envelope: TransactionParts | undefined;
  let results: xdr.OperationResult[] | undefined;
  return {
    envelope: () => (envelope ??= transactionIn(sdk().xdr.TransactionEnvelope.fromXDR(envelopeXdr, 'base64'))),
    results: () => (results ??= operationResultsIn(resultXdr)),
  };
}

function transactionIn(envelope: xdr.TransactionEnvelope): TransactionParts {
  switch (envelope.switch().name) {
    case 'envelopeTypeTxV0': {
      const tx = envelope.v0().tx();
      return {
        source: StrKey.encodeEd25519PublicKey(tx.sourceAccountEd25519()),
        memo: tx.memo(),
        operations: tx.operations(),
      };
    }
    case 'envelopeTypeTxFeeBump':
      return partsOf(envelope.feeBump().tx().innerTx().v1().tx());
    default:
      return partsOf(envelope.v1().tx());
  }
}

const partsOf = (tx: xdr.Transaction): TransactionParts => ({
  source: addressOf(tx.sourceAccount()),
  memo: tx.memo(),
  operations: tx.operations(),
});
