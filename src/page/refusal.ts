/** Explains the network's refusal of a payment to the payer. */
import type { Asset } from '../domain/asset.js';
import type { PageLink } from './types.js';
import type { PlainKey, Words } from './words.js';

/** The network's most specific code. */
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
  op_over_source_max: 'priceMoved',
  op_too_few_offers: 'noWay',
  op_cross_self: 'ownOffer',
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

/** Faults on the payer's side, about the asset sent. */
const OF_PAYER: ReadonlySet<string> = new Set([
  'op_underfunded',
  'op_src_no_trust',
  'op_src_not_authorized',
  'op_too_few_offers',
  'op_cross_self',
]);

/** One or two sentences. @param code such as `op_underfunded` @param sent the asset that the payer sends, if different */
export function refusalSentence(
  words: Words,
  code: string,
  { product: { assetCode } }: Pick<PageLink, 'product'>,
  sent: Pick<Asset, 'code'> | null = null,
): string {
  const about = sent !== null && OF_PAYER.has(code) ? sent.code : assetCode;
  const key = code === 'op_underfunded' && about === 'XLM' ? 'underfundedNative' : (SENTENCES[code] ?? 'refusedOther');
  return words.say(key, { code: about });
}
