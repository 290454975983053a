/** Request budgets shared by all processes: never more than `perHour` requests in any sliding hour,
 *  nor more than the burst at once. Each purpose has a share, outsiders one that no other draws
 *  from, each account and client address at most half of that share. One moment is stored for
 *  each (`watching/poll-scheduler.ts`). */
import type mongoose from 'mongoose';
import type { Clock } from '../kit/clock.js';
import { type Collection, type DocOf, define, openCollection, optional } from '../kit/collection.js';
import type { Asker, LedgerBudget, RequestBudget } from '../ledger/index.js';
import {
  type RequestRate,
  rateOfCommon,
  rateOfOne,
  rateOfShare,
  type Share,
  spareOf,
  spend,
} from './poll-scheduler.js';

const REQUEST_BUDGETS = define(
  'requestBudgets',
  {
    /** Names a network, a share of it, or one account or address within the share. */
    _id: String,
    /** When the budget is full again: microseconds since the epoch, an integer below 2^53, so that
     *  sums are exact. */
    wholeAtMicros: Number,
    /** When the budget of one account or address is certainly full again and may be deleted.
     *  Missing for the others. */
    expiresAt: optional(Date),
  },
  [{ key: { expiresAt: 1 }, expireAfterSeconds: 60 }],
);

interface RequestBudgetDoc extends DocOf<typeof REQUEST_BUDGETS> {}

export function createRequestBudgetStore(connection: mongoose.Connection, clock: Clock) {
  const budgets = openCollection<RequestBudgetDoc>(connection, REQUEST_BUDGETS);
  const take = createTake(budgets, clock);

  return {
    of: (network: string, perHour: number): LedgerBudget => createBudget(take, network, perHour),
  };
}

/** Takes a request, in one round trip. @param leave requests that must be left */
function createTake(budgets: Collection<RequestBudgetDoc>, clock: Clock) {
  return async (id: string, rate: RequestRate, { leave = 0, isOfOne = false } = {}) => {
    const nowMicros = clock.nowMs() * 1000;
    const reachMicros = nowMicros + rate.burst * rate.intervalMicros;
    // `spend` as a MongoDB expression: a missing document counts as full.
    const from = { $min: [{ $max: ['$wholeAtMicros', nowMicros] }, reachMicros] };
    const spent = { $add: [from, rate.intervalMicros] };
    const limitMicros = reachMicros - leave * rate.intervalMicros;
    const before = await budgets.findOneAndUpdate(
      { _id: id },
      [
        {
          $set: {
            wholeAtMicros: { $cond: [{ $lte: [spent, limitMicros] }, spent, from] },
            ...(isOfOne ? { expiresAt: new Date(reachMicros / 1000) } : {}),
          },
        },
      ],
      { upsert: true, returnDocument: 'before', projection: { wholeAtMicros: 1 } },
    );
    const beforeMicros = before?.wholeAtMicros ?? 0;
    return { nowMicros, beforeMicros, ...spend(beforeMicros, nowMicros, 1, rate, leave) };
  };
}

/** Requests that find and read the newest ledger for two addresses, while a source is so young that
 *  its tip is asked for again after each page. */
const ROUND = 5;

function createBudget(take: ReturnType<typeof createTake>, network: string, perHour: number): LedgerBudget {
  const rate = rateOfCommon(perHour);
  const spare = spareOf(rate);
  let others = 0;
  let seenMicros = Number.POSITIVE_INFINITY;

  const budgetOf = (id: string, itsRate: RequestRate, options?: Parameters<typeof take>[2]): RequestBudget => ({
    take: async () => (await take(id, itsRate, options)).waitMs,
    intervalMs: itsRate.intervalMicros / 1000,
  });
  const ofShare = (share: Share) => budgetOf(`${network}:${share}`, rateOfShare(perHour, share));
  const ofOne = (share: Share, { purpose, by }: Extract<Asker, { by: string }>) =>
    budgetOf(`${network}:${purpose}:${by}`, rateOfOne(perHour, share), { isOfOne: true });
  /** What all but outsiders share; the watcher alone takes the spare requests. */
  const rest = budgetOf(network, rate, { leave: spare });

  /** The watcher's first requests in a session, for the tip and the newest ledger, may use the
   *  spare ones. Later ones catch up and compete with other purposes, so that an hour of catching
   *  up leaves each purpose its share. With a small budget even a second address would wait until
   *  it is full. */
  const ofWatcher = (): RequestBudget => {
    let granted = 0;
    return {
      async take() {
        const leave = granted >= Math.max(spare, ROUND) ? spare : 0;
        const taken = await take(network, rate, { leave });
        others += Math.max(0, taken.beforeMicros - Math.max(seenMicros, taken.nowMicros)) / rate.intervalMicros;
        seenMicros = taken.wholeAtMicros;
        if (taken.waitMs === 0) granted += 1;
        return taken.waitMs;
      },
      intervalMs: rate.intervalMicros / 1000,
    };
  };

  return {
    allowancesOf(asker) {
      switch (asker.purpose) {
        case 'watching':
          return [ofWatcher()];
        case 'parked':
        case 'audits':
        case 'proofs':
          return [ofShare(asker.purpose), rest];
        case 'tenants':
          return [ofOne('tenants', asker), ofShare('tenants'), rest];
        case 'payers':
          return [ofOne('outsiders', asker), ofShare('outsiders')];
        case 'pages':
          return [ofOne('pages', asker), ofShare('pages'), ofShare('outsiders')];
      }
    },
    othersSpent() {
      const seen = others;
      others = 0;
      return seen;
    },
  };
}
