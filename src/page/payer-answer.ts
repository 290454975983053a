/** Answers requests of a payer's page or wallet in the API's envelope: checks the body by its contract before its link, and words errors in the payer's
 *  language. */
import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { FieldError } from '../../contracts/errors.js';
import type { Operation, ParsedInputOf, RawBody } from '../../contracts/operation.js';
import { sendError } from '../api/answer.js';
import { checkInput, cutFaults, refusal, unknownParameter } from '../api/input.js';
import { readBody } from '../api/rest-body.js';
import { badRequest, badRequestOf, conflict, notFound, rateLimited } from '../kit/api-error.js';
import type { Clock } from '../kit/clock.js';
import { closedBecause } from './page-state.js';
import { toldToPayer } from './refused-input.js';
import type { PageLink } from './types.js';
import type { Words } from './words.js';

export interface PayerAnswerDeps {
  /** Null when there is no such link or checkout. */
  find: (req: Request) => Promise<PageLink | null>;
  /** Counts a request of a client address. @returns 0 when it is let through, else the seconds to wait */
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

/** @returns the answer's `data`. `linkOf` throws when there is no such page, it takes no payments, or the body has faults for it */
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
