/** What the network's refusal of a payment means to the payer. */
import type { PageLink } from './types.js';
import type { PlainKey, Words } from './words.js';

/** The most telling of the network's codes. */
export const codeOf = ({ transactionCode, operationCode }: { transactionCode: string; operationCode: string | null }) =>
  operationCode ?? transactionCode;

const SENTENCES: Readonly<Record<string, PlainKey>> = {
  op_underfunded: 'underfunded',
  tx_insufficient_balance: 'noFee',
  op_src_no_trust: 'payerNoTrust',
  op_src_not_authorized: 'payerNotAuthorized',
  op_no_trust: 'shopNoTrust',
  op_not_authorized: 'shopNotAuthorized',
  op_line_full: 'shopLineFull',
  op_no_destination: 'shopNoAccount',
  op_no_issuer: 'noIssuer',
  tx_bad_seq: 'badSequence',
  tx_too_late: 'tooLate',
  tx_too_early: 'tooEarly',
  tx_insufficient_fee: 'lowFee',
  tx_bad_auth: 'badSignature',
  tx_bad_auth_extra: 'badSignature',
  op_bad_auth: 'badSignature',
  tx_no_source_account: 'payerNoAccount',
  tx_no_account: 'payerNoAccount',
  op_no_source_account: 'payerNoAccount',
};

/** One or two sentences. @param code such as `op_underfunded` */
export function refusalSentence(
  words: Words,
  code: string,
  { product: { assetCode } }: Pick<PageLink, 'product'>,
): string {
  const key =
    code === 'op_underfunded' && assetCode === 'XLM' ? 'underfundedNative' : (SENTENCES[code] ?? 'refusedOther');
  return words.say(key, { code: assetCode });
}
