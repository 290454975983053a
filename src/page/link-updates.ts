/** Sends changes to the open pages of each link: at most once every quarter of a second, rendered once for all pages with the same content. A transaction of a
 *  hundred payments to a link with many open pages takes a few renderings, not thousands. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';

const JOIN_MS = 250;
/** Cached renderings of a link: pages opened at different times may show different payments. */
const MAX_RENDERED = 32;

interface Viewer {
  /** Schedules one call of `tell` for any number of changes. */
  changed(): void;
  /** The text for this key: another page's rendering, or that of `render`. */
  rendered(key: string, render: () => string): string;
  leave(): void;
}

interface Link {
  viewers: Set<() => void>;
  changed: Set<() => void>;
  rendered: Map<string, string>;
  toldMs: number;
  isTelling: boolean;
}

export function createLinkUpdates({ clock, log }: { clock: Pick<Clock, 'nowMs' | 'sleep'>; log: Logger }) {
  const links = new Map<string, Link>();

  async function tellSoon(link: Link): Promise<void> {
    if (link.isTelling) return;
    link.isTelling = true;
    const waitMs = Math.min(JOIN_MS, link.toldMs + JOIN_MS - clock.nowMs());
    // Kept at least until all viewers were told of the change.
    await (waitMs > 0 ? clock.sleep(waitMs) : undefined);
    link.isTelling = false;
    link.toldMs = clock.nowMs();
    const changed = [...link.changed];
    link.changed.clear();
    for (const tell of changed) {
      try {
        tell();
      } catch (err) {
        log.error({ err }, 'open page not updated');
      }
    }
  }

  return {
    /** @param tell sends the page its state; not called after `leave` */
    join(linkId: string, tell: () => void): Viewer {
      const link = links.get(linkId) ?? newLink();
      links.set(linkId, link);
      link.viewers.add(tell);
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
          if (link.viewers.size === 0 && links.get(linkId) === link) links.delete(linkId);
        },
      };
    },
  };
}

const newLink = (): Link => ({
  viewers: new Set(),
  changed: new Set(),
  rendered: new Map(),
  toldMs: Number.NEGATIVE_INFINITY,
  isTelling: false,
});
