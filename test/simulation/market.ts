/** The market of a run with rates: the price of an XLM in EUR over time, and sources that report
 *  it, are unavailable, differ, or report a spike. */
import { parseRate, type Rate } from '../../src/domain/rate.js';
import { BadAnswer, type Quote, type RateSource } from '../../src/rates/sources.js';
import type { Random } from './random.js';
import type { Process, Scheduler } from './scheduler.js';

export const RATE_TIMES = { lockMs: 15_000, maxAgeMs: 30_000 };
export const INTERVAL_MS = 5000;
export const CURRENCY = 'EUR';

/** Most neighbours differ by more than a sample may from the one before. */
const PRICES = ['0.25', '0.2', '0.26', '0.4', '0.252', '0.125', '0.33'];
/** Reported once and never confirmed: they are close neither to each other nor to a price. */
const SPIKES = ['1.5', '0.06', '3.1', '0.011'];
/** Longer than the interval, so that an answer is taken several times. */
const REPEATED_MS = { least: 6000, most: 14_000 };
const LATENCY_MS = { least: 10, most: 600 };

export interface Market {
  /** All prices, with their begin. */
  readonly prices: { rate: string; fromMs: number }[];
  sourcesOf(process: Process): RateSource[];
  endFaults(): void;
}

/** @param repeats whether sources repeat an answer for a while, also one with a spike in it */
export function createMarket({
  random,
  scheduler,
  repeats,
}: {
  random: Random;
  scheduler: Scheduler;
  repeats: boolean;
}): Market {
  const prices = [{ rate: PRICES[0]!, fromMs: Number.NEGATIVE_INFINITY }];
  let isCalm = false;
  let nextChangeMs = scheduler.nowMs() + random.between(8000, 40_000);
  let awayUntilMs = 0;
  let differUntilMs = 0;
  let spikes = 0;
  let spikeUntilMs = 0;

  /** Draws the changes since the last query. */
  function pass(): void {
    const nowMs = scheduler.nowMs();
    if (isCalm) return;
    if (nowMs >= nextChangeMs) {
      const others = PRICES.filter((price) => price !== prices.at(-1)!.rate);
      prices.push({ rate: random.pick(others), fromMs: nowMs });
      nextChangeMs = nowMs + random.between(8000, 40_000);
      scheduler.log(`market: an XLM is worth ${prices.at(-1)!.rate}`);
    }
    if (nowMs > awayUntilMs && random.chance(0.02)) awayUntilMs = nowMs + random.between(3000, 40_000);
    if (nowMs > differUntilMs && random.chance(0.03)) differUntilMs = nowMs + random.between(3000, 15_000);
    // Over before the pair is sampled again.
    if (nowMs > spikeUntilMs + INTERVAL_MS && random.chance(0.06)) {
      spikeUntilMs = nowMs + 1000;
      spikes += 1;
    }
  }

  /** The last answer of each source that repeats it, with the source's own time, and until when. */
  const repeated = new Map<number, { quote: Quote; untilMs: number }>();

  function quoteOf(index: number, process: Process): Quote {
    const known = repeated.get(index);
    if (known && !isCalm && scheduler.nowMs() < known.untilMs) return known.quote;
    const quote = { rate: answerOf(index), at: new Date(scheduler.nowMs() + process.clockOffsetMs) };
    if (repeats)
      repeated.set(index, { quote, untilMs: scheduler.nowMs() + random.between(REPEATED_MS.least, REPEATED_MS.most) });
    return quote;
  }

  function answerOf(index: number): Rate {
    pass();
    const nowMs = scheduler.nowMs();
    if (!isCalm && nowMs < awayUntilMs) throw new BadAnswer('away');
    if (!isCalm && nowMs < spikeUntilMs) return parseRate(SPIKES[spikes % SPIKES.length]!)!;
    if (!isCalm && nowMs < differUntilMs && index === 1) return parseRate('0.9')!;
    return parseRate(prices.at(-1)!.rate)!;
  }

  return {
    prices,
    sourcesOf: (process) =>
      ['one', 'two'].map((name, index) => ({
        name,
        async quote() {
          await scheduler.sleep(random.between(LATENCY_MS.least, LATENCY_MS.most), process);
          return quoteOf(index, process);
        },
      })),
    endFaults: () => {
      isCalm = true;
    },
  };
}
