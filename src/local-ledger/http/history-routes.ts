/** Everything that was closed: payments, operations, transactions, effects and ledgers, by account, ledger or transaction. */
import { Router } from 'express';
import type { EffectRow, OperationFilter, Range } from '../history.js';
import type { Ledger } from '../ledger.js';
import { asInner, type OperationDocument, type TransactionDocument } from '../records.js';
import { ledgerOf } from '../toid.js';
import { baseUrl, negotiate, sendHal } from './answer.js';
import { effectLinks, ledgerLinks, operationLinks, transactionLinks } from './links.js';
import { answerList, type List, type ListRecord } from './lists.js';
import {
  accountId,
  effectCursor,
  includesFailed,
  integerId,
  joinsTransactions,
  type PageQuery,
  toidCursor,
  transactionHash,
} from './parameters.js';
import { Problem } from './problem.js';

const range = ({ cursor, order, limit }: PageQuery): Range => ({ cursor: toidCursor(cursor), order, limit });

export function historyRoutes(ledger: Ledger): Router {
  const router = Router();
  const { history } = ledger;

  const toTransaction = (base: string, record: Record<string, unknown>): ListRecord => {
    const { memo, memo_bytes, ...rest } = record;
    return {
      ...(memo === undefined ? {} : { memo }),
      ...(memo_bytes === undefined ? {} : { memo_bytes }),
      _links: transactionLinks(base, record),
      ...rest,
    } as unknown as ListRecord;
  };

  const toOperation = (
    base: string,
    { _id, record }: OperationDocument,
    joined?: Record<string, unknown>,
  ): ListRecord =>
    ({
      _links: operationLinks(base, _id.toString(), String(record.transaction_hash)),
      ...record,
      ...(joined === undefined ? {} : { transaction: toTransaction(base, joined) }),
    }) as unknown as ListRecord;

  const toEffect = (base: string, { operation, order, createdAt, effect }: EffectRow): ListRecord => {
    const { type, type_i, account, ...details } = effect;
    const token = `${operation}-${order}`;
    return {
      _links: effectLinks(base, operation.toString(), token),
      id: `${operation.toString().padStart(19, '0')}-${order.toString().padStart(10, '0')}`,
      paging_token: token,
      account,
      type,
      type_i,
      created_at: createdAt,
      ...details,
    };
  };

  const operationList = (
    base: string,
    filter: OperationFilter,
    joins: boolean,
    isUnknown?: List['isUnknown'],
  ): List => ({
    async read(page) {
      const rows = await history.operations(filter, range(page));
      const joined = joins ? await history.transactionsOf(rows) : null;
      return rows.map((row) => toOperation(base, row, joined?.get(row.transaction)));
    },
    isUnknown,
  });

  const transactionList = (
    base: string,
    filter: Omit<OperationFilter, 'list'>,
    isUnknown?: List['isUnknown'],
  ): List => ({
    async read(page) {
      const rows = await history.transactions(filter, range(page));
      return rows.map(({ record }) => toTransaction(base, record));
    },
    isUnknown,
  });

  const effectList = (
    base: string,
    filter: Omit<OperationFilter, 'list' | 'includeFailed'>,
    isUnknown?: List['isUnknown'],
  ): List => ({
    async read({ cursor, order, limit }) {
      const from = effectCursor(cursor, order);
      const wanted = { ...filter, list: 'effects' as const, includeFailed: false };
      const rows = await history.effects(wanted, { cursor: from?.operation ?? null, order, limit }, from?.order ?? 0);
      return rows.map((row) => toEffect(base, row));
    },
    isUnknown,
  });

  async function knownTransaction(hash: string): Promise<TransactionDocument> {
    const found = await history.transactionByHash(hash);
    if (found === null) throw new Problem('not_found');
    return found;
  }

  async function knownLedger(sequence: bigint): Promise<number> {
    const { elder } = ledger.visible();
    if (sequence < BigInt(elder) && sequence > 0n) throw new Problem('before_history');
    if ((await history.ledger(Number(sequence))) === null) throw new Problem('not_found');
    return Number(sequence);
  }

  for (const list of ['payments', 'operations'] as const) {
    router.get(`/${list}`, (req, res) =>
      answerList(ledger, req, res, (base) =>
        operationList(base, { list, includeFailed: includesFailed(req) }, joinsTransactions(req)),
      ),
    );
    router.get(`/accounts/:account_id/${list}`, (req, res) =>
      answerList(ledger, req, res, (base) => {
        const filter = { account: accountId(req), list, includeFailed: includesFailed(req) };
        return operationList(
          base,
          filter,
          joinsTransactions(req),
          async () => !(await history.hasAccount(filter.account)),
        );
      }),
    );
    router.get(`/ledgers/:ledger_id/${list}`, (req, res) =>
      answerList(ledger, req, res, async (base) => {
        const sequence = await knownLedger(integerId(req, 'ledger_id'));
        const filter = { ledger: sequence, list, includeFailed: includesFailed(req) };
        return operationList(base, filter, joinsTransactions(req));
      }),
    );
    router.get(`/transactions/:tx_id/${list}`, (req, res) =>
      answerList(ledger, req, res, async (base) => {
        const { _id } = await knownTransaction(transactionHash(req));
        // A failed transaction that is asked for by name shows its operations.
        return operationList(base, { transaction: _id, list, includeFailed: true }, joinsTransactions(req));
      }),
    );
  }

  router.get('/operations/:id', async (req, res) => {
    negotiate(req, false);
    const id = integerId(req, 'id');
    const joins = joinsTransactions(req);
    if (ledgerOf(id) < ledger.visible().elder) throw new Problem('before_history');
    const found = await history.operation(id);
    if (found === null) throw new Problem('not_found');
    const joined = joins ? (await history.transactionsOf([found])).get(found.transaction) : undefined;
    await sendHal(req, res, toOperation(baseUrl(req), found, joined));
  });

  router.get('/transactions', (req, res) =>
    answerList(ledger, req, res, (base) => transactionList(base, { includeFailed: includesFailed(req) })),
  );
  router.get('/accounts/:account_id/transactions', (req, res) =>
    answerList(ledger, req, res, (base) => {
      const account = accountId(req);
      const isUnknown = async () => !(await history.hasAccount(account));
      return transactionList(base, { account, includeFailed: includesFailed(req) }, isUnknown);
    }),
  );
  router.get('/ledgers/:ledger_id/transactions', (req, res) =>
    answerList(ledger, req, res, async (base) => {
      const sequence = await knownLedger(integerId(req, 'ledger_id'));
      return transactionList(base, { ledger: sequence, includeFailed: includesFailed(req) });
    }),
  );
  router.get('/transactions/:tx_id', async (req, res) => {
    negotiate(req, false);
    const hash = transactionHash(req);
    const { innerHash, record } = await knownTransaction(hash);
    await sendHal(req, res, toTransaction(baseUrl(req), innerHash === hash ? asInner(record) : record));
  });

  router.get('/effects', (req, res) => answerList(ledger, req, res, (base) => effectList(base, {})));
  router.get('/accounts/:account_id/effects', (req, res) =>
    answerList(ledger, req, res, (base) => {
      const account = accountId(req);
      return effectList(base, { account }, async () => !(await history.hasAccount(account)));
    }),
  );
  router.get('/ledgers/:ledger_id/effects', (req, res) =>
    answerList(ledger, req, res, async (base) =>
      effectList(base, { ledger: await knownLedger(integerId(req, 'ledger_id')) }),
    ),
  );
  router.get('/transactions/:tx_id/effects', (req, res) =>
    answerList(ledger, req, res, async (base) =>
      effectList(base, { transaction: (await knownTransaction(transactionHash(req)))._id }),
    ),
  );
  router.get('/operations/:id/effects', (req, res) =>
    answerList(ledger, req, res, async (base) => {
      const operation = integerId(req, 'id');
      const found = await history.operation(operation);
      if (found === null) throw new Problem('not_found');
      return effectList(base, { operation });
    }),
  );

  const toLedger = (base: string, record: Record<string, unknown>): ListRecord =>
    ({ _links: ledgerLinks(base, record.sequence), ...record }) as unknown as ListRecord;

  router.get('/ledgers', (req, res) =>
    answerList(ledger, req, res, (base) => ({
      read: async (page) => (await history.ledgers(range(page))).map((record) => toLedger(base, record)),
    })),
  );
  router.get('/ledgers/:ledger_id', async (req, res) => {
    negotiate(req, false);
    const sequence = await knownLedger(integerId(req, 'ledger_id'));
    await sendHal(req, res, toLedger(baseUrl(req), (await history.ledger(sequence))!));
  });

  return router;
}
