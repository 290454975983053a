/** Stellar RPC over the chain of a simulated network: the same ledgers as XDR and events, which nothing but the payers' records are made of. */
import {
  Account,
  Address,
  Asset,
  Keypair,
  Memo,
  MuxedAccount,
  nativeToScVal,
  Operation,
  StrKey,
  xdr,
} from '@stellar/stellar-sdk';
import { nameOf } from './accounts.js';
import type { Chain, Json, Ledger } from './chain.js';

export interface RpcView {
  chain: Chain;
  passphrase: string;
  /** What the server keeps and shows, oldest first. */
  shown: readonly Ledger[];
}

interface SimulatedEvent {
  id: string;
  ledger: number;
  ledgerClosedAt: string;
  txHash: string;
  contractId: string;
  topic: string[];
  value: string;
}

const OUT_OF_RANGE = -32600;
const symbol = (text: string) => xdr.ScVal.scvSymbol(text);
const address = (text: string) => Address.fromString(text).toScVal();
const stroopsOf = (decimal: string) => BigInt(decimal.replace('.', ''));
const seconds = ({ closedMs }: Ledger) => closedMs / 1000;
const eventId = (place: string, index: number) => `${place.padStart(19, '0')}-${String(index).padStart(10, '0')}`;

/** @returns the JSON-RPC answer to a body */
export function answerRpc(view: RpcView, body: string): string {
  const { id, method, params = {} } = JSON.parse(body);
  const result = METHODS[method]!(view, params);
  return JSON.stringify({ jsonrpc: '2.0', id, ...(result === null ? { error: { code: OUT_OF_RANGE } } : { result }) });
}

/** The addresses that a body's filters name. */
export const namedIn = (body: string, known: readonly string[]): string[] =>
  known.filter((each) => body.includes(address(each).toXDR('base64')));

/** Null for ledgers that are not there. */
const METHODS: Readonly<Record<string, (view: RpcView, params: Json) => unknown>> = {
  getHealth: ({ shown }) => ({
    status: 'healthy',
    latestLedger: shown.at(-1)!.sequence,
    oldestLedger: shown[0]!.sequence,
    latestLedgerCloseTime: String(seconds(shown.at(-1)!)),
  }),
  getNetwork: ({ passphrase }) => ({ passphrase }),
  getEvents,
  getTransactions({ shown }, { startLedger }) {
    if (!isShown(shown, startLedger)) return null;
    const ledger = shown.find(({ sequence, records }) => sequence >= startLedger && records.length > 0);
    return {
      transactions: ledger ? [{ ledger: ledger.sequence }] : [],
      latestLedger: shown.at(-1)!.sequence,
    };
  },
  getTransaction({ shown, chain, passphrase }, { hash }) {
    const ledger = shown.find(({ records }) => records.some((record) => record.transaction_hash === hash));
    return ledger ? toTransaction(chain, passphrase, ledger, hash) : { status: 'NOT_FOUND' };
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
  const parsed = xdr.LedgerKey.fromXDR(key, 'base64');
  const isAccount = parsed.switch() === xdr.LedgerEntryType.account();
  const accountId = isAccount ? parsed.account().accountId() : parsed.trustLine().accountId();
  const named = isAccount ? 'XLM' : nameOf(Asset.fromOperation(parsed.trustLine().asset() as never) as never);
  const held = chain.accounts.heldAfter(StrKey.encodeEd25519PublicKey(accountId.ed25519()), {
    chain: chain.number,
    ledger,
  });
  const found = held?.find(({ asset }) => nameOf(asset) === named);
  if (!found) return null;
  const balance = xdr.Int64.fromString(`${found.stroops}`);
  const data = isAccount
    ? xdr.LedgerEntryData.account(accountEntry(accountId, balance))
    : xdr.LedgerEntryData.trustline(trustlineEntry(accountId, parsed.trustLine().asset(), balance));
  return { key, xdr: data.toXDR('base64'), lastModifiedLedgerSeq: found.changed };
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
    ext: new xdr.AccountEntryExt(0),
  });

const trustlineEntry = (accountId: xdr.AccountId, asset: xdr.TrustLineAsset, balance: xdr.Int64) =>
  new xdr.TrustLineEntry({
    accountId,
    asset,
    balance,
    limit: xdr.Int64.fromString('9223372036854775807'),
    flags: 1,
    ext: new xdr.TrustLineEntryExt(0),
  });

const isShown = (shown: readonly Ledger[], sequence: number): boolean =>
  sequence >= shown[0]!.sequence && sequence <= shown.at(-1)!.sequence;

function getEvents({ shown, passphrase }: RpcView, { startLedger, endLedger, filters, pagination }: Json): unknown {
  const after: string | null = pagination.cursor ?? null;
  const start = after === null ? startLedger : Number(BigInt(after.slice(0, 19)) >> 32n);
  if (!isShown(shown, start)) return null;
  const latest = shown.at(-1)!;
  const last = Math.min(latest.sequence, (endLedger ?? Number.POSITIVE_INFINITY) - 1);
  const found = shown
    .filter(({ sequence }) => sequence >= start && sequence <= last)
    .flatMap((ledger) => eventsOf(ledger, passphrase))
    .filter(({ id, topic }) => (after === null || id > after) && matches(topic, filters))
    .slice(0, pagination.limit);
  const isFull = found.length === pagination.limit;
  return {
    events: found,
    cursor: isFull ? found.at(-1)!.id : eventId(((BigInt(last) << 32n) | 0xffff_ffffn).toString(), 0xffff_ffff),
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

/** Ledgers do not change: their events are made once. */
const made = new WeakMap<Ledger, SimulatedEvent[]>();

function eventsOf(ledger: Ledger, passphrase: string): SimulatedEvent[] {
  const known = made.get(ledger);
  if (known) return known;
  const hashes = [...new Set(ledger.records.map((record) => record.transaction_hash))];
  const at = (record: Json, id: string, told: Told) => ({
    id,
    ledger: ledger.sequence,
    ledgerClosedAt: new Date(ledger.closedMs).toISOString(),
    txHash: record.transaction_hash,
    contractId: told.contractId,
    topic: told.topics.map((each) => each.toXDR('base64')),
    value: told.value.toXDR('base64'),
  });
  const fees = hashes.map((hash, index) => {
    const record = ledger.records.find((each) => each.transaction_hash === hash)!;
    const topics = [symbol('fee'), address(record.source_account)];
    const place = (BigInt(ledger.sequence) << 32n).toString();
    return at(record, eventId(place, index), { contractId: contractOf({}, passphrase), topics, value: i128(100n) });
  });
  const moved = ledger.records.flatMap((record) =>
    movesOf(record, passphrase).map((told, index) =>
      at(record, eventId((BigInt(record.id) - 1n).toString(), index), told),
    ),
  );
  const events = [...fees, ...moved].sort((a, b) => (a.id < b.id ? -1 : 1));
  made.set(ledger, events);
  return events;
}

const i128 = (amount: bigint) => nativeToScVal(amount, { type: 'i128' });
const assetOf = ({ asset_code, asset_issuer }: Json): Asset =>
  asset_code ? new Asset(asset_code, asset_issuer) : Asset.native();
const contractOf = (triple: Json, passphrase: string): string => assetOf(triple).contractId(passphrase);

interface Told {
  contractId: string;
  topics: xdr.ScVal[];
  value: xdr.ScVal;
}

/** The events of one operation. */
function movesOf(record: Json, passphrase: string): Told[] {
  if (record.transaction_successful === false) return [];
  const move = (triple: Json, from: string, to: string | null, amount: string) => {
    const asset = assetOf(triple);
    const topics = [
      symbol(to === null ? 'burn' : 'transfer'),
      ...[from, to].flatMap((each) => (each === null ? [] : address(each))),
      xdr.ScVal.scvString(asset.isNative() ? 'native' : `${asset.code}:${asset.issuer}`),
    ];
    return { contractId: contractOf(triple, passphrase), topics, value: i128(stroopsOf(amount)) };
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
    default:
      // Money of a kind that nobody knows yet.
      return [move({}, record.source_account, record.to, '1.0000000')];
  }
}

function toTransaction(chain: Chain, passphrase: string, ledger: Ledger, hash: string): Json {
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
    resultXdr: resultOf(chain, records),
    events: { contractEventsXdr: records.map((record) => movesOf(record, passphrase).map(toContractEvent)) },
  };
}

function toContractEvent({ contractId, topics, value }: Told) {
  const body = new xdr.ContractEventBody(0, new xdr.ContractEventV0({ topics, data: value }));
  return new xdr.ContractEvent({
    ext: new xdr.ExtensionPoint(0),
    contractId: StrKey.decodeContract(contractId) as never,
    type: xdr.ContractEventType.contract(),
    body,
  }).toXDR('base64');
}

function envelopeOf(transaction: Json, records: readonly Json[]): string {
  const { memo_type, memo } = transaction;
  const text = { none: () => Memo.none(), id: () => Memo.id(memo), text: () => Memo.text(memo) }[memo_type as string]!;
  const tx = new xdr.Transaction({
    sourceAccount: xdr.MuxedAccount.keyTypeEd25519(Keypair.fromPublicKey(records[0]!.source_account).rawPublicKey()),
    fee: 100,
    seqNum: xdr.Int64.fromString('1'),
    cond: xdr.Preconditions.precondNone(),
    memo: text().toXDRObject(),
    operations: records.map(operationOf),
    ext: new xdr.TransactionExt(0),
  });
  const v1 = new xdr.TransactionV1Envelope({ tx, signatures: [] });
  return xdr.TransactionEnvelope.envelopeTypeTx(v1).toXDR('base64');
}

function operationOf(record: Json): xdr.Operation {
  switch (record.type) {
    case 'create_account':
      return Operation.createAccount({ destination: record.account, startingBalance: record.starting_balance });
    case 'account_merge':
      return Operation.accountMerge({ destination: record.into });
    case 'invoke_host_function': {
      const call = new xdr.InvokeContractArgs({
        contractAddress: Address.fromString(StrKey.encodeContract(Buffer.alloc(32, 4))).toScAddress(),
        functionName: 'pay',
        args: [],
      });
      return Operation.invokeHostFunction({
        func: xdr.HostFunction.hostFunctionTypeInvokeContract(call),
        auth: [],
      });
    }
    default: {
      const { to, to_muxed_id: id, from, source_account } = record;
      const destination = id ? new MuxedAccount(new Account(to, '0'), id).accountId() : to;
      const asset = assetOf(record);
      const source = from === source_account ? undefined : from;
      return Operation.payment({ destination, asset, amount: record.amount, source });
    }
  }
}

/** Of a merge the result tells the amount; the others' say nothing that is read. */
function resultOf(chain: Chain, records: readonly Json[]): string {
  const results = records.map(({ id, type }) => {
    const done =
      type === 'account_merge'
        ? xdr.OperationResultTr.accountMerge(
            xdr.AccountMergeResult.accountMergeSuccess(xdr.Int64.fromString(mergedIn(chain, id))),
          )
        : xdr.OperationResultTr.payment(xdr.PaymentResult.paymentSuccess());
    return xdr.OperationResult.opInner(done);
  });
  return new xdr.TransactionResult({
    feeCharged: xdr.Int64.fromString('100'),
    result: xdr.TransactionResultResult.txSuccess(results),
    ext: new xdr.TransactionResultExt(0),
  }).toXDR('base64');
}

const mergedIn = (chain: Chain, operationId: string): string =>
  stroopsOf(chain.effects.get(operationId)![0]!.amount).toString();
