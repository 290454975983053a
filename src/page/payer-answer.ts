/** Answers requests of a payer's page or wallet in the API's envelope: checks the body by its
 *  contract before its link, and words errors in the payer's language. */

import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { FieldError } from '../../contracts/errors.js';
import type { Operation, ParsedInputOf, RawBody } from '../../contracts/operation.js';
import { sendError } from '../api/answer.js';
import { checkInput, cutFaults, refusal, unknownParameter } from '../api/input.js';
import { readBody } from '../api/rest-body.js';
import type { Asset } from '../domain/asset.js';
import { ApiError, badRequest, badRequestOf, conflict, notFound, rateLimited } from '../kit/api-error.js';
import type { Clock } from '../kit/clock.js';
import { enterNumber, judgeEntered } from './entered-amount.js';
import { closedBecause } from './page-state.js';
import type { PageLink } from './types.js';
import type { PlainKey, Words } from './words.js';

// Words faults of input from a payer's page or wallet in the payer's language. The details, which
// programs read, keep the contract's wording.

/** Faults of `faultOf`, and the contract's for a value that is no text. */
const OF_TRANSACTION: Readonly<Record<string, PlainKey>> = { required: 'notSigned', too_small: 'tooLate' };
/** The network's codes, whose sentences are already in the payer's language. */
const OF_NETWORK = /^(op|tx)_/;

/** @param link null when unknown or missing. @param body as sent. @returns the error with its
 *  message in the payer's language */
function toldToPayer(error: unknown, words: Words, link: PageLink | null, body: RawBody): unknown {
  if (!(error instanceof ApiError)) return error;
  const message = sentenceFor(error, words, link, body);
  return message === null ? error : new ApiError(error.code, message, error.details, error.retryAfterSeconds);
}

function sentenceFor(
  { code, details = [], retryAfterSeconds }: ApiError,
  words: Words,
  link: PageLink | null,
  body: RawBody,
) {
  const { say, timeLeft } = words;
  if (code === 'rate_limited') return say('busyWait', { time: timeLeft(retryAfterSeconds! * 1000) });
  if (code === 'not_found') return say('unknownTitle');
  if (code !== 'validation_error') return null;
  const [fault] = details;
  return fault ? sentenceOf(fault, words, link, body) : say('notSent');
}

/** Null if it already is one. */
function sentenceOf({ path, code, message }: FieldError, words: Words, link: PageLink | null, { amount }: RawBody) {
  const { say } = words;
  if (path === 'account') return ['not_found', 'not_allowed'].includes(code) ? message : say('accountNotValid');
  if (path === 'sendAsset' && code === 'not_found') return message;
  if (path === 'xdr') return OF_NETWORK.test(code) ? message : say(OF_TRANSACTION[code] ?? 'otherPayment');
  if (path !== 'amount' || !link) return say('notSent');
  const { product } = link;
  if (code === 'not_allowed') return say('amountChanged', { amount: `${product.price} ${product.assetCode}` });
  // An amount of the asset, also where the price is in a currency.
  const entered = judgeEntered(words, amount, product);
  return entered.state === 'wrong' ? entered.problem : enterNumber(words);
}

// Explains the network's refusal of a payment to the payer.

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

/** One or two sentences. @param code such as `op_underfunded` @param sent the asset that the payer
 *  sends, if different */
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

export interface PayerAnswerDeps {
  /** Null when there is no such link or checkout. */
  find: (req: Request) => Promise<PageLink | null>;
  /** Counts a request of a client address. @returns 0 when it is let through, else the seconds
   *  to wait */
  limit: (address: string) => number;
  addressOf: (req: Request) => string;
  wordsOf: (req: Request) => Words;
  clock: Pick<Clock, 'now'>;
  log: Logger;
}

export interface Visitor {
  address: string;
  words: Words;
}

/** @returns the answer's `data`. `linkOf` throws when there is no such page, it takes no payments,
 *  or the body has faults for it */
export type Handle<Op extends Operation> = (
  input: ParsedInputOf<Op>,
  linkOf: () => Promise<PageLink>,
  visitor: Visitor,
) => Promise<unknown>;

/** Faults of a body for this page, valid or not. */
type FaultsOf = (words: Words, link: PageLink, body: RawBody) => FieldError[];

type Answer = <Op extends Operation>(operation: Op, handle: Handle<Op>, faultsOf?: FaultsOf) => RequestHandler;

export function createPayerAnswer({ find, limit, addressOf, wordsOf, clock, log }: PayerAnswerDeps): Answer {
  const onInternalError = (error: unknown, requestId: string) =>
    log.error({ err: error, requestId }, 'payment from a wallet failed');

  return (operation, handle, faultsOf = () => []) =>
    async (req, res) => {
      const visitor = { address: addressOf(req), words: wordsOf(req) };
      let link: PageLink | null = null;
      let body: RawBody = {};
      try {
        const waitSeconds = limit(visitor.address);
        if (waitSeconds > 0) throw rateLimited(waitSeconds);
        const strays = cutFaults(
          Object.keys(req.query).filter((name) => name !== 'lang'),
          unknownParameter,
        );
        if (strays.length > 0) throw badRequestOf(strays);
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
          if (link.order) throw conflict(visitor.words.say('wasOrderNeeded'));
          const more = faultsOf(visitor.words, link, body);
          if (more.length > 0) throw refusal(operation, more);
          return link;
        };
        const data = await handle(parsed as never, linkOf, visitor);
        res.json({ data, error: null });
      } catch (error) {
        const told = toldToPayer(error, visitor.words, link, body);
        sendError(res, told, String(res.get('x-request-id') ?? ''), onInternalError);
      }
    };
}
