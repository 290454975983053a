/** The questions that are put to Horizon and what its answers must look like. An answer that looks otherwise is a fault of the base, never data. */
import { z } from 'zod';
import type { Asset } from '../../domain/asset.js';
import { BaseFault } from './base.js';
import { hash, isObject, moment } from './fields.js';
import { findLedgerAtOrBefore } from './ledger-search.js';
import { type ParsedPage, parsePage } from './page.js';
import { WrongNetwork } from './unavailable.js';

export interface Root {
  latestLedger: number;
  latestClosedAt: Date;
  /** The oldest ledger that is kept. */
  elderLedger: number;
  passphrase: string;
}

export interface Ledger {
  sequence: number;
  hash: string;
  closedAt: Date;
}

/** Records after the cursor, oldest first. */
export interface Page extends ParsedPage {
  /** As many records as were asked for: there may be more. */
  full: boolean;
  /** Horizon answered 410: it no longer keeps what lies behind the cursor. */
  gone: boolean;
}

/** What an account on the ledger can be paid in, besides the native asset. */
export interface LedgerAccount {
  trusted: Asset[];
}

export interface HorizonVerbs {
  root(): Promise<Root>;
  /** Null for an account that is not on the ledger. */
  account(address: string): Promise<LedgerAccount | null>;
  /** An account that Horizon's history has never seen has an empty page. @param cursor exclusive, a number. @param limit at most 200. */
  accountPayments(address: string, cursor: string, limit: number): Promise<Page>;
  /** Of the whole network. */
  payments(cursor: string, limit: number): Promise<Page>;
  /** `gone` before the oldest ledger that is kept; null for one that Horizon does not know (yet). */
  ledger(sequence: number): Promise<Ledger | 'gone' | null>;
  /** Raw, for `parseRecord`; null when Horizon does not know it. */
  transaction(hash: string): Promise<unknown>;
  /** Raw, for `parseRecord`; null when Horizon does not know the operation. */
  operationEffects(operationId: string): Promise<unknown>;
  /** The newest ledger that closed at or before the time; null when Horizon keeps none that old. */
  ledgerAtOrBefore(time: Date): Promise<Pick<Ledger, 'sequence' | 'closedAt'> | null>;
}

/** Body null for 404 (nothing there) and 410 (no longer kept). */
export type Answer = { status: 200; body: Record<string, unknown> } | { status: 404 | 410; body: null };
export type Ask = (path: string, query?: Record<string, string>) => Promise<Answer>;

const sequence = z.int().positive();
const rootSchema = z.object({
  history_latest_ledger: sequence,
  history_latest_ledger_closed_at: moment.optional(),
  history_elder_ledger: sequence,
  network_passphrase: z.string(),
});
const accountSchema = z.object({
  balances: z.array(z.object({ asset_code: z.string().optional(), asset_issuer: z.string().optional() })),
});
const ledgerSchema = z.object({ sequence, hash, closed_at: moment });

/** @param ask one base. @param passphrase of the network that it should serve. @param label of the base. */
export function createVerbs(ask: Ask, passphrase: string, label: string): HorizonVerbs {
  const verbs: HorizonVerbs = {
    async root() {
      const { body } = await ask('/');
      const root = rootSchema.safeParse(body).data;
      if (!root) throw new BaseFault('its root is none');
      if (root.history_elder_ledger > root.history_latest_ledger) throw new BaseFault('its root contradicts itself');
      if (root.network_passphrase !== passphrase) throw new WrongNetwork(label, passphrase, root.network_passphrase);
      const latestClosedAt = root.history_latest_ledger_closed_at ?? (await closeTime(root.history_latest_ledger));
      return {
        latestLedger: root.history_latest_ledger,
        latestClosedAt,
        elderLedger: root.history_elder_ledger,
        passphrase,
      };
    },

    async account(address) {
      const { status, body } = await ask(`/accounts/${address}`);
      if (status !== 200) return null;
      const account = accountSchema.safeParse(body).data;
      if (!account) throw new BaseFault('an account that is none');
      return {
        trusted: account.balances.flatMap(({ asset_code: code, asset_issuer: issuer }) =>
          code && issuer ? [{ code, issuer }] : [],
        ),
      };
    },

    accountPayments: (address, cursor, limit) => page(`/accounts/${address}/payments`, cursor, limit, true),
    payments: (cursor, limit) => page('/payments', cursor, limit, false),

    async ledger(number) {
      const { status, body } = await ask(`/ledgers/${number}`);
      if (status === 410) return 'gone';
      if (status === 404) return null;
      const ledger = ledgerSchema.safeParse(body).data;
      if (ledger?.sequence !== number) throw new BaseFault('a ledger that is none');
      return { sequence: number, hash: ledger.hash, closedAt: ledger.closed_at };
    },

    transaction: async (id) => (await ask(`/transactions/${id}`)).body,
    operationEffects: async (id) => (await ask(`/operations/${id}/effects`, { order: 'asc', limit: '200' })).body,

    async ledgerAtOrBefore(time) {
      const root = await verbs.root();
      const latest = { sequence: root.latestLedger, closedAt: root.latestClosedAt };
      return findLedgerAtOrBefore(time, root.elderLedger, latest, async (number) => {
        const ledger = await verbs.ledger(number);
        if (ledger === null) throw new BaseFault('a ledger between its oldest and its newest is missing');
        return ledger === 'gone' ? null : ledger;
      });
    },
  };

  /** Of the newest ledger, for a Horizon before 2.0, whose root does not tell. */
  async function closeTime(latestLedger: number): Promise<Date> {
    const ledger = await verbs.ledger(latestLedger);
    if (ledger === null || ledger === 'gone') throw new BaseFault('its newest ledger is missing');
    return ledger.closedAt;
  }

  async function page(path: string, cursor: string, limit: number, mayBeMissing: boolean): Promise<Page> {
    const { status, body } = await ask(path, { cursor, limit: `${limit}`, order: 'asc', join: 'transactions' });
    if (status === 410) return { records: [], cursor: null, full: false, gone: true };
    if (status === 404 && mayBeMissing) return { records: [], cursor: null, full: false, gone: false };
    const parsed = parsePage(body);
    if (!parsed) throw new BaseFault('a page that is none');
    if (!isAfter(cursor, parsed)) throw new BaseFault('a page that does not follow its cursor');
    return { ...parsed, full: parsed.records.length >= limit, gone: false };
  }

  return verbs;
}

/** A cached or reversed page would move a position to where nothing was read. */
function isAfter(cursor: string, { records, cursor: end }: ParsedPage): boolean {
  const tokens = records.flatMap(({ outcome }) => (outcome.pagingToken === null ? [] : [BigInt(outcome.pagingToken)]));
  if (tokens.length === 0 && end !== null) tokens.push(BigInt(end));
  return tokens.every((token, index) => (index === 0 ? token > BigInt(cursor) : token >= tokens[index - 1]!));
}

/** Only a 429 may ask for more: a proxy's guess at the end of an outage must not prolong it. */
const LONGEST_PAUSE_MS = 60_000;

/** What a status and body mean. @throws BaseFault for what no Horizon that works would answer. */
export function toAnswer(status: number, body: unknown, retryAfterMs: number | null): Answer {
  // A proxy's 404 or 200 may be HTML: only JSON counts as Horizon's word.
  if (isObject(body)) {
    if (status === 200) return { status, body };
    if (status === 404 || status === 410) return { status, body: null };
  }
  const pauseMs = retryAfterMs !== null && status !== 429 ? Math.min(retryAfterMs, LONGEST_PAUSE_MS) : retryAfterMs;
  throw new BaseFault(`status ${status}${isObject(body) ? '' : ' without JSON'}`, pauseMs);
}
