/** Reads a wallet's statement from the ledger: what it holds now, and everything that moved it
 *  since the statement begins. Nothing is stored. */

import type { Network } from '../../contracts/networks.js';
import type { Statement } from '../../contracts/statements.js';
import { formatSigned } from '../domain/amount.js';
import { NATIVE, sameAsset } from '../domain/asset.js';
import { cursorId } from '../domain/coverage.js';
import { rateLimited } from '../kit/api-error.js';
import { type CsvForm, csvWriter } from '../kit/csv.js';
import {
  type AccountEffect,
  type AccountFee,
  type AccountOperation,
  BudgetUsedUp,
  cursorAfter,
  type HistoryPage,
  type LedgerSession,
  LedgerUnavailable,
  ledgerOfCursor,
  type NetworkLedger,
  type ServerTip,
  transactionOf,
  UnfitServer,
  UnsureHistory,
} from '../ledger/index.js';
import type { PaymentDoc, PaymentStore } from '../payments/index.js';
import type { CursorStore, WalletDoc } from '../watching/index.js';
import { chooseServers } from './plan.js';
import { toGroups } from './read.js';
import {
  type Movement,
  movementsOf,
  type RecordedPayment,
  type StatementRead,
  type StatementRefusal,
  statementOf,
} from './statement-rules.js';

// A statement as the API shows it, and as a file.

export const toStatement = (walletId: string, from: Date, to: Date, rows: StatementRead): Statement => ({
  walletId,
  from: from.toISOString(),
  to: to.toISOString(),
  assets: rows.map(({ asset, opening, closing, movements }) => ({
    assetCode: asset.code,
    assetIssuer: asset.issuer,
    opening: formatSigned(opening),
    closing: formatSigned(closing),
    movements: movements.map(({ asset: _, stroops, at, changeIndex: __, value, ...movement }) => ({
      ...movement,
      at: at.toISOString(),
      amount: formatSigned(stroops),
      value: value && { ...value, rateAt: value.rateAt.toISOString() },
    })),
  })),
});

const COLUMNS = [
  'assetCode',
  'assetIssuer',
  'at',
  'ledger',
  'transactionHash',
  'operationId',
  'kind',
  'amount',
  'counterparty',
  'memo',
  'paymentId',
  'currency',
  'value',
  'rate',
] as const;

/** Each asset begins with a row `opening` and ends with a row `closing`. */
export function statementCsv({ from, to, assets }: Statement, form: CsvForm): string {
  const { header, line, time } = csvWriter(form);
  const rows: Partial<Record<(typeof COLUMNS)[number], string | number | null>>[] = assets.flatMap(
    ({ assetCode, assetIssuer, opening, closing, movements }) => [
      { assetCode, assetIssuer, at: time(from), kind: 'opening', amount: opening },
      ...movements.map(({ value, ...movement }) => ({
        ...{ assetCode, assetIssuer, ...movement, at: time(movement.at) },
        ...(value && { currency: value.currency, value: value.amount, rate: value.rate }),
      })),
      { assetCode, assetIssuer, at: time(to), kind: 'closing', amount: closing },
    ],
  );
  return [header(COLUMNS), ...rows.map((row) => line(COLUMNS.map((name) => row[name] ?? null)))].join('');
}

const PAGE_LIMIT = 200;
/** The most effects, operations and transactions that are read, each. */
const MOST_ITEMS = 10_000;

class TooLong extends Error {}

interface StatementDeps {
  ledgers: ReadonlyMap<Network, NetworkLedger>;
  payments: Pick<PaymentStore, 'ofOperations'>;
  cursors: Pick<CursorStore, 'byId'>;
}

export function createReadStatement(deps: StatementDeps) {
  const { ledgers } = deps;

  /** @throws ApiError `rate_limited` when the account's share of the request budget is used up */
  return async (wallet: WalletDoc, from: Date, to: Date | null): Promise<StatementRead | StatementRefusal> => {
    const session = ledgers.get(wallet.network)?.session({ purpose: 'tenants', by: wallet.accountId });
    if (!session) return 'away';
    try {
      return await read(deps, session, wallet, from, to);
    } catch (error) {
      if (error instanceof TooLong) return 'too_long';
      if (error instanceof BudgetUsedUp) throw rateLimited(error.retryAfterSeconds);
      if (error instanceof LedgerUnavailable || error instanceof UnfitServer) return 'away';
      throw error;
    }
  };
}

async function read(
  deps: StatementDeps,
  any: LedgerSession,
  wallet: WalletDoc,
  from: Date,
  to: Date | null,
): Promise<StatementRead | StatementRefusal> {
  const tips = await any.tips();
  for (let unsure: string[] = []; ; ) {
    const servers = chooseServers(
      tips.map((each) => (unsure.includes(each.server) ? { ...each, tip: null } : each)),
      0,
    );
    if (servers === 'none_configured') return 'no_histories';
    if (servers === 'away') return 'away';
    try {
      return await readFrom(deps, any, servers.movements, wallet, from, to);
    } catch (error) {
      if (!(error instanceof UnsureHistory)) throw error;
      unsure = [...unsure, servers.movements.server];
    }
  }
}

/** @throws UnsureHistory where the server does not know an account that it must know */
async function readFrom(
  { cursors, payments }: StatementDeps,
  any: LedgerSession,
  { server, tip }: Pick<ServerTip, 'server'> & { tip: NonNullable<ServerTip['tip']> },
  wallet: WalletDoc,
  from: Date,
  to: Date | null,
): Promise<StatementRead | StatementRefusal> {
  // Balances and movements come from one server: a statement reports, it does not prove.
  const session = any.on(server);
  const start = await session.ledgerAtOrBefore(new Date(from.getTime() - 1));
  // Ledger 2 is the first that can hold a transaction.
  if (!start && tip.oldestLedger > 2) return 'not_kept';
  const { balances, changedLedger, latestLedger } = await session.holdings(wallet.address, []);
  const until = Math.max(changedLedger, latestLedger ?? 0);
  if ((await session.tip()).latestLedger < until) return 'away';
  const { recordLedger = null } = (await cursors.byId(cursorId(wallet.network, wallet.address))) ?? {};
  const isKnown = Math.max(changedLedger, recordLedger ?? 0) >= tip.oldestLedger;
  const movements = await readMovements(session, wallet, start?.sequence ?? 0, until, isKnown);
  const rows = statementOf(balances, movements, { from, to });
  const shown = rows.flatMap((row) => row.movements);
  const paid = await payments.ofOperations({ accountId: wallet.accountId, walletId: wallet._id }, [
    ...new Set(shown.flatMap(({ operationId }) => operationId ?? [])),
  ]);
  const paidBy = new Map<string, PaymentDoc[]>(paid.map(({ operationId }) => [operationId, []]));
  for (const payment of paid) paidBy.get(payment.operationId)!.push(payment);
  const paymentOf = ({ kind, operationId, asset, at, changeIndex }: Movement): PaymentDoc | null => {
    if (kind !== 'received') return null;
    const found = (paidBy.get(operationId ?? '') ?? []).filter(
      (payment) =>
        payment.ledgerClosedAt.getTime() === at.getTime() &&
        (changeIndex === null || payment.changeIndex === changeIndex) &&
        sameAsset(asset, { code: payment.assetCode, issuer: payment.assetIssuer }),
    );
    // A sum of several payments is none of them.
    return found.length === 1 ? found[0]! : null;
  };
  return rows.map((row) => ({
    ...row,
    movements: row.movements.map((movement) => ({ ...movement, ...recordedAs(paymentOf(movement)) })),
  }));
}

/** A REJECTED payment counts for nothing. */
const recordedAs = (payment: PaymentDoc | null): RecordedPayment => ({
  paymentId: payment?._id ?? null,
  value: (payment?.status !== 'REJECTED' && payment?.value) || null,
});

/** Everything that moved the account after one ledger and up to another, oldest first.
 *  @param isKnown the server must know the account
 *  @throws TooLong, LedgerUnavailable, UnfitServer */
async function readMovements(
  { history }: Pick<LedgerSession, 'history'>,
  { address }: WalletDoc,
  afterLedger: number,
  untilLedger: number,
  isKnown: boolean,
): Promise<Movement[]> {
  const after = cursorAfter(afterLedger);
  const isDue = (id: string) => ledgerOfCursor(id) <= untilLedger;
  const effects = await all(
    (cursor) => history.effects(address, cursor, PAGE_LIMIT),
    afterLedger === 0 ? '0-0' : `${after}-0`,
    ({ pagingToken }: AccountEffect) => pagingToken,
    ({ operationId }) => isDue(operationId),
    isKnown,
  );
  const start = afterLedger === 0 ? '0' : after;
  const transactions = await all(
    (cursor) => history.fees(address, cursor, PAGE_LIMIT),
    start,
    ({ pagingToken }: AccountFee) => pagingToken,
    ({ pagingToken }) => isDue(pagingToken),
    isKnown || effects.length > 0,
  );
  const operations = await all(
    (cursor) => history.operations(address, cursor, PAGE_LIMIT),
    start,
    ({ id }: AccountOperation) => id,
    ({ id }) => isDue(id),
    isKnown || transactions.length > 0,
  );
  const transactionById = new Map(transactions.map((each) => [each.pagingToken, each]));
  const operationById = new Map(operations.map((each) => [each.id, each]));
  const fees = transactions
    .filter(({ fee }) => fee > 0n)
    .map((each) => ({ place: BigInt(each.pagingToken), movement: toFee(each) }));
  const moved = toGroups(effects).flatMap(({ id: operationId, ledger, closedAt, effects: group }) => {
    const operation = operationById.get(operationId) ?? null;
    const transaction = transactionById.get(transactionOf(BigInt(operationId)).toString());
    const known = group.flatMap(({ effect }) => effect ?? []);
    return movementsOf(address, known, operation).map((movement) => ({
      place: BigInt(operationId),
      movement: {
        ...movement,
        at: closedAt,
        ledger,
        operationId,
        transactionHash: transaction?.transactionHash ?? operation?.transactionHash ?? null,
        counterparty:
          movement.counterparty ??
          (isPayment(movement) ? (operation?.parties.find((party) => party !== address) ?? null) : null),
        memo: transaction?.memo ?? null,
      },
    }));
  });
  // The sort is stable: what one operation moved stays together.
  return [...fees, ...moved]
    .sort((a, b) => (a.place < b.place ? -1 : a.place > b.place ? 1 : 0))
    .map(({ movement }) => movement);
}

const isPayment = ({ kind }: Pick<Movement, 'kind'>): boolean => kind === 'received' || kind === 'sent';

const toFee = ({ closedAt: at, ledger, transactionHash, memo, fee }: AccountFee): Movement => ({
  ...{ at, ledger, transactionHash, memo, operationId: null, kind: 'fee', asset: NATIVE, counterparty: null },
  changeIndex: null,
  stroops: -fee,
});

/** All items that are due, page by page. @throws TooLong, UnsureHistory */
async function all<Item>(
  read: (cursor: string) => Promise<HistoryPage<Item>>,
  start: string,
  cursorOf: (item: Item) => string,
  isDue: (item: Item) => boolean,
  isKnown: boolean,
): Promise<Item[]> {
  const found: Item[] = [];
  for (let cursor = start; ; ) {
    const { items, full, isUnknown = false } = await read(cursor);
    if (isUnknown && (isKnown || found.length > 0)) throw new UnsureHistory();
    found.push(...items.filter(isDue));
    if (found.length > MOST_ITEMS) throw new TooLong();
    const last = items.at(-1);
    if (!full || !last || !isDue(last)) return found;
    cursor = cursorOf(last);
  }
}
