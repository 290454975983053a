/** The event stream of an open page: its state now, and after each payment that changes it. */
import type { Request, Response } from 'express';
import type { createLinkUpdates } from './link-updates.js';
import type { createStreams } from './streams.js';
import type { PageLink, PagePayment, StatusFeed } from './types.js';
import { PAYMENTS_SHOWN } from './types.js';
import type { Words } from './words.js';

interface FollowDeps {
  status: StatusFeed;
  streams: ReturnType<typeof createStreams>;
  updates: ReturnType<typeof createLinkUpdates>;
  /** The page shows payments from this time on. */
  sinceOf: (req: Request) => Date;
  addressOf: (req: Request) => string;
  /** JSON of the page's state. */
  snapshot: (words: Words, link: PageLink, payments: readonly PagePayment[]) => string;
  wordsOf: (req: Request) => Words;
}

/** Answers with an event stream; 429 when the client address has too many open, 503 when the process is full. */
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
    const stream = streams.start(res, address);
    const payments = new Map<string, PagePayment>();
    const words = wordsOf(req);
    const terms = `${words.language} ${words.asked} ${JSON.stringify(link)}`;
    let caughtUp = false;
    let told = false;

    const tell = () => {
      if (!caughtUp) return;
      // A payment changes the checkout, so fetch the state again.
      if (link.checkout && told) return stream.send('changed', '1');
      told = true;
      const shown = [...payments.values()];
      const key = `${terms} ${shown.map(({ id, status, refundedAmount }) => `${id} ${status} ${refundedAmount}`).join()}`;
      stream.send(
        'status',
        viewer.rendered(key, () => snapshot(words, link, shown)),
      );
    };
    const viewer = updates.join(link.linkId, tell);
    const unsubscribe = status.subscribe(link, (payment) => {
      if (payment.createdAt < since) return;
      const known = payments.get(payment.id);
      if (known?.status === payment.status && known.refundedAmount === payment.refundedAmount) return;
      payments.set(payment.id, payment);
      if (payments.size > PAYMENTS_SHOWN) payments.delete(payments.keys().next().value!);
      // The link has changed since the stream began, so fetch the state again.
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
    tell();
  };
}
