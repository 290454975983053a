/** What the API does with reports. */
import type { Contract } from '../../contracts/index.js';
import { MAX_SUMMARY_ROWS } from '../../contracts/reports.js';
import { ApiError } from '../domain/api-error.js';
import type { ForAccount } from '../stores/index.js';
import type { ServiceOf } from './caller.js';
import { MATCHED } from './payments.js';
import { createTurns } from './turns.js';

/** Reports that a process adds up at the same time. */
const AT_ONCE = 2;

export function createReportService(deps: { forAccount: ForAccount<'payments'> }): ServiceOf<Contract['reports']> {
  const { forAccount } = deps;
  const turns = createTurns(AT_ONCE);
  return {
    async summary({ accountId }, { status, ...filter }) {
      const statuses = status && status.length > 0 ? status : MATCHED;
      const rows = await turns.run(accountId, () =>
        forAccount(accountId).payments.sums({ ...filter, status: statuses, maxRows: MAX_SUMMARY_ROWS }),
      );
      if (rows === 'unknown_timezone') throw new ApiError('bad_request', 'timezone: There is no such time zone.');
      if (rows === 'too_many') {
        throw new ApiError('bad_request', 'These are too many rows: choose a shorter time from `from` to `to`.');
      }
      return rows;
    },
  };
}
