/** Reports in the API. */

import type { Contract } from '../../contracts/index.js';
import { MAX_SUMMARY_ROWS } from '../../contracts/reports.js';
import { badRequest } from '../kit/api-error.js';
import { momentIn } from '../kit/calendar.js';
import { calendarNamed } from '../kit/calendar-named.js';
import type { ServiceOf } from '../kit/caller.js';
import { createFairQueue } from '../kit/fair-queue.js';
import { MATCHED } from '../payments/index.js';
import type { ForAccount } from '../stores.js';

/** Concurrent reports of a process, and waiting reports of one account. */
const QUEUE_BOUNDS = { most: 2, mostWaiting: 50 };

export function createReportService(deps: { forAccount: ForAccount<'payments'> }): ServiceOf<Contract['reports']> {
  const { forAccount } = deps;
  const queue = createFairQueue(QUEUE_BOUNDS);
  return {
    async summary(caller, { status, parts, from, to, timezone, groupBy, currency }) {
      const calendar = calendarNamed('timezone', timezone);
      const statuses = status && status.length > 0 ? status : MATCHED;
      const { payments } = forAccount(caller.accountId);
      const rows = await queue.run(caller, () =>
        payments.sums(
          {
            from: from === undefined ? undefined : momentIn(calendar, from),
            to: to === undefined ? undefined : momentIn(calendar, to),
            groupBy,
            offsets: calendar.offsets,
            ...{ status: statuses, parts },
            currency,
            maxRows: MAX_SUMMARY_ROWS,
          },
          caller.signal,
        ),
      );
      if (rows === 'too_many') {
        throw badRequest('Too many rows: choose a shorter time from `from` to `to`.');
      }
      return rows;
    },
  };
}
