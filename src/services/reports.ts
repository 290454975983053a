/** What the API does with reports. */
import type { Contract } from '../../contracts/index.js';
import { MAX_SUMMARY_ROWS } from '../../contracts/reports.js';
import { ApiError } from '../domain/api-error.js';
import type { ForAccount } from '../stores/index.js';
import type { ServiceOf } from './caller.js';
import { MATCHED } from './payments.js';
import { createTurns } from './turns.js';

/** Reports that a process adds up at the same time, and that wait for it of one account. */
const TURNS = { most: 2, mostWaiting: 50 };

export function createReportService(deps: { forAccount: ForAccount<'payments'> }): ServiceOf<Contract['reports']> {
  const { forAccount } = deps;
  const turns = createTurns(TURNS);
  return {
    async summary(caller, { status, ...filter }) {
      const statuses = status && status.length > 0 ? status : MATCHED;
      const { payments } = forAccount(caller.accountId);
      const rows = await turns.run(caller, () =>
        payments.sums({ ...filter, status: statuses, maxRows: MAX_SUMMARY_ROWS }, caller.signal),
      );
      if (rows === 'unknown_timezone') throw new ApiError('bad_request', 'timezone: There is no such time zone.');
      if (rows === 'too_many') {
        throw new ApiError('bad_request', 'These are too many rows: choose a shorter time from `from` to `to`.');
      }
      return rows;
    },
  };
}
