/** Paying from a wallet in the browser: an unsigned transaction to sign, and the signed one handed to the network. For programs: answers have the
 *  API's envelope. Only a payment of the page itself is handed on. */
import express, { type Request, type RequestHandler, type Router } from 'express';
import type { Logger } from 'pino';
import type { FieldError } from '../../contracts/errors.js';
import { networkInfo } from '../../contracts/networks.js';
import type { Operation, ParsedInputOf, RawBody } from '../../contracts/operation.js';
import { pagePayments } from '../../contracts/page-payments.js';
import { sendError } from '../api/answer.js';
import { checkInput, refusal } from '../api/input.js';
import { readBody } from '../api/rest-body.js';
import type { Clock } from '../clock.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import {
  type ApiError,
  badRequest,
  conflict,
  invalid,
  notFound,
  rateLimited,
  unavailable,
} from '../domain/api-error.js';
import { sameAsset } from '../domain/asset.js';
import {
  assetSentBy,
  buildPayment,
  type Detour,
  faultOf,
  type Payable,
  parseTransaction,
} from '../domain/pay-transaction.js';
import type { NotNow, PayerLedger } from '../ingest/payer-ledger.js';
import { closedBecause } from './page-state.js';
import { codeOf, refusalSentence } from './refusal.js';
import { toldToPayer } from './refused-input.js';
import type { PageLink } from './types.js';
import type { Words } from './words.js';

export interface WalletPaymentDeps {
  payerLedger: PayerLedger;
  /** Null when there is no such link or checkout. */
  find: (req: Request) => Promise<PageLink | null>;
  /** Counts a request of a client address. @returns 0 when it is let through, else the seconds to wait */
  limit: (address: string) => number;
  addressOf: (req: Request) => string;
  wordsOf: (req: Request) => Words;
  clock: Pick<Clock, 'now'>;
  log: Logger;
}

interface Visitor {
  address: string;
  words: Words;
}

/** `/p/:slug/ways`, `/p/:slug/transaction`, `/p/:slug/submit`, and the same below `/c`. */
export function createWalletPayments({
  payerLedger,
  find,
  limit,
  addressOf,
  wordsOf,
  clock,
  log,
}: WalletPaymentDeps): Router {
  const onInternalError = (error: unknown, requestId: string) =>
    log.error({ err: error, requestId }, 'payment from a wallet failed');

  /** Checks what the request says, before what it points at. */
  const answer =
    <Op extends Operation>(
      operation: Op,
      handle: (input: ParsedInputOf<Op>, linkOf: () => Promise<PageLink>, visitor: Visitor) => Promise<unknown>,
      /** What the page shows to be wrong with a body, valid or not. */
      faultsOf: (words: Words, link: PageLink, body: RawBody) => FieldError[] = () => [],
    ): RequestHandler =>
    async (req, res) => {
      const visitor = { address: addressOf(req), words: wordsOf(req) };
      let link: PageLink | null = null;
      let body: RawBody = {};
      try {
        const waitSeconds = limit(visitor.address);
        if (waitSeconds > 0) throw rateLimited(waitSeconds);
        const sent = await readBody(req, res);
        if (sent === null) throw badRequest('The request needs a JSON body.');
        body = sent;
        const { parsed, faults } = checkInput(operation, body, { now: clock.now(), networks: [], allowPrivate: false });
        if (parsed === null) {
          link = await find(req);
          throw refusal(operation, faults.addNew(link ? faultsOf(visitor.words, link, body) : []).list());
        }
        const linkOf = async () => {
          link = await find(req);
          if (!link) throw notFound('payment page');
          const closed = closedBecause(link);
          if (closed !== null) throw conflict(visitor.words.say(closed));
          return link;
        };
        const data = await handle(parsed as ParsedInputOf<Op>, linkOf, visitor);
        res.json({ data, error: null });
      } catch (error) {
        const told = toldToPayer(error, visitor.words, link, body);
        sendError(res, told, String(res.get('x-request-id') ?? ''), onInternalError);
      }
    };

  /** Null where it is the asset itself. @throws ApiError where there is no way from it */
  async function detourFrom(
    { assetCode: code, assetIssuer: issuer = null }: { assetCode: string; assetIssuer?: string | null | undefined },
    { account, words, link, due, address }: Visitor & { account: string; link: PageLink; due: string },
  ): Promise<Detour | null> {
    const { asset } = payableOf(link);
    const sent = { code, issuer };
    if (sameAsset(sent, asset)) return null;
    const amount = { asset, stroops: parseAmount(due)! };
    const found = await payerLedger.wayFrom(link.wallet.network, account, sent, amount, address);
    if (found.state !== 'known') throw notNow(words, found);
    if (found.way !== null) return found.way;
    throw invalid({ path: 'sendAsset', message: words.say('noWay', { code }), code: 'not_found' });
  }

  const router = express.Router();
  router.post(
    ['/p/:slug/ways', '/c/:slug/ways'],
    answer(
      pagePayments.ways,
      async ({ account, amount }, linkOf, { address, words }) => {
        const link = await linkOf();
        const due = { asset: payableOf(link).asset, stroops: parseAmount(amountDue(words, link, amount ?? null))! };
        const found = await payerLedger.waysOf(link.wallet.network, account, due, address);
        if (found.state === 'no_account') throw unknownPayer(words);
        if (found.state !== 'known') throw notNow(words, found);
        return found.ways.map(({ asset, balance, cost }) => ({
          ...{ assetCode: asset.code, assetIssuer: asset.issuer },
          ...{ balance: formatAmount(balance), cost: formatAmount(cost) },
        }));
      },
      amountFaults,
    ),
  );
  router.post(
    ['/p/:slug/transaction', '/c/:slug/transaction'],
    answer(
      pagePayments.transaction,
      async ({ account, amount, sendAsset }, linkOf, { address, words }) => {
        const link = await linkOf();
        const payable = payableOf(link);
        const due = amountDue(words, link, amount ?? null);
        const detour = sendAsset ? await detourFrom(sendAsset, { account, words, link, due, address }) : null;
        const known = await payerLedger.sequenceOf(link.wallet.network, account, address);
        if (known.state === 'no_account') throw unknownPayer(words);
        if (known.state !== 'known') throw notNow(words, known);
        const by = { payer: account, sequence: known.sequence, amount: due, detour };
        const xdr = buildPayment(payable, by, clock.now());
        return { xdr, networkPassphrase: payable.networkPassphrase };
      },
      amountFaults,
    ),
  );
  router.post(
    ['/p/:slug/submit', '/c/:slug/submit'],
    answer(pagePayments.submit, async ({ xdr }, linkOf, { address, words }) => {
      const noTransaction = { path: 'xdr', message: 'This is no transaction.', code: 'invalid_format' };
      // Whether it is one does not depend on the network.
      if (!parseTransaction(xdr, networkInfo.PUBLIC.passphrase)) throw invalid(noTransaction);
      const link = await linkOf();
      const payable = payableOf(link);
      const signed = parseTransaction(xdr, payable.networkPassphrase);
      if (!signed) throw invalid(noTransaction);
      const fault = faultOf(signed, payable, clock.now());
      if (fault) throw invalid({ path: 'xdr', ...fault });
      // Written anew: nothing but the transaction itself goes out.
      const submission = await payerLedger.submit(link.wallet.network, signed.toXdr(), address);
      if (submission.state === 'busy' || submission.state === 'unavailable') throw notNow(words, submission);
      if (submission.state === 'refused') {
        const code = codeOf(submission);
        throw invalid({ path: 'xdr', message: refusalSentence(words, code, link, assetSentBy(signed)), code });
      }
      return { transactionHash: Buffer.from(signed.hash()).toString('hex') };
    }),
  );
  return router;
}

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

/** Canonical text. @throws ApiError `validation_error` */
function amountDue(words: Words, link: PageLink, asked: string | null): string {
  const [fault] = amountFaults(words, link, { amount: asked });
  if (fault) throw invalid(fault);
  const { product, priced } = link;
  // What the page has shown holds, though the rate has moved since.
  return product.priceType === 'FIXED' && !(priced && asked !== null)
    ? product.price!
    : formatAmount(parseAmount(asked!)!);
}

/** What is wrong with the amount for this page. @param body as it was sent, valid or not */
function amountFaults(words: Words, { product, priced }: PageLink, { amount }: RawBody): FieldError[] {
  const { priceType, price, minAmount, assetCode } = product;
  const fault = (message: string, code: string): FieldError[] => [{ path: 'amount', message, code }];
  const stroops = typeof amount === 'string' ? parseAmount(amount) : null;
  if (priceType === 'FIXED') {
    if (priced) return [];
    const isDue = amount === undefined || amount === null || stroops === parseAmount(price!);
    return isDue ? [] : fault(`${price} ${assetCode} is due: leave the amount out.`, 'not_allowed');
  }
  if (amount === undefined || amount === null) return fault('Choose an amount.', 'required');
  if (priced || stroops === null || minAmount === null || stroops >= parseAmount(minAmount)!) return [];
  return fault(words.say('minimumIs', { amount: `${minAmount} ${assetCode}` }), 'too_small');
}
