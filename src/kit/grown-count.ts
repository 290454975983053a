/** Totals of append-only lists whose ids contain the time: the part too old to grow is counted once
 *  and remembered. */
import type { mongo } from 'mongoose';
import type { Clock } from './clock.js';
import { FairCache } from './fair-queue.js';
import { firstIdOf, type IdPrefix } from './ids.js';
import { type IdRange, withinIds } from './paging.js';

/** New ids are never older than this: it exceeds the length of a transaction and the difference of
 *  hosts' clocks. */
const SETTLED_AFTER_MS = 10 * 60_000;
/** Interval at which the remembered part is extended. */
const STEP_MS = 60_000;
/** Number of filters with remembered counts. */
const MAX_FILTERS = 1000;

interface Settled {
  upTo: string;
  count: Promise<number>;
}

export function createGrownCount<Doc extends { _id: string; accountId: string }>(
  collection: mongo.Collection<Doc>,
  prefix: IdPrefix,
  clock: Pick<Clock, 'nowMs'>,
) {
  /** By account and filter. */
  const remembered = new FairCache<Settled>(MAX_FILTERS);
  const countIn = (filter: mongo.Filter<Doc>, ids: IdRange): Promise<number> =>
    collection.countDocuments({ ...filter, ...withinIds(ids) } as never);

  function settledOf(
    account: string,
    key: string,
    filter: mongo.Filter<Doc>,
    from: string | undefined,
    upTo: string,
  ): Promise<number> {
    const known = remembered.get(account, key);
    // The clock was set back: it was remembered too soon.
    const base = known && known.upTo <= upTo ? known : null;
    if (base?.upTo === upTo) return base.count;
    const next = { upTo, count: countOn(filter, from, base, upTo) };
    remembered.set(account, key, next);
    next.count.catch(() => remembered.get(account, key) === next && remembered.delete(account, key));
    return next.count;
  }

  async function countOn(
    filter: mongo.Filter<Doc>,
    from: string | undefined,
    base: Settled | null,
    upTo: string,
  ): Promise<number> {
    const [before, since] = await Promise.all([
      base?.count ?? 0,
      countIn(filter, { from: later(base?.upTo, from), to: upTo }),
    ]);
    return before + since;
  }

  /** @param filter must not depend on the id, or on fields that change */
  return async (
    { accountId, ...more }: mongo.Filter<Doc> & { accountId: string },
    { from, to }: IdRange,
  ): Promise<number> => {
    const filter = { accountId, ...more } as mongo.Filter<Doc>;
    const settledMs = Math.floor((clock.nowMs() - SETTLED_AFTER_MS) / STEP_MS) * STEP_MS;
    const settled = firstIdOf(prefix, new Date(settledMs));
    const isPast = to !== undefined && to <= settled;
    const upTo = isPast ? to : settled;
    const key = JSON.stringify([more, from ?? null, isPast ? to : null]);
    const [older, newer] = await Promise.all([
      settledOf(accountId, key, filter, from, upTo),
      isPast ? 0 : countIn(filter, { from: later(upTo, from), to }),
    ]);
    return older + newer;
  };
}

const later = (id: string | undefined, other: string | undefined): string | undefined =>
  id === undefined || (other !== undefined && other > id) ? other : id;
