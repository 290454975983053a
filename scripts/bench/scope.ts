/** Tools for measurements: teardown, quantiles, CPU times, and alternating runs of two sides. */
import { readFileSync } from 'node:fs';
import { mongo } from 'mongoose';

export interface Scope {
  teardown(end: () => unknown): void;
  close(): Promise<void>;
}

export function createScope(): Scope {
  const ends: (() => unknown)[] = [];
  return {
    teardown: (end) => void ends.push(end),
    async close() {
      for (let end = ends.pop(); end; end = ends.pop()) await end();
    },
  };
}

/** Milliseconds at a quantile between 0 and 1. */
export function quantile(times: readonly number[], q: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** Milliseconds of CPU that a process has taken so far; a tick is 10 ms. Linux only. */
export function cpuMsOf(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number);
  return (user! + system!) * 10;
}

/** Calls of `work` per second, by concurrent `workers`, for about `ms`. */
export async function perSecond(work: () => Promise<unknown>, workers: number, ms: number): Promise<number> {
  const startedMs = performance.now();
  let done = 0;
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (performance.now() - startedMs < ms) {
        await work();
        done += 1;
      }
    }),
  );
  return (done / (performance.now() - startedMs)) * 1000;
}

/** Alternates two sides in one run, so that a noisy machine affects both. @returns the medians, and
 *  the median of the ratios of neighbours */
export async function beside(rounds: number, ours: () => Promise<number>, theirs: () => Promise<number>) {
  const pairs: [number, number][] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) pairs.push([await ours(), await theirs()]);
    else {
      const other = await theirs();
      pairs.push([await ours(), other]);
    }
  }
  return {
    ours: median(pairs.map(([a]) => a)),
    theirs: median(pairs.map(([, b]) => b)),
    ratio: median(pairs.map(([a, b]) => a / b)),
  };
}

/** The URI of a database on the same MongoDB. */
export function onSameMongo(uri: string, name: string): string {
  const url = new URL(uri);
  url.pathname = `/${name}`;
  return url.href;
}

export const connectMongo = (uri: string) => mongo.MongoClient.connect(uri);
