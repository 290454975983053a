/** Parses a raw record of any kind of source. */
import { parseRecord as parseHorizonRecord } from './horizon/record.js';
import type { RecordOutcome } from './records.js';
import { isRpcOperation, parseOperation } from './rpc/operation.js';
import { parseEvent } from './rpc/page.js';
import { createContractIds } from './rpc/token-event.js';

/** @param passphrase of the record's network */
export function parseRecord(raw: unknown, passphrase: string): RecordOutcome {
  const contractIdOf = createContractIds(passphrase);
  if (isRpcOperation(raw)) return parseOperation(raw, contractIdOf);
  return parseEvent(raw, contractIdOf) ?? parseHorizonRecord(raw);
}
