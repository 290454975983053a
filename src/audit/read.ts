/** Reads one page of an account's history and adds it to the books: effects with the operations
 *  that they belong to, or fees. What a page holds is forgotten with it, so that an audit takes the
 *  same memory however much happened. */

import type { Network } from '../../contracts/networks.js';
import { parseAmount } from '../domain/amount.js';
import { type Asset, assetName, assetOf } from '../domain/asset.js';
import {
  type Amount,
  type BalanceEffect,
  type BookRow,
  type Books,
  foldFee,
  foldOperation,
  mayPay,
  type OperationFacts,
  type Sums,
} from '../domain/books.js';
import { isWatched, type LedgerClose } from '../domain/terms.js';
import type { Clock } from '../kit/clock.js';
import {
  type AccountEffect,
  type AccountHistory,
  type Credit,
  type LedgerRecord,
  type LedgerSession,
  LedgerUnavailable,
  ledgerOfCursor,
} from '../ledger/index.js';
import type { OwnedWallet, PaymentStore, Recorder } from '../payments/index.js';
import { type ParkedRecordStore, readRecords, type WalletDoc } from '../watching/index.js';
import type { StoredAmount, StoredRow, StoredSums } from './audit-store.js';
import { ListFailed } from './plan.js';

// Books and balances as they are stored: stroops in decimal text.

export const namedAsset = ({ code, issuer }: Asset) => ({ assetCode: code, assetIssuer: issuer });

export const storeAmounts = (amounts: readonly Amount[]): StoredAmount[] =>
  amounts.map(({ asset, stroops }) => ({ ...namedAsset(asset), stroops: `${stroops}` }));

export const readAmounts = (stored: readonly StoredAmount[]): Amount[] =>
  stored.map((amount) => ({ asset: assetOf(amount), stroops: BigInt(amount.stroops) }));

export const storeBooks = (books: Books): StoredSums[] =>
  [...books.values()].map(({ asset, sums }) => ({ ...namedAsset(asset), ...storeSums(sums) }));

export const readBooks = (stored: readonly StoredSums[]): Books =>
  new Map(
    stored.map(({ received, sent, fees, traded, other, ...rest }) => {
      const asset = assetOf(rest);
      const texts = { received, sent, fees, traded, other };
      const sums = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, BigInt(text)]));
      return [assetName(asset), { asset, sums: sums as unknown as Sums }];
    }),
  );

export const storeRows = (rows: readonly BookRow[]): StoredRow[] =>
  rows.map(({ asset, opening, closing, computed, difference, ...sums }) => ({
    ...namedAsset(asset),
    ...storeSums(sums),
    ...{ opening: `${opening}`, closing: `${closing}`, computed: `${computed}`, difference: `${difference}` },
  }));

const storeSums = ({ received, sent, fees, traded, other }: Sums) => ({
  ...{ received: `${received}`, sent: `${sent}`, fees: `${fees}` },
  ...{ traded: `${traded}`, other: `${other}` },
});

/** The result of an audit. */
export const closingOf = (rows: readonly StoredRow[]): Amount[] =>
  rows.map((row) => ({ asset: assetOf(row), stroops: BigInt(row.closing) }));

// Heals: credits of the ledger that should be payments and are none are recorded the ordinary way.

export interface HealDeps {
  parkedRecords: Pick<ParkedRecordStore, 'park' | 'openOf' | 'openIn' | 'toIssuerIn'>;
  recorder: Pick<Recorder, 'record'>;
  /** Called when payments were stored. */
  eventsStored: () => void;
  /** Whether a payment of this size and age would have been removed again. */
  isRemoved: (credit: Pick<Credit, 'amount' | 'closedAt'>) => boolean;
  clock: Clock;
}

/** @returns what these operations paid to the wallet while it watched; what may have paid it and
 *  cannot be recorded is parked
 *  @throws LedgerUnavailable */
export async function creditsIn(
  { parkedRecords, isRemoved, clock }: HealDeps,
  wallet: WalletDoc,
  session: Pick<LedgerSession, 'complete'>,
  records: readonly LedgerRecord[],
): Promise<Credit[]> {
  if (records.length === 0) return [];
  const { network, address, windows } = wallet;
  const isOurs = async () => new Set([address]);
  const { credits, parked } = await readRecords({ network, session, clock, isOurs, historyOf: address }, records);
  await parkedRecords.park(parked);
  return credits.filter((credit) => credit.receiver === address && isWatched(windows, credit) && !isRemoved(credit));
}

export async function heal(
  { recorder, eventsStored }: HealDeps,
  { network, wallet }: { network: Network; wallet: WalletDoc },
  credits: readonly Credit[],
): Promise<void> {
  const stored = await recorder.record(network, { credits, only: wallet }, null);
  if (stored.length > 0) eventsStored();
}

const PAGE_LIMIT = 200;
/** Page size when each operation takes a request of its own. */
const ONE_BY_ONE_LIMIT = 10;
/** More effects than one operation can have. */
const MOST_OF_OPERATION = 20_000;
/** Up to this many operations are requested one by one. */
const FEW = 3;

export interface Range {
  /** Not included; what lies before is added to `before`. */
  fromLedger: number;
  toLedger: number;
  before: Books;
  books: Books;
}

/** The effects of one operation on the account. */
interface Group {
  id: string;
  ledger: number;
  closedAt: Date;
  effects: AccountEffect[];
}

export interface ListRead {
  /** Where the next page begins: behind the last item. */
  cursor: string;
  /** `more` while the page was full, `beyond` once it shows what came after the range; else the
   *  page says no more than that it has nothing more. */
  end: 'more' | 'beyond' | 'unknown';
  /** The newest ledger of its items, which the server that gave them certainly had; 0 when there
   *  are none. */
  shownLedger: number;
}

export interface EffectsRead extends ListRead {
  /** The oldest effect of all that were read; null when there was none. */
  first: AccountEffect | null;
  unknownKind: string | null;
  /** Every effect of the page lies before the range. */
  isBefore: boolean;
  /** Records of operations that may have paid the account and have no payment, or not all of it. */
  unpaid: LedgerRecord[];
  /** Every operation that credited the account and has no payment, or not all of it, whatever
   *  it was. */
  credited: Pick<Group, 'id' | 'ledger'>[];
  /** How many of them no answer shows: they may be payments. */
  unread: number;
  /** It moved an asset of the account's own, of which it has no balance. */
  isIssuer: boolean;
}

interface ReadDeps {
  history: AccountHistory;
  session: Pick<LedgerSession, 'accountPayments'>;
  payments: Pick<PaymentStore, 'ofOperations'>;
  /** Lists of payments are too heavy for the server: operations are requested by id. */
  oneByOne: boolean;
  /** Whether the wallet should have a payment for a credit in this ledger. */
  shouldBePaid: (close: LedgerClose) => boolean;
}

/** @throws LedgerUnavailable */
export async function readEffects(
  deps: ReadDeps,
  wallet: OwnedWallet & { address: string },
  cursor: string,
  range: Range,
): Promise<EffectsRead> {
  const { history, payments } = deps;
  const { address } = wallet;
  const limit = deps.oneByOne ? ONE_BY_ONE_LIMIT : PAGE_LIMIT;
  const page = await readWholeOperations(history, address, cursor, limit);
  const groups = toGroups(page.effects).filter(({ ledger }) => ledger <= range.toLedger);
  const paid = await paidGroups(payments, wallet, groups);
  const open = groups.filter((group) => needsOperation(group) && !paid.has(group.id));
  const found = await factsOf(deps, address, open);
  const credited = open.filter((group) => isCredited(group) && deps.shouldBePaid(group));
  const unpaid: LedgerRecord[] = [];
  for (const group of groups) {
    const facts = found.get(group.id) ?? null;
    // An operation that credits no watched wallet is no missed payment.
    if (facts?.record && mayPay(facts.operation?.type ?? '') && isCredited(group) && deps.shouldBePaid(group))
      unpaid.push(facts.record);
    const effects = group.effects.flatMap(({ effect }) => effect ?? []);
    foldOperation(
      group.ledger <= range.fromLedger ? range.before : range.books,
      address,
      effects,
      facts?.operation ?? null,
    );
  }
  return {
    ...listRead(page.effects, page.full, cursor, range),
    first: page.effects[0] ?? null,
    unknownKind:
      groups.flatMap(({ effects }) => effects).find(({ unknownKind }) => unknownKind !== null)?.unknownKind ?? null,
    isBefore: groups.length > 0 && groups.every(({ ledger }) => ledger <= range.fromLedger),
    unpaid,
    credited,
    unread: credited.filter(({ id }) => !found.get(id)?.operation).length,
    isIssuer: groups.some(({ effects }) => effects.some(({ effect }) => effect && movesAssetOf(address, effect))),
  };
}

function listRead(items: readonly { pagingToken: string }[], full: boolean, cursor: string, range: Range): ListRead {
  const last = items.at(-1)?.pagingToken;
  const shownLedger = last === undefined ? 0 : ledgerOfCursor(last);
  const end = shownLedger > range.toLedger ? 'beyond' : full ? 'more' : 'unknown';
  return { cursor: last ?? cursor, end, shownLedger };
}

/** Reads on until no operation is cut in two. */
async function readWholeOperations(history: AccountHistory, address: string, cursor: string, limit: number) {
  const effects: AccountEffect[] = [];
  for (let at = cursor; ; ) {
    const page = await history.effects(address, at, limit);
    effects.push(...page.items);
    const last = effects.at(-1);
    if (!page.full || !last) return { effects, full: false };
    const whole = effects.filter(({ operationId }) => operationId !== last.operationId);
    if (whole.length > 0) return { effects: whole, full: true };
    if (effects.length > MOST_OF_OPERATION)
      throw new LedgerUnavailable('more effects of one operation than there can be', 0);
    at = last.pagingToken;
  }
}

export function toGroups(effects: readonly AccountEffect[]): Group[] {
  const groups: Group[] = [];
  for (const effect of effects) {
    const last = groups.at(-1);
    if (last?.id === effect.operationId) last.effects.push(effect);
    else {
      const { operationId: id, closedAt } = effect;
      groups.push({ id, ledger: ledgerOfCursor(id), closedAt, effects: [effect] });
    }
  }
  return groups;
}

function movesAssetOf(issuer: string, effect: BalanceEffect): boolean {
  const { kind } = effect;
  const moved = kind === 'traded' ? [effect.bought, effect.sold] : kind === 'pooled' ? effect.changes : [effect];
  return moved.some(({ asset }) => asset.issuer === issuer);
}

const isCredited = ({ effects }: Group) => effects.some(({ effect }) => effect?.kind === 'credited');
/** Trades and pools say by themselves what they are. */
const needsOperation = ({ effects }: Group) =>
  effects.some(({ effect }) => effect?.kind === 'credited' || effect?.kind === 'debited');

/** Ids of groups that only credited the account, and all of it is stored as payments. */
async function paidGroups(
  payments: Pick<PaymentStore, 'ofOperations'>,
  wallet: OwnedWallet & { address: string },
  groups: readonly Group[],
): Promise<Set<string>> {
  const credited = groups.filter(
    (group) => isCredited(group) && group.effects.every(({ effect }) => effect?.kind !== 'debited'),
  );
  if (credited.length === 0) return new Set();
  const { address } = wallet;
  const stored = await payments.ofOperations(
    wallet,
    credited.map(({ id }) => id),
  );
  return new Set(
    credited
      .filter(({ id, closedAt, effects }) => {
        const came = new Map<string, bigint>();
        const add = (asset: Asset, amount: bigint) =>
          came.set(assetName(asset), (came.get(assetName(asset)) ?? 0n) + amount);
        for (const { effect } of effects) if (effect?.kind === 'credited') add(effect.asset, effect.stroops);
        for (const payment of stored) {
          // A network reuses its numbers after a reset.
          if (payment.operationId !== id || payment.ledgerClosedAt.getTime() !== closedAt.getTime()) continue;
          const asset = { code: payment.assetCode, issuer: payment.assetIssuer };
          // A burn by a contract call credits its issuer without an effect.
          if (asset.issuer !== address || came.has(assetName(asset))) add(asset, -parseAmount(payment.amount)!);
        }
        return [...came.values()].every((left) => left === 0n);
      })
      .map(({ id }) => id),
  );
}

interface Facts {
  operation: OperationFacts | null;
  /** An operation that may have paid the account. */
  record: LedgerRecord | null;
}

/** Lists hold the operations and payments of an account; the others are requested by id. */
async function factsOf(deps: ReadDeps, address: string, groups: readonly Group[]): Promise<Map<string, Facts>> {
  const { history, session } = deps;
  const isUnpaid = (group: Group) => isCredited(group) && deps.shouldBePaid(group);
  const listed =
    groups.length > FEW ? await listOperations(history, address, groups) : new Map<string, OperationFacts>();
  const unpaid = groups.filter((group) => isUnpaid(group) && mayPay(listed.get(group.id)?.type ?? 'payment'));
  const isListed = unpaid.length > FEW && !deps.oneByOne;
  const records = isListed ? await listPayments(session, address, unpaid) : new Map<string, LedgerRecord>();
  const found = new Map<string, Facts>();
  for (const group of groups) {
    const operation = listed.get(group.id) ?? null;
    const record = records.get(group.id) ?? null;
    const lacksRecord = record === null && unpaid.includes(group);
    if (operation && !lacksRecord) found.set(group.id, { operation, record });
    else found.set(group.id, (await history.operation(group.id)) ?? { operation, record });
  }
  return found;
}

async function listOperations(history: AccountHistory, address: string, groups: readonly Group[]) {
  const wanted = new Set(groups.map(({ id }) => id));
  const last = BigInt(groups.at(-1)!.id);
  const found = new Map<string, OperationFacts>();
  for (let cursor = `${BigInt(groups[0]!.id) - 1n}`; ; ) {
    const { items, full } = await history.operations(address, cursor, PAGE_LIMIT);
    for (const operation of items) if (wanted.has(operation.id)) found.set(operation.id, operation);
    const end = items.at(-1)?.id;
    if (!full || end === undefined || BigInt(end) >= last) return found;
    cursor = end;
  }
}

/** @throws ListFailed */
async function listPayments(session: ReadDeps['session'], address: string, groups: readonly Group[]) {
  const wanted = new Set(groups.map(({ id }) => id));
  const last = BigInt(groups.at(-1)!.id);
  const found = new Map<string, LedgerRecord>();
  for (let cursor = `${BigInt(groups[0]!.id) - 1n}`; ; ) {
    const page = await session.accountPayments(address, cursor, PAGE_LIMIT).catch(listFailed);
    for (const record of page.records) {
      const { pagingToken } = record.outcome;
      if (pagingToken !== null && wanted.has(pagingToken)) found.set(pagingToken, record);
    }
    if (!page.full || page.cursor === null || BigInt(page.cursor) >= last) return found;
    if (BigInt(page.cursor) <= BigInt(cursor)) throw new LedgerUnavailable('its page does not advance', 0);
    cursor = page.cursor;
  }
}

function listFailed(error: unknown): never {
  throw error instanceof LedgerUnavailable ? new ListFailed(error.reason, error.retryAfterMs) : error;
}

interface FeesRead extends ListRead {
  isBefore: boolean;
}

/** @throws LedgerUnavailable */
export async function readFees(
  history: AccountHistory,
  address: string,
  cursor: string,
  range: Range,
): Promise<FeesRead> {
  const { items, full } = await history.fees(address, cursor, PAGE_LIMIT);
  for (const { ledger, fee } of items) {
    if (fee === 0n || ledger > range.toLedger) continue;
    foldFee(ledger <= range.fromLedger ? range.before : range.books, fee);
  }
  return {
    ...listRead(items, full, cursor, range),
    isBefore: items.every(({ ledger }) => ledger <= range.fromLedger),
  };
}
