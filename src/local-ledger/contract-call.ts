/** Makes the transaction of one contract call in genuine XDR: the envelope and result of a
 *  Soroban payment. */
import { createHash } from 'node:crypto';
import {
  Account,
  Address,
  Keypair,
  type Memo,
  MuxedAccount,
  nativeToScVal,
  StrKey,
  xdr,
} from '@stellar/stellar-sdk/base';
import { muxedContract, muxedContractPatch, parseMuxedContract } from './muxed-contract.js';
import { FUTURE_ARM, OF_THE_FUTURE, type Patch, patchedBytes, patchedJson } from './patch.js';
import { BASE_FEE } from './stroops.js';

export interface ContractCall {
  /** C… */
  contract: string;
  method: string;
  arguments: xdr.ScVal[];
  /** Stand-ins among the arguments, and what they stand for. */
  patches: Patch[];
  /** Payer of the fee, G…. */
  source: string;
  /** Makes the transaction unique. */
  sequence: bigint;
  memo: Memo;
  /** For newer protocols only. */
  signedBy?: Credentials | undefined;
  /** What the call's result covers: its return value and its events. */
  invocation: Buffer;
}

/** How a wallet's contract authorizes the call: as in CAP-71, or by an arm that no current client
 *  can decode. */
export const CREDENTIALS = ['address_v2', 'address_with_delegates', 'unknown'] as const;
export type Credentials = (typeof CREDENTIALS)[number];

export interface MadeTransaction {
  /** Hexadecimal. */
  hash: string;
  envelopeXdr: string;
  resultXdr: string;
  /** The JSON that a server of the envelope's protocol shows, if the SDK cannot decode it. */
  envelopeJson?: unknown;
}

/** The arguments of a token's `transfer`. The destination is muxed if the event names an id. */
export function transferArguments(
  from: string,
  { to, toMuxedId }: { to: string; toMuxedId: string | null },
  amount: bigint,
): Pick<ContractCall, 'arguments' | 'patches'> {
  const named = toMuxedId === null ? to : muxed(to, toMuxedId);
  const patches = parseMuxedContract(named) === null ? [] : [muxedContractPatch(named)];
  const destination = patches[0] === undefined ? named : String(patches[0].standIn.json);
  return {
    arguments: [
      Address.fromString(from).toScVal(),
      Address.fromString(destination).toScVal(),
      nativeToScVal(amount, { type: 'i128' }),
    ],
    patches,
  };
}

const muxed = (address: string, id: string): string =>
  StrKey.isValidContract(address)
    ? muxedContract({ contract: address, id })
    : new MuxedAccount(new Account(address, '0'), id).accountId();

/** A contract without an owner, the same for the same name. */
export const madeUpContract = (name: string): string =>
  StrKey.encodeContract(createHash('sha256').update(`made-up contract ${name}`).digest());

export function makeContractCall(call: ContractCall, passphrase: string): MadeTransaction {
  const invocation = new xdr.InvokeContractArgs({
    contractAddress: Address.fromString(call.contract).toScAddress(),
    functionName: call.method,
    args: call.arguments,
  });
  const auth = call.signedBy === undefined ? [] : [authorization(call, invocation, call.signedBy)];
  const operation = new xdr.InvokeHostFunctionOp({
    hostFunction: xdr.HostFunction.hostFunctionTypeInvokeContract(invocation),
    auth,
  });
  const tx = new xdr.Transaction({
    sourceAccount: xdr.MuxedAccount.keyTypeEd25519(Keypair.fromPublicKey(call.source).rawPublicKey()),
    fee: Number(BASE_FEE),
    seqNum: call.sequence,
    cond: xdr.Preconditions.precondNone(),
    memo: call.memo.toXdrObject(),
    operations: [new xdr.Operation({ sourceAccount: null, body: xdr.OperationBody.invokeHostFunction(operation) })],
    ext: xdr.TransactionExt.v0(),
  });
  const ofTheFuture = call.signedBy === 'unknown' ? auth.map(({ credentials }) => unknownArm(credentials)) : [];
  const patches = [...call.patches, ...ofTheFuture];
  const bytes = patchedBytes(tx.toXdr(), patches);
  const networkId = createHash('sha256').update(passphrase).digest();
  const envelope = xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] }));
  return {
    hash: createHash('sha256')
      .update(Buffer.concat([networkId, ENVELOPE_TYPE, bytes]))
      .digest('hex'),
    envelopeXdr: Buffer.concat([ENVELOPE_TYPE, bytes, NO_SIGNATURES]).toString('base64'),
    resultXdr: successXdr(call.invocation),
    ...(patches.length === 0 ? {} : { envelopeJson: patchedJson(envelope.toJson(), patches) }),
  };
}

const ENVELOPE_TYPE = Buffer.from([0, 0, 0, 2]);
const NO_SIGNATURES = Buffer.alloc(4);

/** The same credentials in an arm that no protocol defines yet. */
function unknownArm(credentials: xdr.SorobanCredentials): Patch {
  const [bytes, json] = [Buffer.from(credentials.toXdr()), credentials.toJson()];
  const future = Buffer.concat([FUTURE_ARM, bytes.subarray(FUTURE_ARM.length)]);
  return { standIn: { bytes, json }, real: { bytes: future, json: { [OF_THE_FUTURE]: json } } };
}

function authorization(call: ContractCall, invocation: xdr.InvokeContractArgs, signedBy: Credentials) {
  return new xdr.SorobanAuthorizationEntry({
    credentials: credentialsOf(call, signedBy),
    rootInvocation: new xdr.SorobanAuthorizedInvocation({
      function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(invocation),
      subInvocations: [],
    }),
  });
}

function credentialsOf({ contract, sequence }: ContractCall, signedBy: Credentials): xdr.SorobanCredentials {
  const { SorobanCredentials, SorobanAddressCredentialsWithDelegates } = xdr;
  const address = Address.fromString(contract).toScAddress();
  const signature = xdr.ScVal.scvVoid();
  const addressCredentials = new xdr.SorobanAddressCredentials({
    ...{ address, nonce: sequence, signatureExpirationLedger: 0, signature },
  });
  switch (signedBy) {
    case 'address_v2':
      return SorobanCredentials.sorobanCredentialsAddressV2(addressCredentials);
    case 'address_with_delegates': {
      const delegate = Address.fromString(madeUpContract('delegate')).toScAddress();
      const delegates = [new xdr.SorobanDelegateSignature({ address: delegate, signature, nestedDelegates: [] })];
      const signed = new SorobanAddressCredentialsWithDelegates({ addressCredentials, delegates });
      return SorobanCredentials.sorobanCredentialsAddressWithDelegates(signed);
    }
    default:
      return SorobanCredentials.sorobanCredentialsAddress(addressCredentials);
  }
}

function successXdr(invocation: Buffer): string {
  const covered = createHash('sha256').update(invocation).digest();
  const success = xdr.InvokeHostFunctionResult.invokeHostFunctionSuccess(covered);
  const operation = xdr.OperationResult.opInner(xdr.OperationResultTr.invokeHostFunction(success));
  return new xdr.TransactionResult({
    feeCharged: BASE_FEE,
    result: xdr.TransactionResultResult.txSuccess([operation]),
    ext: xdr.TransactionResultExt.v0(),
  }).toXdr('base64');
}
