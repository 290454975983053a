/** An account's history on one Horizon: account record, effects, operations and transactions, each
 *  checked field by field. */
import { z } from 'zod';
import { isAccountAddress } from '../../../contracts/address.js';
import { type Asset, NATIVE } from '../../domain/asset.js';
import type { Amount, BalanceEffect } from '../../domain/books.js';
import { accountOf, muxedAddressOf } from '../../domain/strkey.js';
import type { AccountEffect, AccountFee, AccountHistory, AccountOperation, HistoryPage, ListEnd } from '../history.js';
import { contractOf, isAfter, isOtherHolder, ledgerOf, placeOf } from '../records.js';
import { type Holdings, LedgerUnavailable, SourceError } from '../source.js';
import type { Answer, Get } from './api.js';
import { account, amount, asset, hash, moment, toid, uint64 } from './fields.js';
import { shownByNow } from './page.js';
import { parseRecord } from './record.js';

const ledgerNumber = z.int().nonnegative();
const holdingsSchema = z.object({
  last_modified_ledger: ledgerNumber,
  balances: z.array(
    z.looseObject({
      asset_type: z.string(),
      balance: amount,
      last_modified_ledger: ledgerNumber.optional(),
      is_authorized: z.boolean().default(true),
    }),
  ),
});
const pageSchema = z.object({ _embedded: z.object({ records: z.array(z.unknown()) }) });
const effectSchema = z.looseObject({
  paging_token: z.string().regex(/^[1-9]\d{0,18}-\d{1,10}$/),
  type: z.string(),
  created_at: moment,
});
const operationSchema = z.looseObject({
  id: toid,
  type: z.string(),
  source_account: account,
  transaction_hash: hash.optional(),
});
const changeSchema = z.looseObject({
  type: z.string(),
  from: z.string().optional(),
  to: z.string().optional(),
  amount,
  destination_muxed_id: uint64.optional().catch(undefined),
});
const feeAmount = z
  .union([z.string(), z.int().nonnegative().transform(String)])
  .pipe(z.string().regex(/^\d{1,19}$/))
  .transform(BigInt);
const transactionSchema = z.looseObject({
  paging_token: z.string().regex(/^[1-9]\d{0,18}$/),
  source_account: account,
  // Absent before Horizon 1.0, when a transaction's source paid its fee.
  fee_account: account.optional(),
  fee_charged: feeAmount,
  created_at: moment,
  hash: hash.optional(),
  memo: z.string().optional(),
});

/** Kinds of effects that move no balance. */
const MOVES_NOTHING =
  /^(account_removed|account_(thresholds|home_domain|flags|inflation_destination)_updated|account_sponsorship_.+|signer_.+|trustline_.+|offer_.+|data_.+|sequence_bumped|claimable_balance_.+|liquidity_pool_(trade|created|removed|revoked)|contract_(credited|debited))$/;

export function createHorizonHistory(get: Get): AccountHistory {
  return {
    effectsEnd: (address) => endOf(get, `/accounts/${address}/effects`, {}, readEffect),
    feesEnd: (address) =>
      endOf(get, `/accounts/${address}/transactions`, { include_failed: 'true' }, (raw) => readFee(raw, address)),

    effects: (address, cursor, limit) =>
      list(get, `/accounts/${address}/effects`, { cursor, limit: `${limit}` }, readEffect, ({ pagingToken }) =>
        placeOf(pagingToken),
      ),

    operations: (address, cursor, limit) =>
      list(get, `/accounts/${address}/operations`, { cursor, limit: `${limit}` }, readOperation, ({ id }) => [
        BigInt(id),
        1n,
      ]),

    async operation(id) {
      const { status, body: known } = await get(`/operations/${id}`, { join: 'transactions' });
      if (status === 410) return null;
      const body = known ?? (await lookAgain(get, id));
      if (body === null) return null;
      const operation = readOperation(body);
      if (operation.id !== id) throw new SourceError('another operation than was asked for');
      return { operation, record: { raw: body, outcome: parseRecord(body) } };
    },

    fees: (address, cursor, limit) =>
      list(
        get,
        `/accounts/${address}/transactions`,
        { cursor, limit: `${limit}`, include_failed: 'true' },
        (raw) => readFee(raw, address),
        ({ pagingToken }) => [BigInt(pagingToken), 1n],
      ),
  };
}

async function list<Item>(
  get: Get,
  path: string,
  query: Record<string, string>,
  read: (raw: unknown) => Item,
  placed: (item: Item) => readonly [bigint, bigint],
): Promise<HistoryPage<Item>> {
  const answer = await get(path, { ...query, order: 'asc' });
  if (answer.status === 404) return { items: [], full: false, isUnknown: true };
  const page = pageSchema.safeParse(answer.body).data;
  if (!page) throw new SourceError('invalid page response');
  const items = page._embedded.records.map(read);
  let last = placeOf(query.cursor ?? '');
  for (const item of items) {
    const place = placed(item);
    if (!isAfter(place, last)) throw new SourceError('a page that does not follow its cursor');
    last = place;
  }
  return { items, full: items.length >= Number(query.limit) };
}

/** @param placed reads an item's paging token */
async function endOf(
  get: Get,
  path: string,
  query: Record<string, string>,
  placed: (raw: unknown) => { pagingToken: string },
): Promise<ListEnd> {
  const answer = await get(path, { ...query, cursor: 'now', limit: '1', order: 'desc' });
  const { latestLedger } = answer;
  if (answer.status !== 200) return { newest: null, shownLedger: latestLedger, isUnknown: true };
  const page = pageSchema.safeParse(answer.body).data;
  if (!page) throw new SourceError('invalid page response');
  const [newest] = page._embedded.records.map(placed);
  return {
    newest: newest?.pagingToken ?? null,
    shownLedger: latestLedger ?? shownByNow(answer),
    isUnknown: false,
  };
}

/** Checks whether the server continues after an unknown operation. @returns the operation if it is
 *  found after all, because several servers may share one URL; null when the server has a later one
 *  only. @throws LedgerUnavailable while it has nothing that recent */
async function lookAgain(get: Get, id: string): Promise<unknown> {
  const query = {
    cursor: `${BigInt(id) - 1n}`,
    limit: '1',
    order: 'asc',
    join: 'transactions',
    include_failed: 'true',
  };
  const { body } = await get('/operations', query);
  const page = pageSchema.safeParse(body).data;
  if (!page) throw new SourceError('invalid page response');
  const [next] = page._embedded.records;
  if (next === undefined) throw new LedgerUnavailable(`it does not show operation ${id} yet`, 0);
  return readOperation(next).id === id ? next : null;
}

/** @throws SourceError */
export const readHoldings = async (get: Get, address: string): Promise<Holdings> =>
  toHoldings(await get(`/accounts/${address}`));

function toHoldings({ status, body, latestLedger }: Answer): Holdings {
  if (status !== 200) return { balances: [], changedLedger: 0, latestLedger };
  const found = holdingsSchema.safeParse(body).data;
  if (!found) throw new SourceError('invalid account response');
  // Pool balances are shares, not assets.
  const held = found.balances.filter(({ asset_type: type }) => type !== 'liquidity_pool_shares');
  const balances = held.map((raw) => ({ asset: assetIn(raw), stroops: raw.balance, authorized: raw.is_authorized }));
  const changes = [found, ...held].map(({ last_modified_ledger: ledger }) => ledger ?? 0);
  return { balances, changedLedger: Math.max(...changes), latestLedger };
}

function readEffect(raw: unknown): AccountEffect {
  const found = effectSchema.safeParse(raw).data;
  if (!found) throw new SourceError('invalid effect');
  const { paging_token: pagingToken, type, created_at: closedAt } = found;
  const operationId = pagingToken.split('-')[0]!;
  const isCreation = type === 'account_created';
  const effect = readChange(type, found);
  const isKnown = effect !== null || MOVES_NOTHING.test(type);
  return { operationId, pagingToken, closedAt, isCreation, effect, unknownKind: isKnown ? null : type.slice(0, 60) };
}

function readChange(type: string, fields: Record<string, unknown>): BalanceEffect | null {
  switch (type) {
    case 'account_created':
      return { kind: 'credited', asset: NATIVE, stroops: amountIn(fields.starting_balance) };
    case 'account_credited':
      return { kind: 'credited', asset: assetIn(fields), stroops: amountIn(fields.amount) };
    case 'account_debited':
      return { kind: 'debited', asset: assetIn(fields), stroops: amountIn(fields.amount) };
    case 'trade':
      return { kind: 'traded', bought: tradedIn(fields, 'bought_'), sold: tradedIn(fields, 'sold_') };
    case 'liquidity_pool_deposited':
      return { kind: 'pooled', changes: reservesIn(fields.reserves_deposited, -1n) };
    case 'liquidity_pool_withdrew':
      return { kind: 'pooled', changes: reservesIn(fields.reserves_received, 1n) };
    default:
      return null;
  }
}

function amountIn(value: unknown): bigint {
  const { data } = amount.safeParse(value);
  if (data === undefined) throw new SourceError('an effect without an amount');
  return data;
}

function assetIn(fields: Record<string, unknown>): Asset {
  const { data } = asset.safeParse(fields);
  if (!data) throw new SourceError('a balance or effect without an asset');
  return data;
}

function tradedIn(fields: Record<string, unknown>, prefix: 'bought_' | 'sold_'): Amount {
  const own = Object.fromEntries(
    ['asset_type', 'asset_code', 'asset_issuer'].map((name) => [name, fields[prefix + name]]),
  );
  return { asset: assetIn(own), stroops: amountIn(fields[`${prefix}amount`]) };
}

const reserveSchema = z.array(z.object({ asset: z.string(), amount }));

function reservesIn(value: unknown, sign: 1n | -1n): Amount[] {
  const { data } = reserveSchema.safeParse(value);
  if (!data) throw new SourceError('a pool effect without its reserves');
  return data.map((reserve) => ({ asset: assetNamed(reserve.asset), stroops: sign * reserve.amount }));
}

/** Reads `native` or `CODE:ISSUER`. */
function assetNamed(name: string): Asset {
  if (name === 'native') return NATIVE;
  const [code = '', issuer = ''] = name.split(':');
  if (!/^[A-Za-z0-9]{1,12}$/.test(code) || !isAccountAddress(issuer)) throw new SourceError('a pool of no asset');
  return { code, issuer };
}

function readOperation(raw: unknown): AccountOperation {
  const { data } = operationSchema.safeParse(raw);
  if (!data) throw new SourceError('invalid operation');
  const changes = Array.isArray(data.asset_balance_changes) ? data.asset_balance_changes : [];
  const contractChanges = changes.flatMap((change, index) => readContractChange(change, index) ?? []);
  const named = PARTIES.map((name) => data[name]).filter((value) => typeof value === 'string');
  const ofContract = contractChanges.flatMap(({ from, to }) => [from, to].filter((party) => party !== null));
  return {
    id: data.id.toString(),
    type: data.type,
    source: data.source_account,
    transactionHash: data.transaction_hash ?? null,
    parties: [...named, ...ofContract, data.source_account],
    contractChanges,
  };
}

/** Fields of an operation that name a payer or payee. */
const PARTIES = ['from', 'to', 'funder', 'account', 'into'] as const;

/** Null for an asset that only a contract can hold, which concerns no account. */
function readContractChange(raw: unknown, changeIndex: number): AccountOperation['contractChanges'][number] | null {
  const { data } = changeSchema.safeParse(raw);
  const what = asset.safeParse(raw).data;
  if (!data || !what) return null;
  const { type } = data;
  const kind = type === 'transfer' || type === 'clawback' ? type : 'other';
  const party = (text: string | undefined) =>
    text === undefined ? null : (accountOf(text) ?? (isOtherHolder(text) ? text : null));
  // The asset's contract names a muxed contract apart from its id.
  const [to, id] = [party(data.to), data.destination_muxed_id];
  return {
    kind,
    changeIndex,
    from: party(data.from),
    to: to !== null && id !== undefined && contractOf(to) === to ? muxedAddressOf(to, id) : to,
    amount: { asset: what, stroops: data.amount },
  };
}

function readFee(raw: unknown, address: string): AccountFee {
  const { data } = transactionSchema.safeParse(raw);
  if (!data) throw new SourceError('invalid transaction');
  const { paging_token: pagingToken, source_account: source, fee_account: payer = source, fee_charged: charged } = data;
  return {
    ledger: ledgerOf(BigInt(pagingToken)),
    pagingToken,
    closedAt: data.created_at,
    transactionHash: data.hash ?? null,
    memo: data.memo ?? null,
    fee: payer === address ? charged : 0n,
  };
}
