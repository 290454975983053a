/** One Horizon as a ledger source: its requests, and the schemas of its answers. An answer of
 *  another form is the server's error, never data. */
import { z } from 'zod';
import { ledgerOfCursor } from '../records.js';
import type { Response } from '../request.js';
import { findLedgerAtOrBefore } from '../session.js';
import {
  type Ledger,
  type LedgerSource,
  type LedgerTip,
  type Page,
  SourceError,
  UnsureHistory,
  WrongNetwork,
} from '../source.js';
import { hash, moment } from './fields.js';
import { createHorizonHistory, readHoldings } from './history.js';
import { createSupplements, type ParsedPage, parsePage, shownByNow } from './page.js';
import { createHorizonBytes, readWays, toSubmission } from './source.js';

/** The body is null for 404 (not found) and 410 (no longer kept). */
export type Answer =
  | { status: 200; body: Record<string, unknown>; latestLedger: number | null; tookMs: number }
  | { status: 404 | 410; body: null; latestLedger: number | null };
/** Sends a GET. @throws SourceError */
export type Get = (path: string, query?: Record<string, string>) => Promise<Answer>;
/** Sends a form. @throws SourceError */
type Post = (path: string, form: Record<string, string>) => Promise<Response>;

/** A server is behind the network if it is further behind its own stellar-core than this. */
const USUAL_CORE_LEAD = 2;

const sequence = z.int().positive();
const tipSchema = z.object({
  history_latest_ledger: sequence,
  history_latest_ledger_closed_at: moment.optional(),
  history_elder_ledger: sequence,
  core_latest_ledger: z.int().optional().catch(undefined),
  horizon_version: z.string().optional().catch(undefined),
  network_passphrase: z.string(),
  current_protocol_version: z.int().optional().catch(undefined),
});
const accountSchema = z.object({
  balances: z.array(z.object({ asset_code: z.string().optional(), asset_issuer: z.string().optional() })),
});
const signerSchema = z.object({ sequence: z.string().regex(/^\d{1,19}$/) });
const ledgerSchema = z.object({ sequence, hash, closed_at: moment });

interface Horizon {
  get: Get;
  post: Post;
  passphrase: string;
  label: string;
}

/** @param passphrase of the expected network. @param label of the server, for errors */
export function createHorizonSource(get: Get, post: Post, passphrase: string, label: string): LedgerSource {
  const supplements = createSupplements(get);
  const horizon: Horizon = { get, post, passphrase, label };

  return {
    tip: () => tip(horizon),
    ledger: (number) => ledger(horizon, number),
    ...createHorizonBytes(get),
    history: createHorizonHistory(get),
    waysTo: (due, from) => readWays(get, due, from),
    holdings: (address) => readHoldings(get, address),
    accountPayments: (address, cursor, limit, { lean, hasRecords } = {}) =>
      page(horizon, pathOf(address), { cursor, limit, lean }, hasRecords ? 'unsure' : 'no_records'),
    payments: (cursor, limit, { lean } = {}) => page(horizon, pathOf(null), { cursor, limit, lean }, 'no_answer'),
    quietCheck: quietCheck(horizon),

    complete: supplements.complete,
    transactionRecords: supplements.transactionRecords,
    ledgerAtOrBefore: ledgerAtOrBefore(horizon),
    account: account(horizon),
    sequenceOf: sequenceOf(horizon),
    submit: submit(horizon),
  };
}

async function tip(horizon: Horizon): Promise<LedgerTip> {
  const { get, passphrase, label } = horizon;
  const { body } = await get('/');
  const root = tipSchema.safeParse(body).data;
  if (!root) throw new SourceError('invalid root response');
  const latestLedger = root.history_latest_ledger;
  if (root.history_elder_ledger > latestLedger)
    throw new SourceError('invalid root response: its oldest ledger is newer than its newest');
  if (root.network_passphrase !== passphrase) throw new WrongNetwork(label, passphrase, root.network_passphrase);
  return {
    latestLedger,
    // Before 2.0 the root did not name the close time.
    latestClosedAt: root.history_latest_ledger_closed_at ?? (await existingLedger(horizon, latestLedger)).closedAt,
    oldestLedger: root.history_elder_ledger,
    passphrase,
    version: /^\d+\.\d+\.\d+/.exec(root.horizon_version ?? '')?.[0] ?? null,
    protocol: root.current_protocol_version ?? null,
    isBehind: (root.core_latest_ledger ?? 0) - latestLedger > USUAL_CORE_LEAD,
  };
}

async function ledger({ get }: Horizon, number: number): Promise<Ledger | 'gone' | null> {
  const { status, body } = await get(`/ledgers/${number}`);
  if (status === 410) return 'gone';
  if (status === 404) return null;
  const found = ledgerSchema.safeParse(body).data;
  if (found?.sequence !== number) throw new SourceError('invalid ledger response');
  return { sequence: number, hash: found.hash, closedAt: found.closed_at };
}

async function existingLedger(horizon: Horizon, number: number) {
  const found = await ledger(horizon, number);
  if (found === null || found === 'gone') throw new SourceError('a ledger that it should have is missing');
  return found;
}

/** @param notFound meaning of 404. @throws UnsureHistory */
async function page(
  { get }: Horizon,
  path: string,
  { cursor, limit, lean = false }: { cursor: string; limit: number; lean?: boolean | undefined },
  notFound: 'no_records' | 'unsure' | 'no_answer',
): Promise<Page> {
  const { status, body, latestLedger } = await get(path, {
    cursor,
    limit: `${limit}`,
    order: 'asc',
    ...(lean ? {} : { join: 'transactions' }),
  });
  const empty = { records: [], cursor: null, full: false, shownLedger: latestLedger, among: null };
  if (status === 410) return { ...empty, gone: true };
  if (status === 404 && notFound === 'unsure') throw new UnsureHistory();
  if (status === 404 && notFound === 'no_records') return { ...empty, gone: false };
  const parsed = parsePage(body);
  if (!parsed) throw new SourceError('invalid page response');
  const records = eachOnce(cursor, parsed.records);
  if (!isAfter(cursor, { ...parsed, records })) throw new SourceError('a page that does not follow its cursor');
  const lastLedger = parsed.cursor === null ? null : ledgerOfCursor(parsed.cursor);
  const shownLedger = Math.max(lastLedger ?? 0, latestLedger ?? 0) || null;
  return { ...parsed, records, full: parsed.records.length >= limit, gone: false, shownLedger, among: null };
}

const pathOf = (address: string | null) => (address === null ? '/payments' : `/accounts/${address}/payments`);

const quietCheck =
  ({ get }: Horizon): LedgerSource['quietCheck'] =>
  async (address, cursor, { hasRecords = false } = {}) => {
    const answer = await get(pathOf(address), { cursor: 'now', limit: '1', order: 'desc' });
    const { status, latestLedger } = answer;
    if (status === 404 && hasRecords) throw new UnsureHistory();
    // Horizon answers 404 for an account that its history does not know.
    if (status !== 200) return { isQuiet: true, shownLedger: latestLedger };
    const newest = parsePage(answer.body);
    if (!newest) throw new SourceError('invalid page response');
    const isUnreadable = newest.cursor === null && newest.records.length > 0;
    const isQuiet = !isUnreadable && (newest.cursor === null || BigInt(newest.cursor) <= BigInt(cursor));
    return { isQuiet, shownLedger: latestLedger ?? shownByNow(answer) };
  };

const ledgerAtOrBefore =
  (horizon: Horizon): LedgerSource['ledgerAtOrBefore'] =>
  async (time) => {
    const { latestLedger, latestClosedAt, oldestLedger } = await tip(horizon);
    const latest = { sequence: latestLedger, closedAt: latestClosedAt };
    return findLedgerAtOrBefore(time, oldestLedger, latest, async (number) => {
      const found = await ledger(horizon, number);
      if (found === null)
        throw new SourceError('a ledger between its oldest and its newest is missing', { kind: 'missing' });
      return found === 'gone' ? null : found;
    });
  };

const account =
  ({ get }: Horizon): LedgerSource['account'] =>
  async (address, asset) => {
    const { status, body } = await get(`/accounts/${address}`);
    if (status !== 200) return null;
    const account = accountSchema.safeParse(body).data;
    if (!account) throw new SourceError('invalid account response');
    const trusts = account.balances.some(
      ({ asset_code: code, asset_issuer: issuer }) => asset !== null && code === asset.code && issuer === asset.issuer,
    );
    return { trusts };
  };

const sequenceOf =
  ({ get }: Horizon): LedgerSource['sequenceOf'] =>
  async (address) => {
    const { status, body } = await get(`/accounts/${address}`);
    if (status !== 200) return null;
    const account = signerSchema.safeParse(body).data;
    if (!account) throw new SourceError('invalid account response');
    return account.sequence;
  };

const submit =
  ({ post }: Horizon): LedgerSource['submit'] =>
  async (envelope) => {
    const response = await post('/transactions', { tx: envelope }).catch((error: unknown) => {
      // It may have been accepted.
      if (error instanceof SourceError && error.kind === 'slow') return null;
      throw error;
    });
    return response === null ? { state: 'pending' } : toSubmission(response);
  };

/** Drops duplicates and known records, which are those up to the cursor, unless no other record
 *  with a token is left. */
function eachOnce(cursor: string, records: ParsedPage['records']): ParsedPage['records'] {
  const known = new Set<string>();
  const fresh = records.filter(({ outcome: { pagingToken } }) => {
    if (pagingToken === null) return true;
    const isKnown = known.has(pagingToken) || BigInt(pagingToken) <= BigInt(cursor);
    known.add(pagingToken);
    return !isKnown;
  });
  return fresh.some(({ outcome }) => outcome.pagingToken !== null) ? fresh : records;
}

/** A cached or reversed page would move the cursor past unread records. */
function isAfter(cursor: string, { records, cursor: end }: ParsedPage): boolean {
  const tokens = records.flatMap(({ outcome }) => (outcome.pagingToken === null ? [] : [BigInt(outcome.pagingToken)]));
  if (tokens.length === 0 && end !== null) tokens.push(BigInt(end));
  return tokens.every((token, index) => (index === 0 ? token > BigInt(cursor) : token >= tokens[index - 1]!));
}
