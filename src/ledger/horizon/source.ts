/** Horizons as servers of a network's ledger. */
import { z } from 'zod';
import { formatAmount } from '../../domain/amount.js';
import { type Asset, assetName, sameAsset } from '../../domain/asset.js';
import type { Amount } from '../../domain/books.js';
import type { MonotonicClock } from '../../kit/clock.js';
import type { LedgerServer } from '../failover.js';
import { invocationIn } from '../invocation.js';
import { endpointOf, type Requester, type Response } from '../request.js';
import {
  addTransactions,
  type BytesSoFar,
  type LedgerSource,
  LedgerUnavailable,
  MOST_WAYS,
  SourceError,
  type Submission,
  type Way,
} from '../source.js';
import { type Answer, createHorizonSource, type Get } from './api.js';
import { amount, asset, hash, isObject } from './fields.js';

// A ledger's bytes as Horizon shows them, for proofs: its header, and what its transactions were
// and did.

const PAGE = 200;

const headerSchema = z.object({ sequence: z.int(), header_xdr: z.base64().min(1) });
const pageSchema = z.object({
  _embedded: z.object({
    records: z.array(
      z.object({
        hash,
        paging_token: z.string().regex(/^\d{1,19}$/),
        envelope_xdr: z.base64(),
        result_xdr: z.base64(),
      }),
    ),
  }),
});
/** Servers may leave the meta out. */
const metaSchema = z.object({ result_meta_xdr: z.string().min(1) });

export const createHorizonBytes = (get: Get): Pick<LedgerSource, 'ledgerBytes' | 'invocation'> => ({
  async ledgerBytes(sequence, soFar) {
    if (!soFar.header) {
      const { status, body } = await get(`/ledgers/${sequence}`);
      if (status !== 200) return status === 410 ? 'gone' : null;
      const found = headerSchema.safeParse(body).data;
      if (found?.sequence !== sequence) throw new SourceError('invalid ledger response');
      soFar.header = Buffer.from(found.header_xdr, 'base64');
    }
    await readTransactions(get, sequence, soFar);
    return { header: soFar.header, transactions: soFar.transactions };
  },
  async invocation(transactionHash) {
    const { body } = await get(`/transactions/${transactionHash}`);
    const told = metaSchema.safeParse(body).data;
    return told ? invocationIn(told.result_meta_xdr) : null;
  },
});

async function readTransactions(get: Get, sequence: number, soFar: BytesSoFar): Promise<void> {
  while (soFar.next !== null) {
    const query = { limit: `${PAGE}`, order: 'asc', include_failed: 'true', ...(soFar.next && { cursor: soFar.next }) };
    const { body } = await get(`/ledgers/${sequence}/transactions`, query);
    const records = pageSchema.safeParse(body).data?._embedded.records;
    if (!records) throw new SourceError('invalid page response');
    const page = records.map(({ hash, envelope_xdr, result_xdr }) => ({
      hash,
      envelope: Buffer.from(envelope_xdr, 'base64'),
      result: Buffer.from(result_xdr, 'base64'),
    }));
    addTransactions(soFar, page, records.length < PAGE ? null : records.at(-1)!.paging_token);
  }
}

// Interprets Horizon's answer to a submitted transaction.

const code = z.string().regex(/^(tx|op)_[a-z_]{1,60}$/);
const refusalSchema = z.object({
  extras: z.object({ result_codes: z.object({ transaction: code, operations: z.array(code).optional() }) }),
});
const malformedSchema = z.object({ type: z.literal('https://stellar.org/horizon-errors/transaction_malformed') });
const appliedSchema = z.object({ hash: z.string(), successful: z.literal(true) });

/** @throws SourceError for an answer that does not tell the transaction's result */
export function toSubmission({ status, body, retryAfterMs }: Omit<Response, 'latestLedger'>): Submission {
  if (status === 200 && appliedSchema.safeParse(body).success) return { state: 'applied' };
  // Horizon or a proxy timed out waiting for a ledger with the transaction.
  if (status === 504) return { state: 'pending' };
  if (status === 400) {
    const codes = refusalSchema.safeParse(body).data?.extras.result_codes;
    if (codes) {
      const operationCode = codes.operations?.find((each) => each !== 'op_success') ?? null;
      return { state: 'refused', transactionCode: codes.transaction, operationCode };
    }
    if (malformedSchema.safeParse(body).success) {
      return { state: 'refused', transactionCode: 'tx_malformed', operationCode: null };
    }
  }
  // A server that accepts no transactions may still be a good source.
  const kind = status === 403 || status === 405 ? 'slow' : 'server';
  throw new SourceError(`status ${status} for a transaction`, { retryAfterMs, kind });
}

// Ways to pay in another asset, found by a Horizon in its ledger's books and pools.

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

/** A Horizon may find no paths, or have old books, and be right about everything else, so that its
 *  failure here must not bar it. @throws LedgerUnavailable, or SourceError when it asks for
 *  a pause */
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

/** A request that Horizon calls bad will not succeed soon. */
const REFUSED_RETRY_MS = 60_000;

export function horizonServer(
  url: string,
  {
    label,
    passphrase,
    requester,
    monotonic,
  }: { label: string; passphrase: string; requester: Requester; monotonic: MonotonicClock },
): LedgerServer {
  const { headers, urlOf } = endpointOf(url);
  const accepted = { accept: 'application/hal+json, application/json', ...headers };
  return {
    label,
    hasHistories: true,
    connect: (spend, timeoutMs) =>
      createHorizonSource(
        async (path, query) => {
          await spend();
          const startedMs = monotonic.nowMs();
          const response = await requester.send({ url: urlOf(path, query), headers: accepted }, timeoutMs);
          if (response.status === 400) throw new LedgerUnavailable(`${label}: refused the request`, REFUSED_RETRY_MS);
          return toAnswer(response, monotonic.nowMs() - startedMs);
        },
        async (path, form) => {
          await spend();
          const asForm = { ...accepted, 'content-type': 'application/x-www-form-urlencoded' };
          const body = new URLSearchParams(form).toString();
          return requester.send({ url: urlOf(path), headers: asForm, body }, timeoutMs);
        },
        passphrase,
        label,
      ),
  };
}

/** Only a 429 may ask for a longer pause: a proxy's guess at the end of an outage must not
 *  prolong it. */
const LONGEST_PAUSE_MS = 60_000;

/** @param tookMs duration of the request. @throws SourceError for an answer that no working
 *  Horizon gives */
function toAnswer(response: Response, tookMs: number): Answer {
  const { status, body, retryAfterMs, latestLedger } = response;
  // A proxy's 404 or 200 may be HTML: only JSON counts as Horizon's answer.
  if (isObject(body)) {
    if (status === 200) return { status, body, latestLedger, tookMs };
    if (status === 404 || status === 410) return { status, body: null, latestLedger };
  }
  const pauseMs = retryAfterMs !== null && status !== 429 ? Math.min(retryAfterMs, LONGEST_PAUSE_MS) : retryAfterMs;
  throw new SourceError(`status ${status}${isObject(body) ? '' : ' without JSON'}`, {
    retryAfterMs: pauseMs,
    kind: status === 504 ? 'slow' : 'server',
  });
}
