/** A transaction of one contract call, made up but genuine XDR: the envelope and result of a Soroban payment. */
import { createHash } from 'node:crypto';
import { Address, Keypair, type Memo, nativeToScVal, StrKey, xdr } from '@stellar/stellar-sdk/minimal';
import { BASE_FEE } from './stroops.js';

export interface ContractCall {
  /** C… */
  contract: string;
  method: string;
  arguments: xdr.ScVal[];
  /** Who pays the fee; a G address. */
  source: string;
  /** Makes the transaction unlike all others. */
  sequence: bigint;
  memo: Memo;
}

export interface MadeTransaction {
  /** Hexadecimal. */
  hash: string;
  envelopeXdr: string;
  resultXdr: string;
}

/** The arguments of a token's `transfer`. */
export const transferArguments = (from: string, to: string, amount: bigint): xdr.ScVal[] => [
  Address.fromString(from).toScVal(),
  Address.fromString(to).toScVal(),
  nativeToScVal(amount, { type: 'i128' }),
];

/** A contract of nobody's, the same for the same name. */
export const madeUpContract = (name: string): string =>
  StrKey.encodeContract(createHash('sha256').update(`made-up contract ${name}`).digest());

export function makeContractCall(call: ContractCall, passphrase: string): MadeTransaction {
  const invocation = new xdr.InvokeContractArgs({
    contractAddress: Address.fromString(call.contract).toScAddress(),
    functionName: call.method,
    args: call.arguments,
  });
  const operation = new xdr.InvokeHostFunctionOp({
    hostFunction: xdr.HostFunction.hostFunctionTypeInvokeContract(invocation),
    auth: [],
  });
  const tx = new xdr.Transaction({
    sourceAccount: xdr.MuxedAccount.keyTypeEd25519(Keypair.fromPublicKey(call.source).rawPublicKey()),
    fee: Number(BASE_FEE),
    seqNum: xdr.Int64.fromString(call.sequence.toString()),
    cond: xdr.Preconditions.precondNone(),
    memo: call.memo.toXDRObject(),
    operations: [new xdr.Operation({ sourceAccount: null, body: xdr.OperationBody.invokeHostFunction(operation) })],
    ext: new xdr.TransactionExt(0),
  });
  const envelope = xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] }));
  const payload = new xdr.TransactionSignaturePayload({
    networkId: createHash('sha256').update(passphrase).digest(),
    taggedTransaction: xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTx(tx),
  });
  return {
    hash: createHash('sha256').update(payload.toXDR()).digest('hex'),
    envelopeXdr: envelope.toXDR('base64'),
    resultXdr: successXdr(),
  };
}

function successXdr(): string {
  // The hash of what the call returned; a transfer returns nothing.
  const returned = createHash('sha256').update(xdr.ScVal.scvVoid().toXDR()).digest();
  const success = xdr.InvokeHostFunctionResult.invokeHostFunctionSuccess(returned);
  const operation = xdr.OperationResult.opInner(xdr.OperationResultTr.invokeHostFunction(success));
  return new xdr.TransactionResult({
    feeCharged: xdr.Int64.fromString(BASE_FEE.toString()),
    result: xdr.TransactionResultResult.txSuccess([operation]),
    ext: new xdr.TransactionResultExt(0),
  }).toXDR('base64');
}
