/** What the result of a contract call covers: its return value and its events, as the meta of its
 *  transaction tells them. */
import type { xdr } from '@stellar/stellar-sdk/base';
import { sdk } from '../domain/stellar-sdk.js';

/** `InvokeHostFunctionSuccessPreImage`; null when the meta has none, or cannot be decoded. @param
 *  metaXdr base64 of a TransactionMeta */
export function invocationIn(metaXdr: string): Buffer | null {
  const { xdr } = sdk();
  try {
    const told = callIn(xdr.TransactionMeta.fromXdr(metaXdr, 'base64'));
    return told && Buffer.from(new xdr.InvokeHostFunctionSuccessPreImage(told).toXdr());
  } catch {
    return null;
  }
}

function callIn(meta: xdr.TransactionMeta): { returnValue: xdr.ScVal; events: xdr.ContractEvent[] } | null {
  if (meta.type === 'v3') return meta.v3.sorobanMeta;
  const returnValue = meta.type === 'v4' ? meta.v4.sorobanMeta?.returnValue : null;
  // A transaction with a contract call has no other operation.
  return meta.type === 'v4' && returnValue ? { returnValue, events: meta.v4.operations[0]?.events ?? [] } : null;
}
