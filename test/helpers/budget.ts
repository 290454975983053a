/** Budgets for ledgers in tests: one allowance for every purpose. */
import type { LedgerBudget, RequestBudget } from '../../src/ledger/request.js';

export const budgetOf = (allowance: RequestBudget): LedgerBudget => ({
  allowancesOf: () => [allowance],
  othersSpent: () => 0,
});
