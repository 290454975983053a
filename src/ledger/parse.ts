/** A raw record becomes an outcome, whichever kind of source it came from. */
import { parseRecord as parseHorizonRecord } from './horizon/record.js';
import type { RecordOutcome } from './records.js';
import { isRpcOperation, parseOperation } from './rpc/operation.js';
import { parseEvent } from './rpc/page.js';
import { createContractIds } from './rpc/token-event.js';

/** @param passphrase of the network that the record is of. */
export function parseRecord(raw: unknown, passphrase: string): RecordOutcome {
  const contractIdOf = createContractIds(passphrase);
  if (isRpcOperation(raw)) return parseOperation(raw, contractIdOf);
  return parseEvent(raw, contractIdOf) ?? parseHorizonRecord(raw);
}
