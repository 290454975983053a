/** Stellar RPC over the chain of a simulated network: the same ledgers as XDR and events, made only
 *  from the payers' records. */
import { Address, Asset, nativeToScVal, StrKey, xdr } from '@stellar/stellar-sdk';
import { parseStrkey } from '../../src/domain/strkey.js';
import { nameOf } from './accounts.js';
import type { Chain, Json, Ledger } from './chain.js';
import { firstTwice, isContractCall } from './oddities.js';
import { MAKER } from './run.js';
import { assetOf, envelopeJsonOf, envelopeOf, FUTURE_ARM, OF_THE_FUTURE, resultOf, stroopsOf } from './transactions.js';

export interface RpcView {
  chain: Chain;
  passphrase: string;
  /** The ledgers that the server keeps and shows, oldest first. */
  shown: readonly Ledger[];
  /** It shows no events of classic operations. */
  isBlind?: boolean;
  /** It repeats the first event of a page. */
  isTwice?: boolean;
  /** Whether it does not have this transaction yet. */
  lacks(hash: string): boolean;
  /** Whether it knows the arms of this transaction's protocol, and shows them as JSON. */
  decodes(hash: string): boolean;
}

interface SimulatedEvent {
  id: string;
  ledger: number;
  ledgerClosedAt: string;
  txHash: string;
  contractId: string;
  topic: string[];
  value: string;
  /** True for an event of a contract call; the others are classic ones. */
  isOfContract: boolean;
}

const OUT_OF_RANGE = -32600;
const INTERNAL_ERROR = -32603;
const symbol = (text: string) => xdr.ScVal.scvSymbol(text);
const address = (text: string) => Address.fromString(text).toScVal();
const seconds = ({ closedMs }: Ledger) => closedMs / 1000;
const eventId = (place: string, index: number) => `${place.padStart(19, '0')}-${String(index).padStart(10, '0')}`;

/** @returns the JSON-RPC answer to a body */
export function answerRpc(view: RpcView, body: string): string {
  const { id, method, params = {} } = JSON.parse(body);
  const result = METHODS[method]!(view, params);
  const code = result === null ? OUT_OF_RANGE : result === LOST ? INTERNAL_ERROR : null;
  return JSON.stringify({ jsonrpc: '2.0', id, ...(code === null ? { result } : { error: { code } }) });
}

/** Result for a transaction that the server cannot decode either. */
const LOST = Symbol('not decoded');

/** The addresses that a body's filters name. */
export const namedIn = (body: string, known: readonly string[]): string[] =>
  known.filter((each) => body.includes(address(each).toXdr('base64')));

/** Methods; their result is null for missing ledgers. */
const METHODS: Readonly<Record<string, (view: RpcView, params: Json) => unknown>> = {
  getHealth: ({ shown }) => ({
    status: 'healthy',
    latestLedger: shown.at(-1)!.sequence,
    oldestLedger: shown[0]!.sequence,
    latestLedgerCloseTime: String(seconds(shown.at(-1)!)),
  }),
  getNetwork: ({ passphrase }) => ({ passphrase }),
  getEvents,
  getTransactions({ shown }, { startLedger, pagination }) {
    if (!isShown(shown, startLedger)) return null;
    const transactions = shown
      .filter(({ sequence }) => sequence >= startLedger)
      .flatMap(({ sequence, records }) =>
        [...new Set(records.map((record) => record.transaction_hash))].map(() => ({ ledger: sequence })),
      );
    return {
      transactions: transactions.slice(0, pagination.limit),
      latestLedger: shown.at(-1)!.sequence,
    };
  },
  getTransaction({ shown, chain, passphrase, isBlind, lacks, decodes }, { hash: asked, xdrFormat }) {
    const hash = chain.outer.get(asked) ?? asked;
    if (lacks(hash)) return { status: 'NOT_FOUND' };
    const ledger = shown.find(({ records }) => records.some((record) => record.transaction_hash === hash));
    if (!ledger) return { status: 'NOT_FOUND' };
    const told = (record: Json) => (isBlind && !isContractCall(record) ? [] : movesOf(record, { chain, passphrase }));
    if (xdrFormat !== 'json') return toTransaction({ chain, told }, ledger, hash);
    return decodes(hash) ? toTransactionJson({ chain, told }, ledger, hash) : LOST;
  },
  getLedgerEntries: ({ shown, chain }, { keys }) => {
    const latestLedger = shown.at(-1)!.sequence;
    return { entries: keys.flatMap((key: string) => entryOf(chain, latestLedger, key) ?? []), latestLedger };
  },
  getLedgers({ shown }, { startLedger }) {
    const ledger = shown.find(({ sequence }) => sequence === startLedger);
    if (!ledger) return null;
    return { ledgers: [{ sequence: startLedger, hash: ledger.hash, ledgerCloseTime: String(seconds(ledger)) }] };
  },
};

/** The entry of an account or a trustline after a ledger; null when there is none. */
function entryOf(chain: Chain, ledger: number, key: string): Json | null {
  const parsed = xdr.LedgerKey.fromXdr(key, 'base64');
  const accountKey = parsed.type === 'account' ? parsed.account : null;
  const line = parsed.type === 'trustline' ? parsed.trustLine : null;
  const accountId = (accountKey ?? line)!.accountId;
  const named = line ? nameOf(Asset.fromOperation(line.asset as never) as never) : 'XLM';
  const held = chain.accounts.heldAfter(StrKey.encodeEd25519PublicKey(accountId.ed25519.value), {
    chain: chain.number,
    ledger,
  });
  const found = held?.find(({ asset }) => nameOf(asset) === named);
  if (!found) return null;
  const balance = xdr.Int64.fromString(`${found.stroops}`);
  const data = line
    ? xdr.LedgerEntryData.trustline(trustlineEntry(accountId, line.asset, balance))
    : xdr.LedgerEntryData.account(accountEntry(accountId, balance));
  return { key, xdr: data.toXdr('base64'), lastModifiedLedgerSeq: found.changed };
}

const accountEntry = (accountId: xdr.AccountId, balance: xdr.Int64) =>
  new xdr.AccountEntry({
    accountId,
    balance,
    seqNum: xdr.Int64.fromString('1'),
    numSubEntries: 0,
    inflationDest: null,
    flags: 0,
    homeDomain: '',
    thresholds: Buffer.alloc(4),
    signers: [],
    ext: xdr.AccountEntryExt.v0(),
  });

const trustlineEntry = (accountId: xdr.AccountId, asset: xdr.TrustLineAsset, balance: xdr.Int64) =>
  new xdr.TrustLineEntry({
    accountId,
    asset,
    balance,
    limit: xdr.Int64.fromString('9223372036854775807'),
    flags: 1,
    ext: xdr.TrustLineEntryExt.v0(),
  });

const isShown = (shown: readonly Ledger[], sequence: number): boolean =>
  sequence >= shown[0]!.sequence && sequence <= shown.at(-1)!.sequence;

function getEvents(
  { chain, shown, passphrase, isBlind, isTwice }: RpcView,
  { startLedger, endLedger, filters, pagination }: Json,
): unknown {
  const after: string | null = pagination.cursor ?? null;
  const start = after === null ? startLedger : Number(BigInt(after.slice(0, 19)) >> 32n);
  if (!isShown(shown, start)) return null;
  const latest = shown.at(-1)!;
  const last = Math.min(latest.sequence, (endLedger ?? Number.POSITIVE_INFINITY) - 1);
  const found = shown
    .filter(({ sequence }) => sequence >= start && sequence <= last)
    .flatMap((ledger) => eventsOf(ledger, { chain, passphrase }))
    .filter((event) => !isBlind || event.isOfContract)
    .filter(({ id, topic }) => (after === null || id > after) && matches(topic, filters))
    .slice(0, pagination.limit);
  const given = isTwice ? firstTwice(found, pagination.limit) : found;
  const isFull = given.length === pagination.limit;
  return {
    events: given.map(({ isOfContract: _, ...event }) => event),
    cursor: isFull ? given.at(-1)!.id : eventId(((BigInt(last) << 32n) | 0xffff_ffffn).toString(), 0xffff_ffff),
    latestLedger: latest.sequence,
    latestLedgerCloseTime: String(seconds(latest)),
  };
}

const matches = (topic: readonly string[], filters: readonly { topics: string[][] }[]): boolean =>
  filters.length === 0 ||
  filters.some(({ topics }) =>
    topics.some(
      (wanted) =>
        wanted.length === topic.length && wanted.every((segment, index) => segment === '*' || segment === topic[index]),
    ),
  );

/** Events by ledger, made once because ledgers do not change. */
const made = new WeakMap<Ledger, SimulatedEvent[]>();

function eventsOf(ledger: Ledger, on: On): SimulatedEvent[] {
  const known = made.get(ledger);
  if (known) return known;
  const hashes = [...new Set(ledger.records.map((record) => record.transaction_hash))];
  const at = (record: Json, id: string, told: Told) => ({
    id,
    ledger: ledger.sequence,
    ledgerClosedAt: new Date(ledger.closedMs).toISOString(),
    txHash: record.transaction_hash,
    contractId: told.contractId,
    topic: told.topics.map(({ bytes }) => bytes.toString('base64')),
    value: told.value.bytes.toString('base64'),
    isOfContract: isContractCall(record) && told.topics.length > 2,
  });
  const fees = hashes.map((hash, index) => {
    const record = ledger.records.find((each) => each.transaction_hash === hash)!;
    const topics = [symbol('fee'), address(record.source_account)].map(formOf);
    const place = (BigInt(ledger.sequence) << 32n).toString();
    const value = formOf(i128(100n));
    return at(record, eventId(place, index), { contractId: contractOf({}, on.passphrase), topics, value });
  });
  const moved = ledger.records.flatMap((record) =>
    movesOf(record, on).map((told, index) => at(record, eventId((BigInt(record.id) - 1n).toString(), index), told)),
  );
  const events = [...fees, ...moved].sort((a, b) => (a.id < b.id ? -1 : 1));
  made.set(ledger, events);
  return events;
}

const i128 = (amount: bigint) => nativeToScVal(amount, { type: 'i128' });
const contractOf = (triple: Json, passphrase: string): string => assetOf(triple).contractId(passphrase);

interface On {
  chain: Chain;
  passphrase: string;
}

/** A value, as XDR and as a server's JSON. */
interface Form {
  bytes: Buffer;
  json: unknown;
}

interface Told {
  contractId: string;
  topics: Form[];
  value: Form;
}

const formOf = (value: xdr.ScVal): Form => ({ bytes: Buffer.from(value.toXdr()), json: value.toJson() });

const ADDRESS = Buffer.from([0, 0, 0, 18]);
const MUXED_CONTRACT = Buffer.from([0, 0, 0, 5]);

/** The SDK does not know muxed contracts, whose arm has the id before the contract. */
function partyOf(text: string): Form {
  if (!text.startsWith('W')) return formOf(address(text));
  const { bytes } = parseStrkey(text)!;
  const arm = [ADDRESS, MUXED_CONTRACT, bytes.subarray(32), bytes.subarray(0, 32)];
  return { bytes: Buffer.concat(arm), json: { address: text } };
}

const mapEntry = (key: string, val: xdr.ScVal) => new xdr.ScMapEntry({ key: symbol(key), val });

/** The amount, alone or with the muxed id of its destination. */
function amountWith(amount: bigint, muxedId: xdr.ScVal | null): Form {
  if (muxedId === null) return formOf(i128(amount));
  return formOf(xdr.ScVal.scvMap([mapEntry('amount', i128(amount)), mapEntry('to_muxed_id', muxedId)]));
}

/** The same with a further entry that no client knows yet. */
function valueOfTheFuture(amount: bigint, muxedId: xdr.ScVal | null): Form {
  const known = [mapEntry('amount', i128(amount)), ...(muxedId === null ? [] : [mapEntry('to_muxed_id', muxedId)])];
  const map = xdr.ScVal.scvMap([...known, mapEntry(OF_THE_FUTURE, xdr.ScVal.scvVoid())]);
  const bytes = Buffer.from(map.toXdr());
  const entries = [
    ...known.map(({ key, val }) => ({ key: key.toJson(), val: val.toJson() })),
    { key: { symbol: OF_THE_FUTURE }, val: OF_THE_FUTURE },
  ];
  return { bytes: Buffer.concat([bytes.subarray(0, -FUTURE_ARM.length), FUTURE_ARM]), json: { map: entries } };
}

/** The muxed id of a classic payment's destination: the id of a muxed account, else the
 *  transaction's memo (CAP-67). */
function muxedIdOf({ to_muxed_id: id }: Json, { memo_type, memo }: Json): xdr.ScVal | null {
  if (id) return nativeToScVal(BigInt(id), { type: 'u64' });
  if (memo_type === 'id') return nativeToScVal(BigInt(memo), { type: 'u64' });
  return memo_type === 'text' ? xdr.ScVal.scvString(memo) : null;
}

/** The events of one operation. */
function movesOf(record: Json, { chain, passphrase }: On): Told[] {
  if (record.transaction_successful === false) return [];
  const transaction = chain.transactions.get(record.transaction_hash)!;
  const isToPayee = (receiver: string | null) =>
    !isContractCall(record) && receiver === (record.to ?? record.into ?? record.account);
  const move = (triple: Json, sender: string, receiver: string | null, amount: string) => {
    const asset = assetOf(triple);
    // Payments of an issuer are mints, and payments to it are burns.
    const from = sender === triple.asset_issuer ? null : sender;
    const to = receiver === triple.asset_issuer ? null : receiver;
    const topics = [
      formOf(symbol(from === null ? 'mint' : to === null ? 'burn' : 'transfer')),
      ...[from, to].flatMap((each) => (each === null ? [] : partyOf(each))),
      formOf(xdr.ScVal.scvString(asset.isNative() ? 'native' : `${asset.code}:${asset.issuer}`)),
    ];
    const stroops = stroopsOf(amount);
    const muxedId = isToPayee(to) ? muxedIdOf(record, transaction) : null;
    const value = (transaction.hasUnknownEvents ? valueOfTheFuture : amountWith)(stroops, muxedId);
    return { contractId: contractOf(triple, passphrase), topics, value };
  };
  switch (record.type) {
    case 'create_account':
      return [move({}, record.funder, record.account, record.starting_balance)];
    case 'account_merge':
      return [move({}, record.account, record.into, '0.0000001')];
    case 'invoke_host_function':
      return record.asset_balance_changes.map((change: Json) =>
        move(change, change.from, change.type === 'burn' ? null : change.to, change.amount),
      );
    case 'payment':
      return [move(record, record.from, record.to, record.amount)];
    case 'path_payment_strict_receive': {
      const { from, to, amount, source_amount, source_asset_code, source_asset_issuer } = record;
      const maker = chain.makers.get(record.id) ?? MAKER;
      const sent = { asset_code: source_asset_code, asset_issuer: source_asset_issuer };
      return [
        move(sent, from, maker, source_amount),
        move(record, maker, from, amount),
        move(record, from, to, amount),
      ];
    }
    default:
      // An operation of an unknown type that moves money.
      return [move({}, record.source_account, record.to, '1.0000000')];
  }
}

interface Telling {
  chain: Chain;
  told: (record: Json) => Told[];
}

function toTransaction({ chain, told }: Telling, ledger: Ledger, hash: string): Json {
  const records = ledger.records.filter((record) => record.transaction_hash === hash);
  const [first] = records;
  if (first!.transaction_successful === false) return { status: 'FAILED' };
  const isUnknown = records.some(({ type }) => type === 'teleport');
  return {
    status: 'SUCCESS',
    ledger: ledger.sequence,
    createdAt: String(seconds(ledger)),
    applicationOrder: Number((BigInt(first!.id) >> 12n) & 0xf_ffffn),
    // An operation of a later protocol.
    envelopeXdr: isUnknown ? 'AAAAAgAA' : envelopeOf(chain.transactions.get(hash)!, records),
    resultXdr: resultOf(chain, chain.transactions.get(hash)!, records),
    events: { contractEventsXdr: records.map((record) => told(record).map((each) => toContractEvent(each).base64)) },
  };
}

function toTransactionJson(telling: Telling, ledger: Ledger, hash: string): Json {
  const { envelopeXdr, resultXdr, ...rest } = toTransaction(telling, ledger, hash);
  if (rest.status !== 'SUCCESS') return rest;
  const records = ledger.records.filter((record) => record.transaction_hash === hash);
  const transaction = telling.chain.transactions.get(hash)!;
  const isUnknown = records.some(({ type }) => type === 'teleport');
  return {
    ...rest,
    envelopeJson: isUnknown ? { [OF_THE_FUTURE]: null } : envelopeJsonOf(transaction, records),
    resultJson: xdr.TransactionResult.fromXdr(resultXdr, 'base64').toJson(),
    events: {
      contractEventsJson: records.map((record) => telling.told(record).map((each) => toContractEvent(each).json)),
    },
  };
}

const COUNT_BYTES = 4;

/** The XDR of an event ends with the number of its topics, its topics and its data, which the SDK
 *  may not know. */
function toContractEvent({ contractId, topics, value }: Told): { base64: string; json: unknown } {
  const data = xdr.ScVal.scvVoid();
  const without = new xdr.ContractEvent({
    ext: xdr.ExtensionPoint.v0(),
    contractId: new xdr.ContractId(StrKey.decodeContract(contractId)),
    type: xdr.ContractEventType.contract,
    body: xdr.ContractEventBody.v0(new xdr.ContractEventV0({ topics: [], data })),
  });
  const bytes = Buffer.from(without.toXdr());
  const count = Buffer.alloc(COUNT_BYTES);
  count.writeUInt32BE(topics.length);
  const parts = [
    bytes.subarray(0, -COUNT_BYTES - data.toXdr().length),
    count,
    ...topics.map((each) => each.bytes),
    value.bytes,
  ];
  return {
    base64: Buffer.concat(parts).toString('base64'),
    json: {
      ...(without.toJson() as Json),
      body: { v0: { topics: topics.map(({ json }) => json), data: value.json } },
    },
  };
}
