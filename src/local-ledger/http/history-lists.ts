/** The lists of the history, each for one request. */
import type { Request } from 'express';
import type { OperationFilter, Range } from '../history.js';
import type { Ledger } from '../ledger.js';
import type { TransactionDocument } from '../records.js';
import type { List } from './lists.js';
import { accountId, effectCursor, integerId, type PageQuery, toidCursor, transactionHash } from './parameters.js';
import { Problem } from './problem.js';
import { renderEffect, renderLedger, renderOperation, renderTransaction } from './render.js';

const range = ({ cursor, order, limit }: PageQuery): Range => ({ cursor: toidCursor(cursor), order, limit });

/** An account unknown to the history is a 404, while other resources have an empty page. */
const unknownAccount = ({ history }: Ledger, account?: string): List['isUnknown'] =>
  account === undefined ? undefined : async () => !(await history.hasAccount(account));

export const operationList = (ledger: Ledger, base: string, filter: OperationFilter, joins: boolean): List => ({
  async read(page) {
    const rows = await ledger.history.operations(filter, range(page));
    const joined = joins ? await ledger.history.transactionsOf(rows) : null;
    return rows.map((row) => renderOperation(base, row, joined?.get(row.transaction)));
  },
  isUnknown: unknownAccount(ledger, filter.account),
});

export const transactionList = (ledger: Ledger, base: string, filter: Omit<OperationFilter, 'list'>): List => ({
  async read(page) {
    const rows = await ledger.history.transactions(filter, range(page));
    return rows.map(({ record }) => renderTransaction(base, record));
  },
  isUnknown: unknownAccount(ledger, filter.account),
});

export const effectList = (
  ledger: Ledger,
  base: string,
  filter: Omit<OperationFilter, 'list' | 'includeFailed'>,
): List => ({
  async read({ cursor, order, limit }) {
    const from = effectCursor(cursor, order);
    const wanted = { ...filter, list: 'effects' as const, includeFailed: false };
    const at = { cursor: from?.operation ?? null, order, limit };
    const rows = await ledger.history.effects(wanted, at, from?.order ?? 0);
    return rows.map((row) => renderEffect(base, row));
  },
  isUnknown: unknownAccount(ledger, filter.account),
});

export const ledgerList = (ledger: Ledger, base: string): List => ({
  read: async (page) => (await ledger.history.ledgers(range(page))).map((record) => renderLedger(base, record)),
});

/** The transaction named in the path by its hash, or by the hash of the transaction inside a
 *  fee bump. */
export async function knownTransaction({ history }: Ledger, req: Request): Promise<TransactionDocument> {
  const found = await history.transactionByHash(transactionHash(req));
  if (found === null) throw new Problem('not_found');
  return found;
}

/** The sequence of the ledger named in the path. */
export async function knownLedger(ledger: Ledger, req: Request): Promise<number> {
  const sequence = integerId(req, 'ledger_id');
  const { elder } = ledger.visible();
  if (sequence < BigInt(elder) && sequence > 0n) throw new Problem('before_history');
  if ((await ledger.history.ledger(Number(sequence))) === null) throw new Problem('not_found');
  return Number(sequence);
}

/** The filter of the path before the list's name. */
export const scopes: Record<string, (ledger: Ledger, req: Request) => Promise<Partial<OperationFilter>>> = {
  '': async () => ({}),
  '/accounts/:account_id': async (_ledger, req) => ({ account: accountId(req) }),
  '/ledgers/:ledger_id': async (ledger, req) => ({ ledger: await knownLedger(ledger, req) }),
  '/transactions/:tx_id': async (ledger, req) => ({ transaction: (await knownTransaction(ledger, req))._id }),
};
