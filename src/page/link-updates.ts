/** Sends changes to the open pages of each link: at most once every quarter of a second, looked up
 *  and rendered once for all pages with the same content. A transaction of a hundred payments to a
 *  link with many open pages takes a few renderings, not thousands. */
import type { Logger } from 'pino';
import type { Clock } from '../kit/clock.js';

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
export interface Look<Found> {
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
