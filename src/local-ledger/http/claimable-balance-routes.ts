/** Claimable balances: one by its id, or those of a claimant, a sponsor or an asset. */
import { Router } from 'express';
import { claimableBalanceRecord } from '../claimable-balance-record.js';
import type { ClaimableBalanceEntry } from '../entries.js';
import type { Ledger } from '../ledger.js';
import { baseUrl, negotiate, sendHal } from './answer.js';
import { claimableBalanceLinks } from './links.js';
import { answerList, type ListRecord } from './lists.js';
import { type BalanceCursor, balanceCursor, balanceId, claimableBalanceFilter } from './parameters.js';
import { Problem } from './problem.js';

const render = (base: string, entry: ClaimableBalanceEntry): ListRecord => ({
  _links: claimableBalanceLinks(base, entry.owner),
  ...claimableBalanceRecord(entry),
});

function isBeyond({ modified, owner }: ClaimableBalanceEntry, after: BalanceCursor, order: 'asc' | 'desc'): boolean {
  const { ledger, id } = after;
  const isLater = modified.ledger > ledger || (modified.ledger === ledger && owner > id);
  return order === 'asc' ? isLater : !isLater && owner !== id;
}

export function claimableBalanceRoutes(ledger: Ledger): Router {
  const router = Router();

  router.get('/claimable_balances', (req, res) =>
    answerList(ledger, req, res, (base) => {
      const filter = claimableBalanceFilter(req);
      return {
        async read({ cursor, order, limit }) {
          const after = balanceCursor(cursor);
          const found = await ledger.claimableBalances(filter);
          const inOrder = order === 'asc' ? found : found.reverse();
          const beyond = inOrder.filter((entry) => after === null || isBeyond(entry, after, order));
          return beyond.slice(0, limit).map((entry) => render(base, entry));
        },
      };
    }),
  );

  router.get('/claimable_balances/:id', async (req, res) => {
    negotiate(req, false);
    const found = await ledger.claimableBalance(balanceId(req));
    if (found === null) throw new Problem('not_found');
    res.setHeader('Latest-Ledger', String(ledger.visible().latest));
    await sendHal(req, res, render(baseUrl(req), found));
  });

  return router;
}
