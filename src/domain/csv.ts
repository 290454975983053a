/** Lines of CSV by RFC 4180. A spreadsheet takes some texts for formulas: those get a `'` before them, and a plain number stays what it is. */

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

export type CsvValue = string | number | boolean | null;

/** Most cells: one look instead of two. */
const PLAIN_TEXT = /^[A-Za-z0-9][^",;\t\r\n]*$/;
const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;
/** What spreadsheets begin a formula with, in full width too, perhaps behind blanks; and control characters that they drop. */
const FORMULA = /^(?:[\s\u00a0\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/;

/** Also what spreadsheets of other countries split at. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

/** One line with its end. Null is an empty cell. */
export const csvLine = (values: readonly CsvValue[]): string => `${values.map(cell).join(',')}\r\n`;

function cell(value: CsvValue): string {
  if (value === null) return '';
  const text = String(value);
  if (PLAIN_TEXT.test(text)) return text;
  const harmless = FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
