/** Events of Stellar RPC: movements reported by the asset's own contract (CAP-67). */
import { Address, Asset, nativeToScVal, StrKey, xdr } from '@stellar/stellar-sdk/base';
import type { LedgerMoment } from '../apply.js';
import { canonicalAsset, type LedgerAsset } from '../asset.js';
import type { Movement } from '../movements.js';
import { muxedContractPatch, parseMuxedContract } from '../muxed-contract.js';
import { type Form, type Patch, patchedBytes, patchedJson } from '../patch.js';
import { ledgerStart, toid } from '../toid.js';

/** A stored event, found by id, topics and contract. */
export interface EventDocument {
  /** The TOID in 19 digits (operations from 0), a dash and the index in 10 digits, which sorts
   *  by time. */
  _id: string;
  ledger: number;
  /** Seconds since the epoch. */
  closeTime: number;
  /** TOID of the transaction. */
  transaction: bigint;
  txHash: string;
  /** As in the event's id. A fee's event comes before all transactions, at 0 and 0. */
  transactionIndex: number;
  operationIndex: number;
  /** Horizon's id of the operation; null for a fee. */
  operation: bigint | null;
  /** C… */
  contractId: string;
  /** Base64 ScVals. */
  topics: string[];
  value: string;
  /** The JSON that a server of their protocol shows, if the SDK cannot decode them. */
  json?: EventJson;
  /** The server cannot decode it either. */
  isServerLost?: true;
  /** Whether a server without EMIT_CLASSIC_EVENTS lacks it. */
  isClassic: boolean;
}

export interface EventJson {
  topics: unknown[];
  value: unknown;
}

/** An event without its place in the ledger. */
export interface EventBody {
  contractId: string;
  topics: xdr.ScVal[];
  value: xdr.ScVal;
  /** Stand-ins among the topics, and what they stand for. */
  patches?: Patch[];
}

export type ContractIdOf = (asset: LedgerAsset) => string;

/** Finds the contract of an asset on this network, and remembers those of the latest assets. */
export function createContractIds(passphrase: string): ContractIdOf {
  const MAX_KNOWN = 1000;
  const known = new Map<string, string>();
  return (asset) => {
    const name = canonicalAsset(asset);
    const found = known.get(name);
    if (found !== undefined) return found;
    if (known.size >= MAX_KNOWN) known.clear();
    const id = (asset === null ? Asset.native() : new Asset(asset.code, asset.issuer)).contractId(passphrase);
    known.set(name, id);
    return id;
  };
}

const symbol = (text: string) => xdr.ScVal.scvSymbol(text);
const address = (text: string) => Address.fromString(text).toScVal();
const i128 = (amount: bigint) => nativeToScVal(amount, { type: 'i128' });
const u64 = (decimal: string) => xdr.ScVal.scvU64(BigInt(decimal));

/** The memo as an event shows it; null for none. */
function memoValue(memo: xdr.Memo): xdr.ScVal | null {
  switch (memo.type) {
    case 'memoText':
      return xdr.ScVal.scvString(memo.text);
    case 'memoId':
      return u64(memo.id.toString());
    case 'memoHash':
      return xdr.ScVal.scvBytes(memo.hash.value);
    case 'memoReturn':
      return xdr.ScVal.scvBytes(memo.retHash.value);
    default:
      return null;
  }
}

/** The amount alone, or a map that also names the muxed destination or the memo. */
function amountValue(amount: bigint, recipient: xdr.ScVal | null): xdr.ScVal {
  if (recipient === null) return i128(amount);
  const entry = (key: string, val: xdr.ScVal) => new xdr.ScMapEntry({ key: symbol(key), val });
  return xdr.ScVal.scvMap([entry('amount', i128(amount)), entry('to_muxed_id', recipient)]);
}

/** The event of a movement. A muxed destination hides the memo. */
export function toEvent(movement: Movement, memo: xdr.Memo, contractIdOf: ContractIdOf): EventBody {
  const { asset } = movement;
  const contractId = contractIdOf(asset);
  const named = xdr.ScVal.scvString(canonicalAsset(asset));
  switch (movement.kind) {
    case 'clawback': {
      const topics = [symbol('clawback'), address(movement.from), named];
      return { contractId, topics, value: i128(movement.amount) };
    }
    case 'set_authorized': {
      const topics = [symbol('set_authorized'), address(movement.account), named];
      return { contractId, topics, value: xdr.ScVal.scvBool(movement.isAuthorized) };
    }
    default: {
      const { from, to, toMuxedId, amount, showsMemo } = movement;
      const [isMint, isBurn] = [asset?.issuer === from, asset?.issuer === to];
      if (isBurn && !isMint) {
        return { contractId, topics: [symbol('burn'), address(from), named], value: i128(amount) };
      }
      const recipient = toMuxedId !== null ? u64(toMuxedId) : showsMemo ? memoValue(memo) : null;
      const topics =
        isMint && !isBurn
          ? [symbol('mint'), address(to), named]
          : [symbol('transfer'), address(from), address(to), named];
      return { contractId, topics, value: amountValue(amount, recipient) };
    }
  }
}

/** The event of a contract call. `addresses` are from and to; mint, burn and clawback have
 *  only one. */
export function contractEvent(of: {
  contractId: string;
  name: 'transfer' | 'mint' | 'burn' | 'clawback';
  addresses: (string | null)[];
  asset: LedgerAsset;
  amount: bigint;
  toMuxedId: string | null;
}): EventBody {
  const named = of.addresses.filter((party) => party !== null);
  const patches = named.filter((party) => parseMuxedContract(party) !== null).map(muxedContractPatch);
  const standIns = new Map(patches.map(({ real, standIn }) => [real.json, String(standIn.json)]));
  const parties = named.map((party) => address(standIns.get(party) ?? party));
  return {
    contractId: of.contractId,
    topics: [symbol(of.name), ...parties, xdr.ScVal.scvString(canonicalAsset(of.asset))],
    value: amountValue(of.amount, of.toMuxedId === null ? null : u64(of.toMuxedId)),
    patches,
  };
}

export interface TransactionEvents {
  at: LedgerMoment;
  /** The transaction's place in its ledger, from 1. */
  order: number;
  txHash: string;
  fee: { payer: string; charged: bigint };
  /** One list for each operation. */
  operations: EventBody[][];
  isClassic: boolean;
}

/** All events of a transaction, its fee first. */
export function toEventDocuments(of: TransactionEvents, contractIdOf: ContractIdOf): EventDocument[] {
  const { at, order, txHash, fee, operations, isClassic } = of;
  const common = {
    ledger: at.sequence,
    closeTime: at.closeTime,
    transaction: toid(at.sequence, order),
    txHash,
  };
  const feeEvent: EventDocument = {
    ...common,
    _id: eventId(ledgerStart(at.sequence), order - 1),
    transactionIndex: 0,
    operationIndex: 0,
    operation: null,
    ...encoded({
      contractId: contractIdOf(null),
      topics: [symbol('fee'), address(fee.payer)],
      value: i128(fee.charged),
    }),
    isClassic: true,
  };
  const moved = operations.flatMap((events, operationIndex) =>
    events.map(
      (event, index): EventDocument => ({
        ...common,
        _id: eventId(toid(at.sequence, order, operationIndex), index),
        transactionIndex: order,
        operationIndex,
        operation: toid(at.sequence, order, operationIndex + 1),
        ...encoded(event),
        isClassic,
      }),
    ),
  );
  return [feeEvent, ...moved];
}

export const eventId = (place: bigint, index: number): string =>
  `${place.toString().padStart(19, '0')}-${index.toString().padStart(10, '0')}`;

function encoded({ contractId, topics, value, patches = [] }: EventBody) {
  return {
    contractId,
    topics: topics.map((topic) => patchedBytes(topic.toXdr(), patches).toString('base64')),
    value: value.toXdr('base64'),
    ...(patches.length === 0
      ? {}
      : { json: { topics: topics.map((topic) => patchedJson(topic.toJson(), patches)), value: value.toJson() } }),
  };
}

/** `InvokeHostFunctionSuccessPreImage` of a call that returns nothing. */
export function invocationOf(events: readonly EventBody[]): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(events.length);
  const bytes = events.map(({ contractId, topics, value, patches = [] }) =>
    patchedBytes(contractEventOf(contractId, { topics, data: value }).toXdr(), patches),
  );
  return Buffer.concat([xdr.ScVal.scvVoid().toXdr(), count, ...bytes]);
}

/** As a call for JSON shows it. */
export const jsonOfEvent = ({ topics, value, json }: EventDocument): EventJson =>
  json ?? { topics: topics.map((topic) => scVal(topic).toJson()), value: scVal(value).toJson() };

const scVal = (base64: string) => xdr.ScVal.fromXdr(base64, 'base64');

const contractEventOf = (contractId: string, body: { topics: xdr.ScVal[]; data: xdr.ScVal }) =>
  new xdr.ContractEvent({
    ext: xdr.ExtensionPoint.v0(),
    contractId: new xdr.ContractId(StrKey.decodeContract(contractId)),
    type: xdr.ContractEventType.contract,
    body: xdr.ContractEventBody.v0(new xdr.ContractEventV0(body)),
  });

/** The event as transactions and ledgers carry it; a stand-in if the SDK cannot decode it. */
export function toContractEvent(event: EventDocument): { event: xdr.ContractEvent; patches: Patch[] } {
  const { contractId, topics, value, json } = event;
  const make = (body: { topics: xdr.ScVal[]; data: xdr.ScVal }) => contractEventOf(contractId, body);
  if (json === undefined) return { event: make({ topics: topics.map(scVal), data: scVal(value) }), patches: [] };
  const standIn = make({ topics: [], data: xdr.ScVal.scvString(`stands in for ${event._id}`) });
  return { event: standIn, patches: [{ standIn: formOf(standIn), real: realForm(standIn, event, json) }] };
}

const formOf = (event: xdr.ContractEvent): Form => ({ bytes: event.toXdr(), json: event.toJson() });

/** An event ends in its topics and data, and a stand-in has no topics. */
function realForm(standIn: xdr.ContractEvent, { topics, value }: EventDocument, json: EventJson): Form {
  const { data } = standIn.body.v0;
  const bytes = Buffer.from(standIn.toXdr());
  const count = Buffer.alloc(COUNT_BYTES);
  count.writeUInt32BE(topics.length);
  return {
    bytes: Buffer.concat([
      bytes.subarray(0, bytes.length - data.toXdr().length - COUNT_BYTES),
      count,
      ...[...topics, value].map((each) => Buffer.from(each, 'base64')),
    ]),
    json: { ...(standIn.toJson() as object), body: { v0: { topics: json.topics, data: json.value } } },
  };
}

const COUNT_BYTES = 4;
