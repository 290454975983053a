/** Paying from a wallet in the browser: an unsigned transaction to sign, and the signed one handed to the network. For programs: answers have the
 *  API's envelope. Only a payment of the page itself is handed on. */
import express, { type Request, type RequestHandler, type Router } from 'express';
import type { Logger } from 'pino';
import { networkInfo } from '../../contracts/networks.js';
import type { Operation, ParsedInputOf } from '../../contracts/operation.js';
import { pagePayments } from '../../contracts/page-payments.js';
import { parseInput } from '../api/input.js';
import { sendError } from '../api/rest.js';
import { readBody } from '../api/rest-body.js';
import type { Clock } from '../clock.js';
import type { NotNow, PayerLedger } from '../collect/payer-ledger.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { ApiError, badRequest, conflict, invalid, notFound, rateLimited } from '../domain/api-error.js';
import { buildPayment, faultOf, type Payable, parseTransaction } from '../domain/pay-transaction.js';
import { closedBecause } from './page-state.js';
import { codeOf, refusalSentence } from './refusal.js';
import type { PageLink } from './types.js';

export interface WalletPaymentDeps {
  payerLedger: PayerLedger;
  /** Null when there is no such link or checkout. */
  find: (req: Request) => Promise<PageLink | null>;
  /** Counts a request of the client. @returns 0 when it is let through, else the seconds to wait */
  limit: (req: Request) => number;
  clock: Pick<Clock, 'now'>;
  log: Logger;
}

/** `/p/:slug/transaction`, `/p/:slug/submit`, and the same below `/c`. */
export function createWalletPayments({ payerLedger, find, limit, clock, log }: WalletPaymentDeps): Router {
  const onInternalError = (error: unknown, requestId: string) =>
    log.error({ err: error, requestId }, 'payment from a wallet failed');

  /** Checks what the request says, before what it points at. */
  const answer =
    <Op extends Operation>(
      operation: Op,
      handle: (input: ParsedInputOf<Op>, linkOf: () => Promise<PageLink>) => Promise<unknown>,
    ): RequestHandler =>
    async (req, res) => {
      try {
        const waitSeconds = limit(req);
        if (waitSeconds > 0) throw rateLimited(waitSeconds);
        const body = await readBody(req, res);
        if (body === null) throw badRequest('The request needs a JSON body.');
        const input = parseInput(operation, body, { now: clock.now(), networks: [] });
        const data = await handle(input, async () => {
          const link = await find(req);
          if (!link) throw notFound('payment page');
          const closed = closedBecause(link);
          if (closed !== null) throw conflict(closed);
          return link;
        });
        res.json({ data, error: null });
      } catch (error) {
        sendError(res, error, String(res.get('x-request-id') ?? ''), onInternalError);
      }
    };

  const router = express.Router();
  router.post(
    ['/p/:slug/transaction', '/c/:slug/transaction'],
    answer(pagePayments.transaction, async ({ account, amount }, linkOf) => {
      const link = await linkOf();
      const payable = payableOf(link);
      const due = amountDue(link, amount ?? null);
      const known = await payerLedger.sequenceOf(link.wallet.network, account);
      if (known.state === 'no_account') {
        const message = 'This account does not exist on the network yet: it has to receive lumens (XLM) first.';
        throw invalid({ path: 'account', message, code: 'not_found' });
      }
      if (known.state !== 'known') throw notNow(known);
      const xdr = buildPayment(payable, { payer: account, sequence: known.sequence, amount: due }, clock.now());
      return { xdr, networkPassphrase: payable.networkPassphrase };
    }),
  );
  router.post(
    ['/p/:slug/submit', '/c/:slug/submit'],
    answer(pagePayments.submit, async ({ xdr }, linkOf) => {
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
      const submission = await payerLedger.submit(link.wallet.network, signed.toXDR());
      if (submission.state === 'busy' || submission.state === 'unavailable') throw notNow(submission);
      if (submission.state === 'refused') {
        const code = codeOf(submission);
        throw invalid({ path: 'xdr', message: refusalSentence(code, link), code });
      }
      return { transactionHash: signed.hash().toString('hex') };
    }),
  );
  return router;
}

const notNow = (answer: NotNow): ApiError =>
  answer.state === 'busy'
    ? rateLimited(answer.waitSeconds)
    : new ApiError('unavailable', 'The ledger cannot be reached at the moment. Try again, or scan the code.');

const payableOf = ({ wallet, memo, product }: PageLink): Payable => ({
  destination: wallet.address,
  memo,
  asset: { code: product.assetCode, issuer: product.assetIssuer },
  networkPassphrase: networkInfo[wallet.network].passphrase,
});

/** Canonical text. @throws ApiError `validation_error` */
function amountDue({ product }: PageLink, asked: string | null): string {
  const { priceType, price, minAmount, assetCode } = product;
  const fault = (message: string, code: string) => invalid({ path: 'amount', message, code });
  if (priceType === 'FIXED') {
    if (asked !== null && parseAmount(asked) !== parseAmount(price!)) {
      throw fault(`${price} ${assetCode} is due: leave the amount out.`, 'not_allowed');
    }
    return price!;
  }
  if (asked === null) throw fault('Choose an amount.', 'required');
  if (minAmount !== null && parseAmount(asked)! < parseAmount(minAmount)!) {
    throw fault(`The minimum is ${minAmount} ${assetCode}.`, 'too_small');
  }
  return formatAmount(parseAmount(asked)!);
}
