/** Results of transactions, as XDR and as Horizon's codes. */
import { xdr } from '@stellar/stellar-sdk/base';
import { codeOf } from './operations/kind.js';
import { BASE_FEE } from './stroops.js';

/** Failures of a whole transaction, by the name of their XDR arm. */
export type TransactionFailure =
  | 'txTooEarly'
  | 'txTooLate'
  | 'txMissingOperation'
  | 'txBadSeq'
  | 'txBadAuth'
  | 'txInsufficientBalance'
  | 'txNoAccount'
  | 'txInsufficientFee'
  | 'txBadAuthExtra'
  | 'txNotSupported'
  | 'txBadMinSeqAgeOrGap'
  | 'txBadSponsorship';

/** The verdict on a transaction. Failures of the whole transaction never reach a ledger;
 *  `txFailed` may. */
export type Verdict =
  | { code: 'txSuccess' | 'txFailed'; operations: xdr.OperationResult[] }
  | { code: TransactionFailure };

export interface ResultCodes {
  transaction: string;
  inner_transaction?: string;
  operations?: string[];
}

export interface TransactionOutcome {
  verdict: Verdict;
  feeCharged: bigint;
  /** Set for a fee bump whose own checks passed: the verdict is then the inner transaction's. */
  innerHash: Buffer | null;
}

export function resultXdr({ verdict, feeCharged, innerHash }: TransactionOutcome): string {
  const ext = xdr.TransactionResultExt.v0();
  const fee = feeCharged;
  if (innerHash === null) {
    const { TransactionResultResult: Result } = xdr;
    const result = 'operations' in verdict ? Result[verdict.code](verdict.operations) : Result[verdict.code]();
    return new xdr.TransactionResult({ feeCharged: fee, result, ext }).toXdr('base64');
  }
  const { InnerTransactionResultResult: Result } = xdr;
  const inner = 'operations' in verdict ? Result[verdict.code](verdict.operations) : Result[verdict.code]();
  const pair = new xdr.InnerTransactionResultPair({
    transactionHash: innerHash,
    result: new xdr.InnerTransactionResult({
      // The fee bump itself costs one operation more than its inner transaction.
      feeCharged: feeCharged === 0n ? 0n : feeCharged - BASE_FEE,
      result: inner,
      ext: xdr.InnerTransactionResultExt.v0(),
    }),
  });
  const result =
    verdict.code === 'txSuccess'
      ? xdr.TransactionResultResult.txFeeBumpInnerSuccess(pair)
      : xdr.TransactionResultResult.txFeeBumpInnerFailed(pair);
  return new xdr.TransactionResult({ feeCharged: fee, result, ext }).toXdr('base64');
}

export function resultCodes({ verdict, innerHash }: TransactionOutcome): ResultCodes {
  const code = transactionCode(verdict.code);
  const operations = 'operations' in verdict ? { operations: verdict.operations.map(operationCode) } : {};
  if (innerHash === null) return { transaction: code, ...operations };
  const outer = verdict.code === 'txSuccess' ? 'tx_fee_bump_inner_success' : 'tx_fee_bump_inner_failed';
  return { transaction: outer, inner_transaction: code, ...operations };
}

/** Horizon's codes of a result, the transaction's first. */
export function codesOfResult(result: xdr.TransactionResult): string[] {
  const outer = result.result;
  if ('innerResultPair' in outer) {
    const inside = outer.innerResultPair.result.result;
    const operations = 'results' in inside ? inside.results.map(operationCode) : [];
    return [transactionCode(outer.type), transactionCode(inside.type), ...operations];
  }
  const operations = 'results' in outer ? outer.results.map(operationCode) : [];
  return [transactionCode(outer.type), ...operations];
}

/** Horizon's codes that are not the XDR name in snake case. */
const SPECIAL: Record<string, string> = {
  txNoAccount: 'tx_no_source_account',
  txBadMinSeqAgeOrGap: 'tx_bad_minseq_age_or_gap',
  opNoAccount: 'op_no_source_account',
  createAccountAlreadyExist: 'op_already_exists',
  pathPaymentStrictReceiveOverSendmax: 'op_over_source_max',
  pathPaymentStrictSendUnderDestmin: 'op_under_dest_min',
  pathPaymentStrictReceiveOfferCrossSelf: 'op_cross_self',
  pathPaymentStrictSendOfferCrossSelf: 'op_cross_self',
  manageSellOfferNotFound: 'op_offer_not_found',
  manageBuyOfferNotFound: 'op_offer_not_found',
  manageSellOfferSellNotAuthorized: 'sell_not_authorized',
  manageBuyOfferSellNotAuthorized: 'sell_not_authorized',
  manageSellOfferBuyNotAuthorized: 'buy_not_authorized',
  manageBuyOfferBuyNotAuthorized: 'buy_not_authorized',
  accountMergeSeqnumTooFar: 'op_seq_num_too_far',
  manageDataNameNotFound: 'op_data_name_not_found',
  manageDataInvalidName: 'op_data_invalid_name',
};

const OPERATION_NAME =
  /^(createAccount|payment|pathPaymentStrict(Receive|Send)|manage(Sell|Buy)Offer|setOptions|changeTrust|accountMerge|manageData|setTrustLineFlags|createClaimableBalance|claimClaimableBalance|clawback|(begin|end)SponsoringFutureReserves|op)/;

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const transactionCode = (name: string): string => SPECIAL[name] ?? snakeCase(name);

function operationCode(result: xdr.OperationResult): string {
  const name = codeOf(result);
  return SPECIAL[name] ?? `op${snakeCase(name.replace(OPERATION_NAME, ''))}`;
}
