/** Takes a rate: asks all sources concurrently, leaves out those that fail, and combines
 *  the others. */

import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { NATIVE, sameAsset } from '../domain/asset.js';
import type { Peg } from '../domain/parsed-settings.js';
import {
  agree,
  crossRate,
  formatRate,
  jumps,
  MAX_PAIRS_PER_ACCOUNT,
  type Pair,
  pairKey,
  parseRate,
  type Rate,
  type RateAnswer,
} from '../domain/rate.js';
import { type Clock, within } from '../kit/clock.js';
import { SourceError } from '../ledger/index.js';
import type { ForAccount } from '../stores.js';
import type { NeedRate } from './sampler.js';
import { BadAnswer, type CrossSource, type Quote, type RateSource, UnknownPair } from './sources.js';

// The rates that an account needs, for its prices and its books.

export interface Priced {
  /** Null for a price in the asset itself. */
  currency?: string | null | undefined;
  assetCode: string;
  assetIssuer: string | null;
}

export interface RateNeeds {
  /** Starts sampling the rate for this price, else the one that the books need for it. Call before
   *  storing the price.
   *  @returns false when the account has reached its limit */
  ofPriced(accountId: string, priced: Priced, network: Network, until?: Date): Promise<boolean>;
  /** Starts sampling all rates that books in this currency need now. */
  ofBooks(accountId: string, currency: string): Promise<void>;
  /** The assets valued by books in this currency: lumens, and those of products. */
  pairsOfBooks(accountId: string, currency: string): Promise<Pair[]>;
}

export function createRateNeeds(deps: {
  forAccount: ForAccount<'account' | 'products' | 'wallets'>;
  needRate: NeedRate;
  /** The watched networks. */
  networks: readonly Network[];
}): RateNeeds {
  const { forAccount, needRate, networks } = deps;

  async function pairsOfBooks(accountId: string, currency: string): Promise<Pair[]> {
    const { products, wallets } = forAccount(accountId);
    const sold = await products.assets(MAX_PAIRS_PER_ACCOUNT);
    const paidTo = await wallets.byIds([...new Set(sold.map(({ walletId }) => walletId))]);
    const networkOf = new Map(paidTo.map(({ _id, network }) => [_id, network]));
    return [
      ...networks.map((network) => ({ currency, asset: NATIVE, network })),
      ...sold.flatMap(({ assetCode: code, assetIssuer: issuer, walletId }) => {
        const network = networkOf.get(walletId);
        return network && issuer !== null ? [{ currency, asset: { code, issuer }, network }] : [];
      }),
    ];
  }

  return {
    pairsOfBooks,

    async ofPriced(accountId, { currency, assetCode: code, assetIssuer: issuer }, network, until) {
      const need = (of: string) => needRate({ currency: of, asset: { code, issuer }, network }, accountId, until);
      if (currency) return need(currency);
      // Lumens are sampled as long as there are books.
      const books = issuer === null ? null : (await forAccount(accountId).account.get())?.booksCurrency;
      return books ? need(books) : true;
    },

    async ofBooks(accountId, currency) {
      const pairs = new Map((await pairsOfBooks(accountId, currency)).map((pair) => [pairKey(pair), pair]));
      await Promise.all([...pairs.values()].map((pair) => needRate(pair, accountId)));
    },
  };
}

/** Time limit of all requests to one source. */
export const PATIENCE_MS = 5000;
/** How long a source is not asked again for a pair that it does not know: one that it has known,
 *  and one that it never has. */
const UNKNOWN_FOR_MS = { known: 60_000, never: 3_600_000 };
/** More than the pairs of many accounts at all sources: a source that was forgotten would be
 *  asked again. */
const MOST_UNKNOWN = 50_000;
/** The most by which a server's clock may be ahead. */
const AHEAD_MS = 60_000;
/** Currencies that markets trade in, if they do not trade in the wanted one. */
const BASES = ['EUR', 'USD'];

/** What one source says, directly or crossed. */
interface Said {
  rate: Rate;
  source: string;
  answers: RateAnswer[];
}

type Taken =
  | {
      rate: Rate;
      source: string;
      answers: readonly RateAnswer[];
      /** Those of the sources that say about the same as this rate. */
      sound: readonly RateAnswer[];
    }
  | { rate: null; reason: string; disagreed: boolean };

interface TakeDeps {
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

interface Asked {
  /** On whose account. */
  accountId: string;
  /** The answers, by their `of`, that earlier samples of the pair were made of. */
  knownBy: readonly string[];
}

export type Take = (pair: Pair, asked: Asked) => Promise<Taken>;

export function createTake(deps: TakeDeps): Take {
  const { sources, cross, pegs } = deps;
  const direct = createDirect(deps);

  /** The source's rate in the currency, or crossed from a currency that it trades in.
   *  @throws UnknownPair */
  async function quoteOf(source: RateSource, pair: Pair, asked: Asked): Promise<Said | null> {
    let unknown: UnknownPair | null = null;
    const bases = cross ? BASES.filter((base) => base !== pair.currency) : [];
    for (const currency of [pair.currency, ...bases]) {
      try {
        const answer = await direct(source, { ...pair, currency }, asked);
        if (!answer) continue;
        if (currency === pair.currency) return { rate: answer.rate, source: source.name, answers: [answer] };
        const crossing = await crossed(deps, currency, pair.currency);
        const rate = crossing && crossRate(answer.rate, crossing.rate);
        if (rate) return { rate, source: `${source.name}*${cross!.name}`, answers: [answer, crossing] };
      } catch (error) {
        if (!(error instanceof UnknownPair)) throw error;
        unknown = error;
      }
    }
    if (unknown) throw unknown;
    return null;
  }

  return async (pair, asked) => {
    const isPegged = pegs.some((peg) => sameAsset(peg.asset, pair.asset));
    const said = isPegged
      ? [await well(deps, 'peg', pair, () => pegged(deps, pair))]
      : await Promise.all(sources.map((source) => well(deps, source.name, pair, () => quoteOf(source, pair, asked))));
    const good = said.filter((each) => each !== null);
    const agreement = agree(good.map(({ rate }) => rate));
    if (agreement.outcome === 'agreed') {
      const { rate } = agreement;
      return {
        rate,
        source: good.map(({ source }) => source).join(','),
        answers: good.flatMap(({ answers }) => answers),
        sound: good.flatMap((each) => (jumps(rate, each.rate) ? [] : each.answers)),
      };
    }
    if (agreement.outcome === 'none')
      return { rate: null, reason: 'no source gives a usable answer', disagreed: false };
    const shown = good.map(({ source, rate }) => `${source} says ${formatRate(rate)}`).join(', ');
    return { rate: null, reason: `two sources differ by more than 5 %: ${shown}`, disagreed: true };
  };
}

/** A pegged asset is worth one unit of its currency, whatever its market says. */
async function pegged(deps: TakeDeps, { asset, currency }: Pair): Promise<Said | null> {
  const peg = deps.pegs.find((each) => sameAsset(each.asset, asset));
  if (!peg) return null;
  if (peg.currency === currency) return { rate: parseRate('1')!, source: 'peg', answers: [] };
  const crossing = await crossed(deps, peg.currency, currency);
  return crossing && { rate: crossing.rate, source: `peg*${deps.cross!.name}`, answers: [crossing] };
}

/** @throws BadAnswer */
async function crossed({ cross, clock }: TakeDeps, from: string, to: string): Promise<RateAnswer | null> {
  const quote = await cross?.cross(from, to);
  if (!quote) return null;
  refuseAhead(quote, clock);
  return { ...quote, of: `${cross!.name} ${from}/${to}` };
}

/** @throws BadAnswer */
function refuseAhead({ at }: Quote, clock: Pick<Clock, 'nowMs'>): void {
  if (at.getTime() - clock.nowMs() > AHEAD_MS) throw new BadAnswer('a rate from the future');
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

/** @returns the source's own answer; null if it is not asked, because it lately did not know
 *  the pair */
function createDirect({ maxAgeMs, clock }: Pick<TakeDeps, 'maxAgeMs' | 'clock'>) {
  /** When to ask again, the longest known first. */
  const unknown = new Map<string, number>();
  return async (source: RateSource, pair: Pair, { accountId, knownBy }: Asked): Promise<RateAnswer | null> => {
    const { asset, currency, network } = pair;
    const of = `${source.name} ${currency}`;
    const key = `${of} ${network} ${asset.code} ${asset.issuer}`;
    if ((unknown.get(key) ?? 0) > clock.nowMs()) return null;
    unknown.delete(key);
    const quote = await source.quote(pair, accountId).catch((error: unknown) => {
      if (!(error instanceof UnknownPair)) throw error;
      const [oldest] = unknown.keys();
      if (oldest !== undefined && unknown.size >= MOST_UNKNOWN) unknown.delete(oldest);
      unknown.set(key, clock.nowMs() + UNKNOWN_FOR_MS[knownBy.includes(of) ? 'known' : 'never']);
      throw error;
    });
    if (quote === null) return null;
    // An invalid time fails, too: a comparison with NaN is false.
    if (!(clock.nowMs() - quote.at.getTime() <= maxAgeMs)) throw new BadAnswer('too old');
    refuseAhead(quote, clock);
    return { ...quote, of };
  };
}
