/** What servers do for a while without an error: show no classic events, answer what they answered before. */
import type { Json } from './chain.js';
import type { Random } from './random.js';
import { START_MS } from './scheduler.js';

/** While it lasts, another machine may answer at the URLs of Stellar RPC: one that emits no events of classic operations. */
export interface Blindness {
  fromMs: number;
  untilMs: number;
  /** Probability that this machine answers. */
  share: number;
}

const LONGEST_MS = 15_000;

/** @param overMs how long the run takes */
export function drawBlindness(random: Random, overMs: number): Blindness[] {
  return Array.from({ length: random.between(1, 4) }, () => {
    const fromMs = START_MS + random.int(overMs);
    return { fromMs, untilMs: fromMs + random.between(500, LONGEST_MS), share: random.pick([1, 1, 0.5]) };
  });
}

export const isBlind = (blindness: readonly Blindness[], nowMs: number, random: Random): boolean =>
  blindness.some(({ fromMs, untilMs, share }) => nowMs >= fromMs && nowMs < untilMs && random.chance(share));

/** Whether an operation emits its events although classic ones are not emitted. */
export const isContractCall = ({ type }: Json): boolean => type === 'invoke_host_function';

/** The first entry twice, as often as a page has room for it. */
export const firstTwice = <Entry>(page: readonly Entry[], limit: number): Entry[] =>
  [...page.slice(0, 1), ...page].slice(0, limit);
