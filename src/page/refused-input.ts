/** Words faults of input from a payer's page or wallet in the payer's language. The details, which programs read, keep the contract's wording. */
import type { FieldError } from '../../contracts/errors.js';
import type { RawBody } from '../../contracts/operation.js';
import { ApiError } from '../kit/api-error.js';
import { enterNumber, judgeEntered } from './entered-amount.js';
import type { PageLink } from './types.js';
import type { PlainKey, Words } from './words.js';

/** Faults of `faultOf`, and the contract's for a value that is no text. */
const OF_TRANSACTION: Readonly<Record<string, PlainKey>> = { required: 'notSigned', too_small: 'tooLate' };
/** The network's codes, whose sentences are already in the payer's language. */
const OF_NETWORK = /^(op|tx)_/;

/** @param link null when unknown or missing. @param body as sent. @returns the error with its message in the payer's language */
export function toldToPayer(error: unknown, words: Words, link: PageLink | null, body: RawBody): unknown {
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
  // Of the asset, also where the price is in a currency.
  const entered = judgeEntered(words, amount, product);
  return entered.state === 'wrong' ? entered.problem : enterNumber(words);
}
