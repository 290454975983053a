/** The calendar that a caller names. */
import { badRequest } from './api-error.js';
import { type Calendar, calendarOf } from './calendar.js';

/** @throws ApiError `bad_request` when there is no such time zone */
export function calendarNamed(parameter: string, timezone: string): Calendar {
  const calendar = calendarOf(timezone);
  if (calendar) return calendar;
  throw badRequest(
    `${parameter}: There is no such time zone: use a name such as Europe/Berlin, or an offset of at most 14 h such as +05:30.`,
  );
}
