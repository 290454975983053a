/** Parses `RATE_SOURCES` and `RATE_PEGS`. */
import { isAccountAddress } from '../../contracts/address.js';
import { isCurrency } from '../../contracts/currencies.js';
import { type Asset, sameAsset } from './asset.js';

export const RATE_SOURCES = ['kraken', 'coinbase', 'coingecko', 'ecb', 'ledger', 'custom'] as const;
export type RateSourceName = (typeof RATE_SOURCES)[number];

export interface RateSourceSetting {
  name: RateSourceName;
  /** Without a trailing slash; null for the source's default. */
  baseUrl: string | null;
}

/** An asset that is worth exactly one unit of the currency. */
export interface Peg {
  asset: Asset;
  currency: string;
}

/** @throws RangeError that tells the fault, without the setting's name */
export function parseRateSources(value: string): RateSourceSetting[] {
  const settings = itemsOf(value).map((item): RateSourceSetting => {
    const [, given = '', baseUrl = null] = /^([^@]*)(?:@(.*))?$/s.exec(item) ?? [];
    const name = RATE_SOURCES.find((each) => each === given);
    if (!name)
      throw new RangeError(
        `must list some of ${RATE_SOURCES.join(', ')}, each with an optional @base-url, not "${given}".`,
      );
    if (baseUrl !== null && !isBase(baseUrl)) throw new RangeError(`has no http or https URL behind ${name}@.`);
    if (name === 'custom' && baseUrl === null)
      throw new RangeError('needs the URL of the custom source: custom@https://….');
    return { name, baseUrl: baseUrl?.replace(/\/+$/, '') ?? null };
  });
  const twice = settings.find(({ name }, index) => settings.findIndex((each) => each.name === name) < index);
  if (twice) throw new RangeError(`lists ${twice.name} twice.`);
  return settings;
}

/** A base URL may have a path, and that of a custom source a query. A key in it is never repeated. */
const isBase = (text: string): boolean =>
  URL.canParse(text) && /^https?:\/\/[^/?#\\\s@]+(?:[/?][^#\s\\]*)?$/i.test(text);

/** `USDC:G…=USD,EURC:G…=EUR`. @throws RangeError as `parseRateSources` */
export function parseRatePegs(value: string): Peg[] {
  const pegs = itemsOf(value).map((item): Peg => {
    const [, code, issuer = '', currency = ''] = /^([A-Za-z0-9]{1,12}):(\w+)=(\w+)$/.exec(item) ?? [];
    if (!code || !isAccountAddress(issuer) || !isCurrency(currency))
      throw new RangeError(`must list assets and currencies such as USDC:G…=USD, not "${item}".`);
    return { asset: { code, issuer }, currency };
  });
  const twice = pegs.find(({ asset }, index) => pegs.findIndex((each) => sameAsset(each.asset, asset)) < index);
  if (twice) throw new RangeError(`lists ${twice.asset.code} twice.`);
  return pegs;
}

const itemsOf = (value: string) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
