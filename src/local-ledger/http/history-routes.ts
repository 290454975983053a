/** All that was closed: payments, operations, transactions, effects and ledgers, by account, ledger
 *  or transaction. */
import { Router } from 'express';
import type { Ledger } from '../ledger.js';
import { asInner, type TransactionDocument } from '../records.js';
import { transactionFields } from '../rpc/meta.js';
import { ledgerOf } from '../toid.js';
import { baseUrl, negotiate, sendHal } from './answer.js';
import {
  effectList,
  knownLedger,
  knownTransaction,
  ledgerList,
  operationList,
  scopes,
  transactionList,
} from './history-lists.js';
import { answerList } from './lists.js';
import { includesFailed, integerId, joinsTransactions, transactionHash } from './parameters.js';
import { Problem } from './problem.js';
import { renderLedger, renderOperation, renderTransaction } from './render.js';

export function historyRoutes(ledger: Ledger): Router {
  const router = Router();
  addLists(router, ledger);
  addSingleRecords(router, ledger);
  return router;
}

/** The meta of a contract call, which tells what its result covers. Other transactions have none
 *  in this ledger. */
async function metaOf({ events }: Ledger, transaction: TransactionDocument): Promise<Record<string, unknown>> {
  if (transaction.phase !== 'call') return {};
  const told = (await events.ofTransactions([transaction._id])).get(transaction._id)!;
  return { result_meta_xdr: transactionFields({ transaction, events: told }, 'base64').resultMetaXdr };
}

function addLists(router: Router, ledger: Ledger): void {
  for (const [path, scopeOf] of Object.entries(scopes)) {
    for (const list of ['payments', 'operations'] as const) {
      router.get(`${path}/${list}`, (req, res) =>
        answerList(ledger, req, res, async (base) => {
          const scope = await scopeOf(ledger, req);
          // A failed transaction requested by name shows its operations.
          const includeFailed = scope.transaction !== undefined || includesFailed(req);
          return operationList(ledger, base, { ...scope, list, includeFailed }, joinsTransactions(req));
        }),
      );
    }
    router.get(`${path}/effects`, (req, res) =>
      answerList(ledger, req, res, async (base) => effectList(ledger, base, await scopeOf(ledger, req))),
    );
    if (path === '/transactions/:tx_id') continue;
    router.get(`${path}/transactions`, (req, res) =>
      answerList(ledger, req, res, async (base) => {
        const filter = { ...(await scopeOf(ledger, req)), includeFailed: includesFailed(req) };
        return transactionList(ledger, base, filter);
      }),
    );
  }
  router.get('/operations/:id/effects', (req, res) =>
    answerList(ledger, req, res, async (base) => {
      const operation = integerId(req, 'id');
      if ((await ledger.history.operation(operation)) === null) throw new Problem('not_found');
      return effectList(ledger, base, { operation });
    }),
  );
  router.get('/ledgers', (req, res) => answerList(ledger, req, res, (base) => ledgerList(ledger, base)));
}

function addSingleRecords(router: Router, ledger: Ledger): void {
  const { history } = ledger;

  router.get('/operations/:id', async (req, res) => {
    negotiate(req, false);
    const id = integerId(req, 'id');
    const joins = joinsTransactions(req);
    if (ledgerOf(id) < ledger.visible().elder) throw new Problem('before_history');
    const found = await history.operation(id);
    if (found === null) throw new Problem('not_found');
    const joined = joins ? (await history.transactionsOf([found])).get(found.transaction) : undefined;
    await sendHal(req, res, renderOperation(baseUrl(req), found, joined));
  });

  router.get('/transactions/:tx_id', async (req, res) => {
    negotiate(req, false);
    const found = await knownTransaction(ledger, req);
    const isInner = found.innerHash === transactionHash(req);
    const record = isInner ? asInner(found.record) : found.record;
    await sendHal(req, res, renderTransaction(baseUrl(req), { ...record, ...(await metaOf(ledger, found)) }));
  });

  router.get('/ledgers/:ledger_id', async (req, res) => {
    negotiate(req, false);
    const sequence = await knownLedger(ledger, req);
    await sendHal(req, res, renderLedger(baseUrl(req), (await history.ledger(sequence))!));
  });
}
