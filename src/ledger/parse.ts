/** A raw record becomes an outcome, whichever kind of source it came from. */
import { parseRecord as parseHorizonRecord } from './horizon/record.js';
import type { RecordOutcome } from './records.js';
import { isRpcOperation, parseOperation } from './rpc/operation.js';
import { createContractIds } from './rpc/token-event.js';

/** @param passphrase of the network that the record is of. */
export const parseRecord = (raw: unknown, passphrase: string): RecordOutcome =>
  isRpcOperation(raw) ? parseOperation(raw, createContractIds(passphrase)) : parseHorizonRecord(raw);
