/** Silent faults of servers: missing classic events, and repeated entries. */
import type { Json } from './chain.js';
import type { Random } from './random.js';
import { START_MS } from './scheduler.js';

/** A period in which Stellar RPC may be answered by a machine that emits no events of
 *  classic operations. */
export interface Blindness {
  fromMs: number;
  untilMs: number;
  /** Probability that this machine answers. */
  share: number;
}

const LONGEST_MS = 15_000;

/** @param overMs duration of the run */
export function drawBlindness(random: Random, overMs: number): Blindness[] {
  return Array.from({ length: random.between(1, 4) }, () => {
    const fromMs = START_MS + random.int(overMs);
    return { fromMs, untilMs: fromMs + random.between(500, LONGEST_MS), share: random.pick([1, 1, 0.5]) };
  });
}

export const isBlind = (blindness: readonly Blindness[], nowMs: number, random: Random): boolean =>
  blindness.some(({ fromMs, untilMs, share }) => nowMs >= fromMs && nowMs < untilMs && random.chance(share));

/** Whether an operation emits its events even when classic ones are not emitted. */
export const isContractCall = ({ type }: Json): boolean => type === 'invoke_host_function';

/** Repeats the first entry, within the page limit. */
export const firstTwice = <Entry>(page: readonly Entry[], limit: number): Entry[] =>
  [...page.slice(0, 1), ...page].slice(0, limit);
