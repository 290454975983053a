/** CSV lines by RFC 4180, with the separator of the reader's spreadsheet. Text that a spreadsheet
 *  would take for a formula gets a `'` in front; plain numbers stay unchanged. */
import { localTimeIn } from './calendar.js';

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

export type CsvValue = string | number | boolean | null;

/** By the caller's wish; see `contracts/csv.ts`. */
export interface CsvForm {
  timeZone?: string;
  separator?: ',' | ';';
  bom?: boolean | undefined;
}

/** The byte order mark, by which spreadsheets know UTF-8. */
const MARK = '\ufeff';

/** Writes the lines of one file. @throws RangeError when there is no such time zone */
export function csvWriter({ timeZone = 'UTC', separator = ',', bom = false }: CsvForm) {
  const line = (values: readonly CsvValue[]) => csvLine(values, separator);
  return {
    header: (names: readonly string[]): string => `${bom ? MARK : ''}${line(names)}`,
    line,
    /** A time of the API in the file's zone. */
    time: localTimeIn(timeZone),
  };
}

/** Most cells match this one test instead of failing two. */
const PLAIN_TEXT = /^[A-Za-z0-9][^",;\t\r\n]*$/;
const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;
/** What spreadsheets take for the start of a formula, full-width signs and leading blanks included,
 *  and control characters that they drop. */
const FORMULA = /^(?:[\s\u00a0\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/;

/** Includes the separators of spreadsheets in other countries. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

/** One line with its line break. Null is an empty cell. */
export const csvLine = (values: readonly CsvValue[], separator = ','): string =>
  `${values.map(cell).join(separator)}\r\n`;

function cell(value: CsvValue): string {
  if (value === null) return '';
  const text = String(value);
  if (PLAIN_TEXT.test(text)) return text;
  const harmless = FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
