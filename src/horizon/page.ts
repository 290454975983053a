/** A page of records, parsed record by record: what is wrong with one never touches the next. */
import type { RecordOutcome } from './record.js';

export interface ParsedPage {
  /** In the page's order; `raw` for parking. */
  records: { raw: unknown; outcome: RecordOutcome }[];
  /** Where the next page begins: the last readable paging token; null when there is none. */
  cursor: string | null;
}

/** Null when the body is no page of records. */
export declare function parsePage(body: unknown): ParsedPage | null;
