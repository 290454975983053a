/** Takes a rate: asks all sources concurrently, leaves out those that fail, and combines the others. */
import type { Logger } from 'pino';
import { type Clock, within } from '../clock.js';
import { sameAsset } from '../domain/asset.js';
import { agree, crossRate, formatRate, parseRate, type Rate } from '../domain/rate.js';
import type { Pair } from '../domain/rate-pair.js';
import type { Peg } from '../domain/rate-settings.js';
import { SourceError } from '../ledger/errors.js';
import { BadAnswer, type CrossSource, type Quote, type RateSource } from './source.js';

/** Time limit of all requests to one source. */
export const PATIENCE_MS = 5000;
/** How long a source is not asked again for a pair that it does not have. */
const UNKNOWN_FOR_MS = 3_600_000;
const MOST_UNKNOWN = 1000;
/** The most by which a server's clock may be ahead. */
const AHEAD_MS = 60_000;
/** Currencies that markets trade in, if they do not trade in the wanted one. */
const BASES = ['EUR', 'USD'];

export type Taken = { rate: Rate; source: string } | { rate: null; reason: string; disagreed: boolean };

export interface TakeDeps {
  sources: readonly RateSource[];
  /** Null for none. */
  cross: CrossSource | null;
  pegs: readonly Peg[];
  maxAgeMs: number;
  clock: Clock;
  log: Logger;
  /** A source failed, timed out, or gave too old a rate. */
  onLeftOut: (source: string) => void;
}

export type Take = (pair: Pair) => Promise<Taken>;

export function createTake(deps: TakeDeps): Take {
  const { sources, cross, pegs } = deps;
  const direct = createDirect(deps);

  /** The source's rate in the currency, or crossed from a currency that it trades in. */
  async function quoteOf(source: RateSource, pair: Pair): Promise<{ rate: Rate; source: string } | null> {
    const quote = await direct(source, pair);
    if (quote || !cross) return quote && { rate: quote.rate, source: source.name };
    for (const base of BASES) {
      if (base === pair.currency) continue;
      const inBase = await direct(source, { ...pair, currency: base });
      const crossing = inBase && (await cross.cross(base, pair.currency));
      const rate = crossing && crossRate(inBase.rate, crossing.rate);
      if (rate) return { rate, source: `${source.name}*${cross.name}` };
    }
    return null;
  }

  return async (pair) => {
    const isPegged = pegs.some((peg) => sameAsset(peg.asset, pair.asset));
    const answers = isPegged
      ? [await well(deps, 'peg', pair, () => pegged(deps, pair))]
      : await Promise.all(sources.map((source) => well(deps, source.name, pair, () => quoteOf(source, pair))));
    const good = answers.filter((answer) => answer !== null);
    const agreement = agree(good.map(({ rate }) => rate));
    if (agreement.outcome === 'agreed') {
      return { rate: agreement.rate, source: good.map(({ source }) => source).join(',') };
    }
    if (agreement.outcome === 'none')
      return { rate: null, reason: 'no source gives a usable answer', disagreed: false };
    const shown = good.map(({ source, rate }) => `${source} says ${formatRate(rate)}`).join(', ');
    return { rate: null, reason: `two sources differ by more than 5 %: ${shown}`, disagreed: true };
  };
}

/** A pegged asset is worth one unit of its currency, whatever its market says. */
async function pegged(
  { pegs, cross }: TakeDeps,
  { asset, currency }: Pair,
): Promise<{ rate: Rate; source: string } | null> {
  const peg = pegs.find((each) => sameAsset(each.asset, asset));
  if (!peg) return null;
  if (peg.currency === currency) return { rate: parseRate('1')!, source: 'peg' };
  const crossing = await cross?.cross(peg.currency, currency);
  return crossing ? { rate: crossing.rate, source: `peg*${cross!.name}` } : null;
}

async function well<T>(
  { clock, log, onLeftOut }: TakeDeps,
  name: string,
  pair: Pair,
  ask: () => Promise<T | null>,
): Promise<T | null> {
  try {
    return await within(clock, PATIENCE_MS, ask(), () => {
      throw new BadAnswer('no answer in time');
    });
  } catch (error) {
    const isExpected = error instanceof SourceError || error instanceof BadAnswer;
    const { code } = pair.asset;
    const about = { source: name, currency: pair.currency, asset: code, network: pair.network };
    if (isExpected) log.warn({ ...about, reason: error.reason }, 'source of rates left out');
    else log.warn({ ...about, err: error }, 'source of rates left out');
    onLeftOut(name);
    return null;
  }
}

/** @returns the source's own quote of a pair; null if it does not have the pair, which is remembered for a while */
function createDirect({ maxAgeMs, clock }: Pick<TakeDeps, 'maxAgeMs' | 'clock'>) {
  const unknown = new Map<string, number>();
  return async (source: RateSource, pair: Pair): Promise<Quote | null> => {
    const { asset, currency, network } = pair;
    const key = `${source.name} ${network} ${currency} ${asset.code} ${asset.issuer}`;
    if ((unknown.get(key) ?? 0) > clock.nowMs()) return null;
    const quote = await source.quote(pair);
    if (quote === null) {
      if (unknown.size >= MOST_UNKNOWN) unknown.clear();
      unknown.set(key, clock.nowMs() + UNKNOWN_FOR_MS);
      return null;
    }
    const ageMs = clock.nowMs() - quote.at.getTime();
    // An invalid time fails, too: a comparison with NaN is false.
    if (!(ageMs <= maxAgeMs)) throw new BadAnswer('too old');
    if (ageMs < -AHEAD_MS) throw new BadAnswer('a rate from the future');
    return quote;
  };
}
