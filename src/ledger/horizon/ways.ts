/** Ways to pay in another asset, found by a Horizon in its ledger's books and pools. */
import { z } from 'zod';
import { formatAmount } from '../../domain/amount.js';
import { type Asset, assetName, sameAsset } from '../../domain/asset.js';
import type { Amount } from '../../domain/books.js';
import { LedgerUnavailable, SourceError } from '../errors.js';
import { MOST_WAYS, type Way } from '../source.js';
import type { Get } from './api.js';
import { amount, asset } from './fields.js';

/** Assets between the two ends of a path payment. */
const MOST_BETWEEN = 5;

const recordSchema = z
  .looseObject({ source_amount: amount, destination_amount: amount, path: z.array(asset).max(MOST_BETWEEN) })
  .transform((record, ctx) => {
    const [source, destination] = [
      asset.safeParse(end(record, 'source_')),
      asset.safeParse(end(record, 'destination_')),
    ];
    if (source.success && destination.success) return { ...record, source: source.data, destination: destination.data };
    ctx.addIssue({ code: 'custom', message: 'has no assets' });
    return z.NEVER;
  });
const answerSchema = z.object({ _embedded: z.object({ records: z.array(recordSchema) }) });

const end = (record: Record<string, unknown>, prefix: string) =>
  Object.fromEntries(['asset_type', 'asset_code', 'asset_issuer'].map((name) => [name, record[prefix + name]]));

/** A Horizon may find no paths, or have old books, and be right about everything else, so that its failure here must not bar it. @throws
 *  LedgerUnavailable, or SourceError when it asks for a pause */
export async function readWays(get: Get, due: Amount, from: readonly Asset[]): Promise<Way[]> {
  if (from.length > MOST_WAYS) throw new RangeError('more assets than one request can name');
  if (from.length === 0) return [];
  try {
    return await read(get, due, from);
  } catch (error) {
    if (!(error instanceof SourceError) || error.retryAfterMs !== null) throw error;
    throw new LedgerUnavailable(`its market cannot be read: ${error.reason}`, 0, true);
  }
}

/** @throws SourceError for an invalid answer, or one to another request */
async function read(get: Get, due: Amount, from: readonly Asset[]): Promise<Way[]> {
  const { body } = await get('/paths/strict-receive', {
    ...destinationOf(due.asset),
    destination_amount: formatAmount(due.stroops),
    source_assets: from.map((each) => (each.issuer === null ? 'native' : assetName(each))).join(','),
  });
  const found = answerSchema.safeParse(body).data?._embedded.records;
  if (!found) throw new SourceError('invalid answer about paths');
  const best = new Map<string, Way>();
  for (const { source, source_amount: cost, destination, destination_amount: arrives, path } of found) {
    const isAsked = from.some((each) => sameAsset(each, source)) && sameAsset(destination, due.asset);
    if (!isAsked || arrives !== due.stroops || cost <= 0n) throw new SourceError('paths that were not asked for');
    const known = best.get(assetName(source));
    if (known === undefined || cost < known.cost) best.set(assetName(source), { asset: source, cost, path });
  }
  return [...best.values()];
}

const destinationOf = ({ code, issuer }: Asset): Record<string, string> =>
  issuer === null
    ? { destination_asset_type: 'native' }
    : {
        destination_asset_type: code.length <= 4 ? 'credit_alphanum4' : 'credit_alphanum12',
        destination_asset_code: code,
        destination_asset_issuer: issuer,
      };
