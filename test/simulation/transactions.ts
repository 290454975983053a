/** The transactions of a simulated network as XDR: envelopes, hashes and results. Some are wrapped
 *  in a fee bump. */
import { Account, Address, Asset, hash, Memo, MuxedAccount, Operation, StrKey, xdr } from '@stellar/stellar-sdk';
import type { Chain, Json } from './chain.js';

export const assetOf = ({ asset_code, asset_issuer }: Json): Asset =>
  asset_code ? new Asset(asset_code, asset_issuer) : Asset.native();
export const stroopsOf = (decimal: string): bigint => BigInt(decimal.replace('.', ''));

/** Whether it is wrapped in a fee bump, and so has two hashes. */
const isBumped = ({ inner_transaction: inner }: Json): boolean => inner !== undefined;

const accountXdr = (address: string): xdr.MuxedAccount =>
  xdr.MuxedAccount.keyTypeEd25519(StrKey.decodeEd25519PublicKey(address));

const sourceOf = ({ source_account, from, from_muxed }: Json): xdr.MuxedAccount =>
  from_muxed && from === source_account
    ? MuxedAccount.fromAddress(from_muxed, '0').toXdrObject()
    : accountXdr(source_account);

function transactionOf(transaction: Json, records: readonly Json[]): xdr.Transaction {
  const { memo_type, memo } = transaction;
  const text = { none: () => Memo.none(), id: () => Memo.id(memo), text: () => Memo.text(memo) }[memo_type as string]!;
  return new xdr.Transaction({
    sourceAccount: sourceOf(records[0]!),
    // Makes transactions unique, even after a reset.
    fee: Date.parse(records[0]!.created_at) / 1000,
    seqNum: xdr.Int64.fromString(records[0]!.id),
    cond: xdr.Preconditions.precondNone(),
    memo: text().toXdrObject(),
    operations: records.map(operationOf),
    ext: xdr.TransactionExt.v0(),
  });
}

/** The number of an arm that no protocol has yet, and its name at servers of that protocol. */
export const FUTURE_ARM = Buffer.from([0, 0, 0, 99]);
export const OF_THE_FUTURE = 'of_the_future';

const isFuture = ({ isOfTheFuture }: Json): boolean => isOfTheFuture === true;

/** A transaction of a later protocol ends with an unknown extension. */
function bytesOf(tx: xdr.Transaction, transaction: Json): Buffer {
  const bytes = Buffer.from(tx.toXdr());
  return isFuture(transaction) ? Buffer.concat([bytes.subarray(0, -FUTURE_ARM.length), FUTURE_ARM]) : bytes;
}

const bumpOf = (tx: xdr.Transaction, { source_account }: Json): xdr.FeeBumpTransaction =>
  new xdr.FeeBumpTransaction({
    feeSource: accountXdr(source_account),
    fee: 400n,
    innerTx: xdr.FeeBumpTransactionInnerTx.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] })),
    ext: xdr.FeeBumpTransactionExt.v0(),
  });

function bumpBytesOf(tx: xdr.Transaction, transaction: Json, record: Json): Buffer {
  const [bytes, plain] = [Buffer.from(bumpOf(tx, record).toXdr()), Buffer.from(tx.toXdr())];
  const at = bytes.indexOf(plain);
  return Buffer.concat([bytes.subarray(0, at), bytesOf(tx, transaction), bytes.subarray(at + plain.length)]);
}

const ENVELOPE = Buffer.from([0, 0, 0, 2]);
const BUMP_ENVELOPE = Buffer.from([0, 0, 0, 5]);
const NO_SIGNATURES = Buffer.alloc(4);

export function envelopeOf(transaction: Json, records: readonly Json[]): string {
  const tx = transactionOf(transaction, records);
  const parts = isBumped(transaction)
    ? [BUMP_ENVELOPE, bumpBytesOf(tx, transaction, records[0]!)]
    : [ENVELOPE, bytesOf(tx, transaction)];
  return Buffer.concat([...parts, NO_SIGNATURES]).toString('base64');
}

/** The envelope as JSON of a server that knows its protocol. */
export function envelopeJsonOf(transaction: Json, records: readonly Json[]): unknown {
  const tx = transactionOf(transaction, records);
  const inner = {
    tx: { tx: { ...(tx.toJson() as Json), ...(isFuture(transaction) ? { ext: OF_THE_FUTURE } : {}) }, signatures: [] },
  };
  if (!isBumped(transaction)) return inner;
  const bump = bumpOf(tx, records[0]!).toJson() as Json;
  return { tx_fee_bump: { tx: { ...bump, inner_tx: inner }, signatures: [] } };
}

export interface Hashes {
  /** The hash on the ledger: of a fee bump the outer one. */
  hash: string;
  /** Null without a fee bump. */
  inner: string | null;
}

/** Null when an operation is of a later protocol. */
export function hashesOf(transaction: Json, records: readonly Json[], passphrase: string): Hashes | null {
  if (records.some(({ type }) => type === 'teleport')) return null;
  const networkId = hash(Buffer.from(passphrase));
  const hashOf = (...signed: Buffer[]) => Buffer.from(hash(Buffer.concat([networkId, ...signed]))).toString('hex');
  const tx = transactionOf(transaction, records);
  const own = hashOf(ENVELOPE, bytesOf(tx, transaction));
  if (!isBumped(transaction)) return { hash: own, inner: null };
  return { hash: hashOf(BUMP_ENVELOPE, bumpBytesOf(tx, transaction, records[0]!)), inner: own };
}

function operationOf(record: Json): xdr.Operation {
  switch (record.type) {
    case 'create_account':
      return Operation.createAccount({ destination: record.account, startingBalance: record.starting_balance });
    case 'account_merge':
      return Operation.accountMerge({ destination: record.into });
    case 'invoke_host_function': {
      const call = new xdr.InvokeContractArgs({
        contractAddress: Address.fromString(StrKey.encodeContract(Buffer.alloc(32, 4))).toScAddress(),
        functionName: 'pay',
        args: [],
      });
      return Operation.invokeHostFunction({
        func: xdr.HostFunction.hostFunctionTypeInvokeContract(call),
        auth: [],
      });
    }
    default: {
      const { to, to_muxed_id: id, from, source_account } = record;
      const destination = id ? new MuxedAccount(new Account(to, '0'), id).accountId() : to;
      const asset = assetOf(record);
      const source = from === source_account ? undefined : from;
      if (record.type === 'path_payment_strict_receive') {
        const sent = { asset_code: record.source_asset_code, asset_issuer: record.source_asset_issuer };
        const sending = { sendAsset: assetOf(sent), sendMax: record.source_max, path: [] };
        return Operation.pathPaymentStrictReceive({
          ...{ ...sending, destination, destAsset: asset, destAmount: record.amount, source },
        });
      }
      return Operation.payment({ destination, asset, amount: record.amount, source });
    }
  }
}

/** Only the result of a merge matters, as it holds the amount. */
export function resultOf(chain: Chain, transaction: Json, records: readonly Json[]): string {
  const results = records.map(({ id, type }) => {
    const done =
      type === 'account_merge'
        ? xdr.OperationResultTr.accountMerge(
            xdr.AccountMergeResult.accountMergeSuccess(xdr.Int64.fromString(mergedIn(chain, id))),
          )
        : xdr.OperationResultTr.payment(xdr.PaymentResult.paymentSuccess());
    return xdr.OperationResult.opInner(done);
  });
  const feeCharged = xdr.Int64.fromString('100');
  return new xdr.TransactionResult({
    feeCharged,
    result: isBumped(transaction) ? bumpedResult(transaction, results) : xdr.TransactionResultResult.txSuccess(results),
    ext: xdr.TransactionResultExt.v0(),
  }).toXdr('base64');
}

const mergedIn = (chain: Chain, operationId: string): string =>
  stroopsOf(chain.effects.get(operationId)![0]!.amount).toString();

const bumpedResult = ({ inner_transaction: { hash: inner } }: Json, results: xdr.OperationResult[]) =>
  xdr.TransactionResultResult.txFeeBumpInnerSuccess(
    new xdr.InnerTransactionResultPair({
      transactionHash: new xdr.Hash(Buffer.from(inner, 'hex')),
      result: new xdr.InnerTransactionResult({
        feeCharged: xdr.Int64.fromString('0'),
        result: xdr.InnerTransactionResultResult.txSuccess(results),
        ext: xdr.InnerTransactionResultExt.v0(),
      }),
    }),
  );
