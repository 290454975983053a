/** Request budgets that all processes share: in any sliding hour never more than `perHour` requests, in no instant more than the burst.
 *
 *  A generic cell rate algorithm. What is kept of a budget is one moment, when it would be whole again; each request moves it on by one
 *  interval, and it may lie at most `burst` intervals ahead. In any span W that lets through at most burst + W / interval requests: with
 *  the interval at an hour / (perHour − burst), at most `perHour` in an hour. Processes whose clocks differ by d may add d / interval to that. */
import mongoose from 'mongoose';
import type { Clock } from '../clock.js';
import { makeIndexes, SCHEMA_OPTIONS } from './database.js';

interface RequestBudgetDoc {
  /** Whatever is budgeted: a network. */
  _id: string;
  /** When the budget would be whole again: microseconds since the epoch, a whole number below 2^53, so that its sums are exact. */
  wholeAtMicros: number;
}

const requestBudgetSchema = new mongoose.Schema<RequestBudgetDoc>(
  { _id: String, wholeAtMicros: Number },
  { ...SCHEMA_OPTIONS, collection: 'requestBudgets' },
);

const HOUR_MICROS = 3_600_000_000;
const LARGEST_BURST = 100;

export interface Rate {
  intervalMicros: number;
  burst: number;
}

/** @param perHour at least 1. A small budget has a small burst, so that the rest of the hour is not spent waiting. */
export function rateOf(perHour: number): Rate {
  const burst = Math.max(1, Math.min(LARGEST_BURST, Math.floor(perHour / 10)));
  const steady = perHour - burst;
  // One request an hour: the next one comes after the hour, not at its end.
  return { burst, intervalMicros: steady === 0 ? HOUR_MICROS + 1 : Math.ceil(HOUR_MICROS / steady) };
}

/** @returns where the budget stands after `count` requests and how long to wait, which is 0 exactly when they are granted. */
export function spend(wholeAtMicros: number, nowMicros: number, count: number, { burst, intervalMicros }: Rate) {
  const reachMicros = nowMicros + burst * intervalMicros;
  // Beyond its reach a budget lies only after a clock went back: it counts as spent, not as lost until then.
  const fromMicros = Math.min(Math.max(wholeAtMicros, nowMicros), reachMicros);
  const spentMicros = fromMicros + count * intervalMicros;
  return spentMicros <= reachMicros
    ? { wholeAtMicros: spentMicros, waitMs: 0 }
    : { wholeAtMicros: fromMicros, waitMs: Math.ceil((spentMicros - reachMicros) / 1000) };
}

export type RequestBudgetStore = ReturnType<typeof createRequestBudgetStore>;

export function createRequestBudgetStore(connection: mongoose.Connection, clock: Clock) {
  const budgets = connection.model<RequestBudgetDoc>('RequestBudget', requestBudgetSchema);

  return {
    ensureIndexes: () => makeIndexes(budgets),

    of(name: string, perHour: number) {
      const rate = rateOf(perHour);
      return {
        /** Takes `count` requests or none, in one round trip. @returns milliseconds to wait before asking again; 0 when they are granted. */
        async take(count: number): Promise<number> {
          if (count > rate.burst) throw new RangeError(`a budget of ${perHour} grants at most ${rate.burst} at once`);
          const nowMicros = clock.nowMs() * 1000;
          const reachMicros = nowMicros + rate.burst * rate.intervalMicros;
          // `spend`, as MongoDB says it: a document that is not there counts as whole.
          const from = { $min: [{ $max: ['$wholeAtMicros', nowMicros] }, reachMicros] };
          const spent = { $add: [from, count * rate.intervalMicros] };
          const before = await budgets.collection.findOneAndUpdate(
            { _id: name as never },
            [{ $set: { wholeAtMicros: { $cond: [{ $lte: [spent, reachMicros] }, spent, from] } } }],
            { upsert: true, returnDocument: 'before', projection: { wholeAtMicros: 1 } },
          );
          return spend(before?.wholeAtMicros ?? 0, nowMicros, count, rate).waitMs;
        },
      };
    },
  };
}
