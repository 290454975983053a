/** What became of the operations of a transaction, in the order of its envelope. */
import type { xdr } from '@stellar/stellar-sdk/minimal';
import { sdk } from '../domain/stellar-sdk.js';

/** Of a fee bump those of the transaction inside. @param resultXdr base64 of a TransactionResult. @throws where it cannot be decoded, or has none */
export function operationResultsIn(resultXdr: string): xdr.OperationResult[] {
  const { TransactionResult, TransactionResultCode } = sdk().xdr;
  const outer = TransactionResult.fromXDR(resultXdr, 'base64').result();
  const isBump = outer.switch() === TransactionResultCode.txFeeBumpInnerSuccess();
  return (isBump ? outer.innerResultPair().result().result() : outer).results();
}
