/** Budgets for ledgers in tests: one allowance for every purpose. */
import type { LedgerBudget, RequestBudget } from '../../src/ledger/request.js';

export const budgetOf = ({
  take,
  intervalMs = 1000,
}: Pick<RequestBudget, 'take'> & Partial<RequestBudget>): LedgerBudget => ({
  allowancesOf: () => [{ take, intervalMs }],
  othersSpent: () => 0,
});
