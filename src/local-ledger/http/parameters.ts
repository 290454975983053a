/** Parameters of path and query, and Horizon's errors about them. */
import { StrKey } from '@stellar/stellar-sdk/base';
import type { Request } from 'express';
import { assetType, fromCanonicalAsset, type LedgerAsset } from '../asset.js';
import type { ClaimableBalanceFilter, OfferFilter } from '../state.js';
import { fromAmount, MAX_INT64 } from '../stroops.js';
import { badParameter } from './problem.js';

export interface PageQuery {
  /** As sent; empty starts at the first end of `order`, `now` after the newest ledger. */
  cursor: string;
  order: 'asc' | 'desc';
  limit: number;
}

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 10;

export function parameter(req: Request, name: string): string {
  const value = req.query[name];
  return typeof value === 'string' ? value : Array.isArray(value) && typeof value[0] === 'string' ? value[0] : '';
}

export function pageQuery(req: Request): PageQuery {
  const order = parameter(req, 'order') || 'asc';
  if (order !== 'asc' && order !== 'desc') throw badParameter('order', 'order: invalid value');
  const lastSeen = req.headers['last-event-id'];
  return {
    cursor: typeof lastSeen === 'string' && lastSeen !== '' ? lastSeen : parameter(req, 'cursor'),
    order,
    limit: limitOf(parameter(req, 'limit')),
  };
}

/** The limit of a list without a cursor. */
export const pageLimit = (req: Request, usual: number): number => limitOf(parameter(req, 'limit'), usual);

function limitOf(text: string, usual = DEFAULT_LIMIT): number {
  if (text === '') return usual;
  if (!/^[+-]?\d+$/.test(text)) throw badParameter('limit', 'unparseable value');
  const limit = Number(text);
  if (limit <= 0) throw badParameter('limit', 'invalid limit: non-positive value provided');
  if (limit > MAX_LIMIT) {
    throw badParameter('limit', `invalid limit: value provided that is over limit max of ${MAX_LIMIT}`);
  }
  return limit;
}

/** A TOID cursor; null for an empty one. */
export function toidCursor(text: string): bigint | null {
  if (text === '') return null;
  if (!/^[+-]?\d+$/.test(text)) throw badParameter('cursor', 'cursor: invalid value');
  const value = BigInt(text);
  if (value < 0n) throw badParameter('cursor', `the cursor ${value} is a negative number: `);
  if (value > MAX_INT64) throw badParameter('cursor', 'cursor: invalid value');
  return value;
}

/** An effect cursor, `operation-order`; an operation id alone means all of its effects, or none of
 *  them when going backwards. */
export function effectCursor(text: string, order: 'asc' | 'desc'): { operation: bigint; order: number } | null {
  if (text === '') return null;
  const [id = '', index] = text.split('-');
  if (id === '' || (index !== undefined && !/^\d+$/.test(index))) throw badParameter('cursor', 'cursor: invalid value');
  const operation = toidCursor(id)!;
  return { operation, order: index === undefined ? (order === 'asc' ? Number.MAX_SAFE_INTEGER : 0) : Number(index) };
}

export function joinsTransactions(req: Request): boolean {
  const join = parameter(req, 'join');
  if (join !== '' && join !== 'transactions') throw badParameter('join', 'Accepted values: transactions');
  return join === 'transactions';
}

export function includesFailed(req: Request): boolean {
  const value = parameter(req, 'include_failed');
  if (!['', 'true', 'false'].includes(value)) throw badParameter('include_failed', 'Filter should be true or false');
  return value === 'true';
}

export function accountId(req: Request): string {
  const id = String(req.params.account_id);
  if (StrKey.isValidEd25519PublicKey(id)) return id;
  throw badParameter('account_id', 'Account ID must start with `G` and contain 56 alphanum characters');
}

const BALANCE_ID = /^0{8}[0-9a-f]{64}$/;

/** The claimable balance's id in the path. */
export function balanceId(req: Request): string {
  const id = String(req.params.id);
  if (BALANCE_ID.test(id)) return id;
  throw badParameter('id', `${id} does not validate as claimableBalanceID`);
}

export interface BalanceCursor {
  ledger: number;
  id: string;
}

/** A cursor among claimable balances, `ledger-id`; null for an empty one. */
export function balanceCursor(text: string): BalanceCursor | null {
  if (text === '') return null;
  const [, ledger, id] = /^(\d{1,10})-([0-9a-f]+)$/.exec(text) ?? [];
  if (ledger === undefined)
    throw badParameter(
      'cursor',
      'The first part should be a number higher than 0 and the second part should be a valid claimable balance ID',
    );
  return { ledger: Number(ledger), id: id! };
}

export function claimableBalanceFilter(req: Request): ClaimableBalanceFilter {
  const filter: ClaimableBalanceFilter = {};
  for (const name of ['claimant', 'sponsor'] as const) {
    const account = optionalAccount(req, name);
    if (account !== null) filter[name] = account;
  }
  const text = parameter(req, 'asset');
  if (text === '') return filter;
  const asset = fromCanonicalAsset(text);
  if (asset === undefined) throw badParameter('asset', `${text} does not validate as asset`);
  return { ...filter, asset };
}

/** An asset in three parameters with a prefix; undefined if there are none. */
function assetAt(req: Request, prefix: string): LedgerAsset | undefined {
  const [type, code, issuer] = ['type', 'code', 'issuer'].map((part) => parameter(req, `${prefix}_asset_${part}`));
  if (type === '') return undefined;
  if (type === 'native') return null;
  const asset = fromCanonicalAsset(`${code}:${issuer}`);
  if (asset && assetType(asset) === type) return asset;
  throw badParameter(`${prefix}_asset_type`, 'the asset is not valid');
}

export function assetOf(req: Request, prefix: string): LedgerAsset {
  const asset = assetAt(req, prefix);
  if (asset === undefined) throw badParameter(`${prefix}_asset_type`, 'Missing required field');
  return asset;
}

/** The most assets in one request for paths. */
const MAX_PATH_ENDS = 15;

export function assetsParameter(req: Request, name: string): LedgerAsset[] {
  const names = parameter(req, name).split(',').filter(Boolean);
  if (names.length > MAX_PATH_ENDS) {
    throw badParameter(name, `list of assets exceeds maximum length of ${MAX_PATH_ENDS}`);
  }
  return names.map((text) => {
    const asset = fromCanonicalAsset(text);
    if (asset === undefined) throw badParameter(name, `${text} is not a valid asset`);
    return asset;
  });
}

export function amountParameter(req: Request, name: string): bigint {
  const amount = fromAmount(parameter(req, name));
  if (amount === null || amount <= 0n || amount > MAX_INT64) throw badParameter(name, 'Amount must be positive');
  return amount;
}

export function optionalAccount(req: Request, name: string): string | null {
  const account = parameter(req, name);
  if (account === '') return null;
  if (!StrKey.isValidEd25519PublicKey(account)) throw badParameter(name, `${account} does not validate as accountID`);
  return account;
}

export function offerFilter(req: Request): OfferFilter {
  const filter: OfferFilter = {};
  for (const name of ['seller', 'sponsor'] as const) {
    const account = optionalAccount(req, name);
    if (account !== null) filter[name] = account;
  }
  for (const name of ['selling', 'buying'] as const) {
    const [named] = assetsParameter(req, name);
    const asset = named === undefined ? assetAt(req, name) : named;
    if (asset !== undefined) filter[name] = asset;
  }
  return filter;
}

export function transactionHash(req: Request): string {
  const hash = String(req.params.tx_id);
  if (/^[0-9a-f]{64}$/.test(hash)) return hash;
  throw badParameter('tx_id', 'Transaction hash must be a hex-encoded, lowercase SHA-256 hash');
}

/** A positive integer in the path. */
export function integerId(req: Request, name: string): bigint {
  const text = String(req.params[name]);
  if (!/^\d+$/.test(text) || BigInt(text) > MAX_INT64) throw badParameter(name, 'invalid value');
  return BigInt(text);
}
