/** What the network's refusal of a payment means to the payer. */
import type { PageLink } from './types.js';

/** The most telling of the network's codes. */
export const codeOf = ({ transactionCode, operationCode }: { transactionCode: string; operationCode: string | null }) =>
  operationCode ?? transactionCode;

/** One or two sentences. @param code such as `op_underfunded` */
export function refusalSentence(code: string, { product: { assetCode } }: Pick<PageLink, 'product'>): string {
  switch (code) {
    case 'op_underfunded':
      return `Your account does not hold enough ${assetCode}${assetCode === 'XLM' ? '. A part of its lumens is a reserve that cannot be spent' : ''}.`;
    case 'tx_insufficient_balance':
      return 'Your account does not hold enough lumens (XLM) for the network’s fee.';
    case 'op_src_no_trust':
      return `Your account has no trustline to this ${assetCode}, so it holds none.`;
    case 'op_src_not_authorized':
      return `The issuer of ${assetCode} does not let your account send it.`;
    case 'op_no_trust':
      return `The shop’s account has no trustline to this ${assetCode}, so it cannot receive it. Tell the merchant.`;
    case 'op_not_authorized':
      return `The issuer of ${assetCode} does not let the shop’s account receive it. Tell the merchant.`;
    case 'op_line_full':
      return `The shop’s account cannot hold that much ${assetCode}. Tell the merchant.`;
    case 'op_no_destination':
      return 'The shop’s account does not exist on the ledger yet. Tell the merchant.';
    case 'op_no_issuer':
      return `The issuer of ${assetCode} does not exist on the ledger any more. Tell the merchant.`;
    case 'tx_bad_seq':
      return 'Another transaction of your account came in between. Try again.';
    case 'tx_too_late':
      return 'It took too long to sign. Try again.';
    case 'tx_too_early':
      return 'The payment is not valid yet. Try again in a moment.';
    case 'tx_insufficient_fee':
      return 'The network is crowded, and the fee was too low. Try again in a minute.';
    case 'tx_bad_auth':
    case 'tx_bad_auth_extra':
    case 'op_bad_auth':
      return 'The signature is not one that your account accepts. Sign with the account that pays.';
    case 'tx_no_source_account':
    case 'tx_no_account':
    case 'op_no_source_account':
      return 'Your account does not exist on this network.';
    default:
      return 'The network refused the payment. Nothing was paid.';
  }
}
