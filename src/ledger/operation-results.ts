/** Results of a transaction's operations, in the envelope's order. */
import type { xdr } from '@stellar/stellar-sdk/base';
import { sdk } from '../domain/stellar-sdk.js';

/** The results of a transaction's operations; for a fee bump, of the inner transaction. @param resultXdr base64 of a TransactionResult
 *  @throws when it cannot be decoded or has none */
export function operationResultsIn(resultXdr: string): readonly xdr.OperationResult[] {
  const outer = sdk().xdr.TransactionResult.fromXdr(resultXdr, 'base64').result;
  const result = outer.type === 'txFeeBumpInnerSuccess' ? outer.innerResultPair.result.result : outer;
  if (!('results' in result)) throw new TypeError('a transaction without results of operations');
  return result.results;
}
