/** The event stream of an open page: its state now, and after each change of it. A page that hears
 *  its stream asks for nothing. */
import type { Request, Response } from 'express';
import type { Clock } from '../kit/clock.js';
import type { createLinkUpdates, Look } from './link-updates.js';
import type { createStreams } from './streams.js';
import type { PageLink, PagePayment, StatusFeed } from './types.js';
import { PAYMENTS_SHOWN } from './types.js';
import type { Words } from './words.js';

/** Rates move, and checkouts are cancelled, without a payment. */
const LOOK_MS = 15_000;
/** The ledgers of a checkout that has ended are still being read. */
const LOOK_AGAIN_MS = 4_000;
const JUST_AFTER_MS = 50;

/** A link with the text by which its states are told apart; null for one that is gone. */
export type Known = { link: PageLink; terms: string } | null;

interface FollowDeps {
  status: StatusFeed;
  streams: ReturnType<typeof createStreams>;
  updates: ReturnType<typeof createLinkUpdates<Known>>;
  find: (req: Request) => Promise<PageLink | null>;
  /** The page shows payments from this time on. */
  sinceOf: (req: Request) => Date;
  addressOf: (req: Request) => string;
  /** JSON of the page's state. */
  snapshot: (words: Words, link: PageLink, payments: readonly PagePayment[]) => string;
  wordsOf: (req: Request) => Words;
  clock: Pick<Clock, 'nowMs'>;
}

/** Answers with an event stream; 429 when the client address has too many open, 503 when the
 *  process is full. */
export function createFollow(deps: FollowDeps) {
  const { status, streams, updates, sinceOf, addressOf, snapshot, wordsOf } = deps;

  return async (req: Request, res: Response, link: PageLink): Promise<void> => {
    if (streams.closed()) return void res.status(503).end();
    const address = addressOf(req);
    if (streams.isFull(address)) return void res.status(429).set('retry-after', '60').end();
    // If the reader left during the look-up, `close` will not fire again.
    if (res.destroyed || req.method === 'HEAD') return void res.end();
    // A checkout's page shows all payments.
    const since = link.checkout ? new Date(0) : sinceOf(req);
    const payments = new Map<string, PagePayment>();
    const words = wordsOf(req);
    let known = knownOf(link);
    const look = lookOf(deps, req, known);
    const stream = streams.start(res, address);
    let caughtUp = false;
    let told = '';

    const tell = (found: Known) => {
      if (look) known = found;
      if (!caughtUp) return;
      if (known === null) return stream.end();
      const now = known;
      const shown = [...payments.values()];
      const key = `${words.language} ${words.asked} ${now.terms} ${shown.map(({ id, status, refundedAmount }) => `${id} ${status} ${refundedAmount}`).join()}`;
      if (key === told) return;
      told = key;
      stream.send(
        'status',
        viewer.rendered(key, () => snapshot(words, now.link, shown)),
      );
    };
    const viewer = updates.join(link.linkId, tell, look);
    const unsubscribe = status.subscribe(link, (payment) => {
      if (payment.createdAt < since) return;
      const seen = payments.get(payment.id);
      if (seen?.status === payment.status && seen.refundedAmount === payment.refundedAmount) return;
      payments.set(payment.id, payment);
      if (payments.size > PAYMENTS_SHOWN) payments.delete(payments.keys().next().value!);
      // The link has changed since the stream began, so the page asks again.
      if (payment.reason === 'link_inactive' || payment.reason === 'product_inactive') stream.end();
      else viewer.changed();
    });
    res.on('close', () => {
      unsubscribe();
      viewer.leave();
    });
    for (const payment of (await status.since(link, since)).reverse()) {
      // Payments from the stream during the query are newer.
      if (!payments.has(payment.id)) payments.set(payment.id, payment);
    }
    caughtUp = true;
    tell(known);
  };
}

const knownOf = (link: PageLink | null): Known => link && { link, terms: JSON.stringify(link, spelled) };

/** A rate holds BigInts, which JSON lacks, and an end that no page shows. */
const spelled = (name: string, value: unknown) =>
  name === 'validUntil' ? undefined : typeof value === 'bigint' ? String(value) : value;

/** Null where payments alone change the page: a plain link with a price in the asset, without
 *  an end. */
function lookOf({ find, clock }: FollowDeps, req: Request, known: Known): Look<Known> | null {
  if (!known || !changesByItself(known.link)) return null;
  return {
    known,
    find: async () => knownOf(await find(req)),
    pauseMs: (found) => (found === null ? null : pauseMs(found.link, clock.nowMs())),
  };
}

const changesByItself = ({ priced, checkout, order, endsAt, isLimited }: PageLink): boolean =>
  Boolean(priced ?? checkout ?? order ?? endsAt ?? isLimited);

function pauseMs({ checkout, endsAt }: PageLink, nowMs: number): number | null {
  if (!checkout) {
    const leftMs = endsAt ? endsAt.getTime() - nowMs : 0;
    return leftMs > 0 ? Math.min(LOOK_MS, leftMs + JUST_AFTER_MS) : LOOK_MS;
  }
  if (checkout.status !== 'OPEN') return null;
  if (checkout.ended) return LOOK_AGAIN_MS;
  return Math.min(LOOK_MS, Math.max(0, checkout.expiresAt.getTime() - nowMs) + JUST_AFTER_MS);
}
