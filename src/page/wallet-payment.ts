/** Paying from a wallet in the browser: lists ways to pay, builds an unsigned transaction, and
 *  submits the signed one. Answers have the API's envelope. Only a payment to the page's own
 *  payable is submitted. */

import express, { type Router } from 'express';
import type { FieldError } from '../../contracts/errors.js';
import { networkInfo } from '../../contracts/networks.js';
import type { RawBody } from '../../contracts/operation.js';
import { pagePayments } from '../../contracts/page-payments.js';
import {
  arrivingBy,
  assetSentBy,
  buildPayment,
  type Detour,
  faultOf,
  type NotNow,
  type Payable,
  type PayerLedger,
  parseTransaction,
} from '../asking/index.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { type Asset, sameAsset } from '../domain/asset.js';
import { type ApiError, conflict, invalid, rateLimited, unavailable } from '../kit/api-error.js';
import {
  codeOf,
  createPayerAnswer,
  type Handle,
  type PayerAnswerDeps,
  refusalSentence,
  type Visitor,
} from './payer-answer.js';
import type { PageLink, PageSource } from './types.js';
import type { Words } from './words.js';

interface WalletPaymentDeps extends PayerAnswerDeps {
  payerLedger: PayerLedger;
  mostDue: PageSource['mostDue'];
}

/** `/p/:slug/ways`, `/p/:slug/transaction`, `/p/:slug/submit`, and the same below `/c`. */
export function createWalletPayments(deps: WalletPaymentDeps): Router {
  const answer = createPayerAnswer(deps);
  const router = express.Router();
  const both = (name: string) => [`/p/:slug/${name}`, `/c/:slug/${name}`];
  router.post(both('ways'), answer(pagePayments.ways, ways(deps), payerFaults));
  router.post(both('transaction'), answer(pagePayments.transaction, transaction(deps), payerFaults));
  router.post(both('submit'), answer(pagePayments.submit, submit(deps)));
  return router;
}

const ways =
  ({ payerLedger }: WalletPaymentDeps): Handle<typeof pagePayments.ways> =>
  async ({ account, amount }, linkOf, { address, words }) => {
    const link = await linkOf();
    const due = { asset: payableOf(link).asset, stroops: parseAmount(amountDue(link, amount ?? null))! };
    const found = await payerLedger.waysOf(link.wallet.network, account, due, address);
    if (found.state === 'no_account') throw unknownPayer(words);
    if (found.state !== 'known') throw notNow(words, found);
    return found.ways.map(({ asset, balance, cost }) => ({
      ...{ assetCode: asset.code, assetIssuer: asset.issuer },
      ...{ balance: formatAmount(balance), cost: formatAmount(cost) },
    }));
  };

const transaction =
  ({ payerLedger, clock }: WalletPaymentDeps): Handle<typeof pagePayments.transaction> =>
  async ({ account, amount, sendAsset }, linkOf, { address, words }) => {
    const link = await linkOf();
    const payable = payableOf(link);
    const due = amountDue(link, amount ?? null);
    const sent = sendAsset ? { code: sendAsset.assetCode, issuer: sendAsset.assetIssuer ?? null } : payable.asset;
    const detour = await detourFrom(payerLedger, sent, { account, words, link, due, address });
    const known = await payerLedger.sequenceOf(link.wallet.network, account, address);
    if (known.state === 'no_account') throw unknownPayer(words);
    if (known.state !== 'known') throw notNow(words, known);
    const by = { payer: account, sequence: known.sequence, amount: due, detour };
    return { xdr: buildPayment(payable, by, clock.now()), networkPassphrase: payable.networkPassphrase };
  };

/** Null for the asset itself. @throws ApiError when there is no way from the asset sent */
async function detourFrom(
  payerLedger: PayerLedger,
  sent: Asset,
  { account, words, link, due, address }: Visitor & { account: string; link: PageLink; due: string },
): Promise<Detour | null> {
  const { asset } = payableOf(link);
  if (sameAsset(sent, asset)) return null;
  const amount = { asset, stroops: parseAmount(due)! };
  const found = await payerLedger.wayFrom(link.wallet.network, account, sent, amount, address);
  if (found.state !== 'known') throw notNow(words, found);
  if (found.way !== null) return found.way;
  throw invalid({ path: 'sendAsset', message: words.say('noWay', { code: sent.code }), code: 'not_found' });
}

const submit =
  ({ payerLedger, mostDue, clock }: WalletPaymentDeps): Handle<typeof pagePayments.submit> =>
  async ({ xdr }, linkOf, { address, words }) => {
    const noTransaction = { path: 'xdr', message: 'This is not a transaction.', code: 'invalid_format' };
    // Whether it is valid does not depend on the network.
    if (!parseTransaction(xdr, networkInfo.PUBLIC.passphrase)) throw invalid(noTransaction);
    const link = await linkOf();
    const payable = payableOf(link);
    const signed = parseTransaction(xdr, payable.networkPassphrase);
    if (!signed) throw invalid(noTransaction);
    const fault = faultOf(signed, payable, clock.now());
    if (fault) throw invalid({ path: 'xdr', ...fault });
    const { priceType, price, assetCode } = link.product;
    // A part may have come since it was built: what is sent beyond the rest would have to be sent
    // back. What the page showed holds when the rate moves.
    if (priceType === 'FIXED' && arrivingBy(signed) > (await mostDue(link)))
      throw conflict(words.say('amountChanged', { amount: `${price} ${assetCode}` }));
    // Re-encoded, so that only the transaction is submitted.
    const submission = await payerLedger.submit(link.wallet.network, signed.toXdr(), address);
    if (submission.state === 'busy' || submission.state === 'unavailable') throw notNow(words, submission);
    if (submission.state === 'refused') {
      const code = codeOf(submission);
      throw invalid({ path: 'xdr', message: refusalSentence(words, code, link, assetSentBy(signed)), code });
    }
    return { transactionHash: Buffer.from(signed.hash()).toString('hex') };
  };

const notNow = ({ say }: Words, answer: NotNow): ApiError =>
  answer.state === 'busy' ? rateLimited(answer.waitSeconds) : unavailable(say('ledgerAway'));

const unknownPayer = ({ say }: Words): ApiError =>
  invalid({ path: 'account', message: say('payerUnknown'), code: 'not_found' });

const payableOf = ({ wallet, memo, product }: PageLink): Payable => ({
  destination: wallet.address,
  memo,
  asset: { code: product.assetCode, issuer: product.assetIssuer },
  networkPassphrase: networkInfo[wallet.network].passphrase,
});

/** Canonical text. @param asked without faults */
const amountDue = ({ product }: PageLink, asked: string | null): string =>
  product.priceType === 'FIXED' ? product.price! : formatAmount(parseAmount(asked!)!);

/** Faults of a payer's body for this page. @param body as sent, valid or not */
const payerFaults = (words: Words, link: PageLink, body: RawBody): FieldError[] => [
  ...accountFaults(words, link, body),
  ...amountFaults(words, link, body),
];

/** Payments of an account to itself do not count. */
const accountFaults = ({ say }: Words, { wallet }: PageLink, { account }: RawBody): FieldError[] =>
  account === wallet.address ? [{ path: 'account', message: say('payerIsShop'), code: 'not_allowed' }] : [];

function amountFaults(words: Words, { product, priced }: PageLink, { amount }: RawBody): FieldError[] {
  const { priceType, price, minAmount, assetCode } = product;
  const fault = (message: string, code: string): FieldError[] => [{ path: 'amount', message, code }];
  const stroops = typeof amount === 'string' ? parseAmount(amount) : null;
  if (priceType === 'FIXED') {
    // Without a fresh rate it takes no payment at all.
    if (price === null) return [];
    const isDue = amount === undefined || amount === null || stroops === parseAmount(price);
    return isDue ? [] : fault(`${price} ${assetCode} is due: leave the amount out.`, 'not_allowed');
  }
  if (amount === undefined || amount === null) return fault('Choose an amount.', 'required');
  if (priced || stroops === null || minAmount === null || stroops >= parseAmount(minAmount)!) return [];
  return fault(words.say('minimumIs', { amount: `${minAmount} ${assetCode}` }), 'too_small');
}
