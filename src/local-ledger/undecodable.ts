/** Closed transactions and events as `undecodable` faults show them: with an arm that no protocol
 *  defines yet. */
import { Address, xdr } from '@stellar/stellar-sdk/base';
import type { Api } from './faults.js';
import { FUTURE_ARM, OF_THE_FUTURE, type Patch, patchedBytes, patchedJson } from './patch.js';
import type { TransactionDocument } from './records.js';
import { type EventDocument, jsonOfEvent } from './rpc/events.js';

export const PARTS = ['envelope', 'result', 'events'] as const;

export interface UndecodableFault {
  api?: Api | undefined;
  /** Limits it to this transaction, or to those of this account. */
  transaction?: string | undefined;
  account?: string | undefined;
  parts: (typeof PARTS)[number][];
  decodedByServer: boolean;
}

export type Undecodable = ReturnType<typeof createUndecodable>;

/** @param inForce gives the faults */
export function createUndecodable(inForce: () => UndecodableFault[]) {
  return {
    transaction: (document: TransactionDocument, api: Api): TransactionDocument =>
      inForce()
        .filter((fault) => concerns(fault, api, document.hash, (account) => document.accounts.includes(account)))
        .reduce(ofTheFuture, document),

    event(document: EventDocument): EventDocument {
      const { operation, txHash, topics } = document;
      const names = (account: string) => topics.includes(Address.fromString(account).toScVal().toXdr('base64'));
      const fault = inForce().find((each) => each.parts.includes('events') && concerns(each, 'rpc', txHash, names));
      // A fee is the ledger's own, whatever the transaction holds.
      if (fault === undefined || operation === null) return document;
      return { ...withUnknownValue(document), ...refusing(fault) };
    },
  };
}

function concerns(fault: UndecodableFault, api: Api, hash: string, names: (account: string) => boolean): boolean {
  if (fault.api !== undefined && fault.api !== api) return false;
  if (fault.transaction !== undefined && fault.transaction !== hash) return false;
  return fault.account === undefined || names(fault.account);
}

const refusing = ({ decodedByServer }: UndecodableFault) => (decodedByServer ? {} : { isServerLost: true as const });

function ofTheFuture(document: TransactionDocument, fault: UndecodableFault): TransactionDocument {
  const [envelopeXdr, resultXdr] = [String(document.record.envelope_xdr), String(document.record.result_xdr)];
  // Made-up records may have neither.
  if (envelopeXdr === '' || resultXdr === '') return document;
  let changed: TransactionDocument = { ...document, ...refusing(fault) };
  if (fault.parts.includes('envelope')) {
    const bytes = Buffer.from(envelopeXdr, 'base64').subarray(FUTURE_ARM.length);
    const json = document.envelopeJson ?? xdr.TransactionEnvelope.fromXdr(envelopeXdr, 'base64').toJson();
    const envelope_xdr = Buffer.concat([FUTURE_ARM, bytes]).toString('base64');
    const envelopeJson = { [OF_THE_FUTURE]: Object.values(json as object)[0] };
    changed = { ...changed, envelopeJson, record: { ...changed.record, envelope_xdr } };
  }
  if (fault.parts.includes('result')) {
    // The result ends in an extension, which is empty.
    const bytes = Buffer.from(resultXdr, 'base64').subarray(0, -FUTURE_ARM.length);
    const json = xdr.TransactionResult.fromXdr(resultXdr, 'base64').toJson() as object;
    const result_xdr = Buffer.concat([bytes, FUTURE_ARM]).toString('base64');
    changed = { ...changed, resultJson: { ...json, ext: OF_THE_FUTURE }, record: { ...changed.record, result_xdr } };
  }
  return changed;
}

const UNKNOWN_VALUE: Patch = (() => {
  const standIn = xdr.ScVal.scvString('stands in for a value of the future');
  return {
    standIn: { bytes: standIn.toXdr(), json: standIn.toJson() },
    real: { bytes: FUTURE_ARM, json: OF_THE_FUTURE },
  };
})();

/** Adds a value of an unknown kind to the event's own. */
function withUnknownValue(document: EventDocument): EventDocument {
  const value = xdr.ScVal.fromXdr(document.value, 'base64');
  const entry = (key: string, val: xdr.ScVal) => new xdr.ScMapEntry({ key: xdr.ScVal.scvSymbol(key), val });
  const known = value.type === 'scvMap' ? (value.map ?? []) : [entry('amount', value)];
  const unknown = xdr.ScVal.fromXdr(Buffer.from(UNKNOWN_VALUE.standIn.bytes));
  const [first, ...others] = known;
  const map = xdr.ScVal.scvMap([...(first ? [first] : []), entry(OF_THE_FUTURE, unknown), ...others]);
  const { topics } = jsonOfEvent(document);
  return {
    ...document,
    value: patchedBytes(map.toXdr(), [UNKNOWN_VALUE]).toString('base64'),
    json: { topics, value: patchedJson(map.toJson(), [UNKNOWN_VALUE]) },
  };
}
