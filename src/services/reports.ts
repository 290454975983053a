/** Reports in the API. */
import type { Contract } from '../../contracts/index.js';
import { MAX_SUMMARY_ROWS } from '../../contracts/reports.js';
import { badRequest } from '../domain/api-error.js';
import { type Calendar, calendarOf } from '../domain/calendar.js';
import type { ForAccount } from '../stores/index.js';
import type { ServiceOf } from './caller.js';
import { createFairQueue } from './fair-queue.js';
import { MATCHED } from './payments.js';

const NO_TIMEZONE =
  'timezone: There is no such time zone: use a name such as Europe/Berlin, or an offset of at most 14 h such as +05:30.';
const DATE_LENGTH = '2026-11-21'.length;

/** A date means the beginning of its day; a timestamp has its own offset. */
function momentOf(text: string | undefined, { startOf }: Calendar): Date | undefined {
  if (text === undefined) return undefined;
  return new Date(text.length === DATE_LENGTH ? startOf(text) : text);
}

/** Concurrent reports of a process, and waiting reports of one account. */
const QUEUE_BOUNDS = { most: 2, mostWaiting: 50 };

export function createReportService(deps: { forAccount: ForAccount<'payments'> }): ServiceOf<Contract['reports']> {
  const { forAccount } = deps;
  const queue = createFairQueue(QUEUE_BOUNDS);
  return {
    async summary(caller, { status, parts, from, to, timezone, groupBy, currency }) {
      const calendar = calendarOf(timezone);
      if (!calendar) throw badRequest(NO_TIMEZONE);
      const statuses = status && status.length > 0 ? status : MATCHED;
      const { payments } = forAccount(caller.accountId);
      const rows = await queue.run(caller, () =>
        payments.sums(
          {
            from: momentOf(from, calendar),
            to: momentOf(to, calendar),
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
