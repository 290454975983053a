/** The event streams of open pages: the state of a link or checkout now, and after each change of
 *  it. A page that hears its stream asks for nothing. Behind one stream: the changes that all hear,
 *  and the bounds on their number. */
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../kit/clock.js';
import { PAYMENTS_SHOWN, type PageLink, type PagePayment, type StatusFeed } from './types.js';
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

// Sends changes to the open pages of each link: at most once every quarter of a second, looked up
// and rendered once for all pages with the same content. A transaction of a hundred payments to a
// link with many open pages takes a few renderings, not thousands.

const JOIN_MS = 250;
/** After a look-up that failed. */
const RETRY_MS = 1_000;
/** Cached renderings of a link: pages opened at different times may show different payments. */
const MAX_RENDERED = 32;

interface Viewer {
  /** Schedules one call of `tell` for any number of changes. */
  changed(): void;
  /** The text for this key: another page's rendering, or that of `render`. */
  rendered(key: string, render: () => string): string;
  leave(): void;
}

/** How a link is looked up again: after each change, and after a pause where it changes
 *  without one. */
interface Look<Found> {
  known: Found;
  find(): Promise<Found>;
  /** Null to wait for changes alone. */
  pauseMs(known: Found): number | null;
}

interface Link<Found> {
  /** By what tells each viewer: how it looks the link up. Null where the link stays as its pages
   *  know it. */
  viewers: Map<Tell<Found>, Look<Found> | null>;
  changed: Set<Tell<Found>>;
  rendered: Map<string, string>;
  toldMs: number;
  isTelling: boolean;
  isWatched: boolean;
  /** Aborts when its last viewer leaves. */
  left: AbortController;
}

type Tell<Found> = (found: Found | null) => void;

export function createLinkUpdates<Found>({ clock, log }: { clock: Pick<Clock, 'nowMs' | 'sleep'>; log: Logger }) {
  const links = new Map<string, Link<Found>>();

  async function tellSoon(link: Link<Found>): Promise<void> {
    if (link.isTelling) return;
    link.isTelling = true;
    while (link.changed.size > 0) {
      const waitMs = Math.min(JOIN_MS, link.toldMs + JOIN_MS - clock.nowMs());
      // Kept at least until all viewers were told of the change.
      await (waitMs > 0 ? clock.sleep(waitMs) : undefined);
      // What changes from here on needs another look.
      const changed = [...link.changed];
      link.changed.clear();
      const found = await lookUp(link);
      link.toldMs = clock.nowMs();
      for (const tell of changed) {
        try {
          if (link.viewers.has(tell)) tell(found);
        } catch (err) {
          log.error({ err }, 'open page not updated');
        }
      }
    }
    link.isTelling = false;
  }

  /** Null where there is nothing to look up. */
  async function lookUp(link: Link<Found>): Promise<Found | null> {
    for (;;) {
      const [look] = link.viewers.values();
      if (!look) return null;
      try {
        const found = await look.find();
        look.known = found;
        return found;
      } catch (err) {
        log.debug({ err }, 'open page not updated yet; trying again');
        await clock.sleep(RETRY_MS, link.left.signal);
      }
    }
  }

  /** Tells a link that changes by itself, as long as it has viewers. */
  async function watch(link: Link<Found>): Promise<void> {
    if (link.isWatched) return;
    link.isWatched = true;
    for (;;) {
      const [look] = link.viewers.values();
      const pauseMs = look ? look.pauseMs(look.known) : null;
      if (pauseMs === null) break;
      await clock.sleep(pauseMs, link.left.signal);
      for (const tell of link.viewers.keys()) link.changed.add(tell);
      await tellSoon(link);
    }
    link.isWatched = false;
  }

  return {
    /** @param tell sends the page its state; not called after `leave` */
    join(linkId: string, tell: Tell<Found>, look: Look<Found> | null): Viewer {
      const link = links.get(linkId) ?? newLink();
      links.set(linkId, link);
      link.viewers.set(tell, look);
      void watch(link);
      return {
        changed() {
          link.changed.add(tell);
          void tellSoon(link);
        },
        rendered(key, render) {
          const text = link.rendered.get(key) ?? render();
          link.rendered.set(key, text);
          if (link.rendered.size > MAX_RENDERED) link.rendered.delete(link.rendered.keys().next().value!);
          return text;
        },
        leave() {
          link.viewers.delete(tell);
          link.changed.delete(tell);
          if (link.viewers.size > 0) return;
          link.left.abort();
          if (links.get(linkId) === link) links.delete(linkId);
        },
      };
    },
  };
}

const newLink = <Found>(): Link<Found> => ({
  viewers: new Map(),
  changed: new Set(),
  rendered: new Map(),
  toldMs: Number.NEGATIVE_INFINITY,
  isTelling: false,
  isWatched: false,
  left: new AbortController(),
});

// The open event streams of one process: bounded in number, for each client address too, in age and
// in backlog; kept alive by one heartbeat, ended all at once.

/** Pages call a stream dead after 25 s of silence. */
const HEARTBEAT_MS = 10_000;
/** A stream ends after this; the page reconnects and learns of changes to its link. */
const MAX_AGE_MS = 15 * 60_000;
/** A reader that leaves this much unread is gone. */
const MAX_BACKLOG_BYTES = 256 * 1024;

interface EventStream {
  /** @param data one line */
  send(event: string, data: string): void;
  end(): void;
}

/** @param fed whether there is news to pass on; without it the streams end, and pages poll. */
export type Streams = ReturnType<typeof createStreams>;

export function createStreams(deps: { clock: Clock; limit: number; limitPerAddress: number; fed: () => boolean }) {
  const { clock, limit, limitPerAddress, fed } = deps;
  const byAddress = new Map<string, number>();
  const open = new Set<EventStream & { openedMs: number }>();
  const closing = new AbortController();
  let beating = false;

  /** Runs while anything is open, and not once it is closing: aborted sleeps would leave the event
   *  loop no time to close anything. */
  async function beat(): Promise<void> {
    if (beating) return;
    beating = true;
    while (open.size > 0 && !closing.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, closing.signal);
      for (const stream of open) {
        if (!fed() || clock.nowMs() - stream.openedMs > MAX_AGE_MS) stream.end();
        else stream.send('beat', String(clock.nowMs()));
      }
    }
    beating = false;
  }

  function count(address: string, change: 1 | -1): void {
    const streams = (byAddress.get(address) ?? 0) + change;
    if (streams > 0) byAddress.set(address, streams);
    else byAddress.delete(address);
  }

  return {
    /** Whether the process is full. */
    closed: (): boolean => closing.signal.aborted || open.size >= limit || !fed(),
    /** Whether this client address has reached its limit of streams. */
    isFull: (address: string): boolean => (byAddress.get(address) ?? 0) >= limitPerAddress,
    /** Answers with an event stream. Resources that end with it listen to the
     *  response's `close`. */
    start(res: Response, address: string): EventStream {
      res.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      });
      // Spread, so that pages do not all reconnect at once after a restart.
      res.write(`retry: ${Math.round(1000 + 2000 * clock.random())}\n\n`);
      const stream = {
        openedMs: clock.nowMs(),
        send(event: string, data: string) {
          if (res.writableEnded) return;
          res.write(`event: ${event}\ndata: ${data}\n\n`);
          if (res.writableLength > MAX_BACKLOG_BYTES) res.destroy();
        },
        end: () => res.end(),
      };
      open.add(stream);
      count(address, 1);
      res.on('close', () => {
        open.delete(stream);
        count(address, -1);
      });
      void beat();
      return stream;
    },
    close(): void {
      closing.abort();
      for (const stream of open) stream.end();
    },
    count: (): number => open.size,
  };
}
