/** The payment as the bytes of transaction and result show it. */
import { sha256 } from './crypto.js';
import { concat, isSame, keyOf, strkey, toBase64, toHex, uint32 } from './encoding.js';
import type { Claim } from './format.js';
import {
  type createAccount,
  type feeBump,
  invocation,
  OPERATION,
  type pathPayment,
  type pathResult,
  type payment,
  type ResultPair,
  type Transaction,
  taggedTransaction,
  type ValueOf,
} from './ledger-types.js';
import { type Bytes, Invalid, Reader, type Union, Unknown } from './xdr.js';

/** The fields of a claim that an operation shows. */
type Movement = Pick<Claim, 'kind' | 'from' | 'to' | 'toMuxedId' | 'assetCode' | 'assetIssuer' | 'amount'>;

const STROOPS = 10_000_000n;
const XLM = { assetCode: 'XLM', assetIssuer: null };

function amountOf(stroops: bigint): string {
  const fraction = (stroops % STROOPS).toString().padStart(7, '0').replace(/0+$/, '');
  return `${stroops / STROOPS}${fraction && `.${fraction}`}`;
}

/** Every byte counts: without the option a mark of byte order would be dropped. */
const textOf = (bytes: Bytes): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

/** An account as its G…; the id of a muxed one stands apart. */
function partyOf(account: Union): { address: string; muxedId: string | null } {
  if (account.arm === 0) return { address: strkey('G', account.value as Bytes), muxedId: null };
  const { id, key } = account.value as { id: bigint; key: Bytes };
  return { address: strkey('G', key), muxedId: id.toString() };
}

const accountOf = (key: Union): string => strkey('G', key.value as Bytes);

const ASSET_CODE = /^[A-Za-z0-9]{1,12}$/;

function assetOf({ arm, value }: Union): Pick<Claim, 'assetCode' | 'assetIssuer'> {
  if (arm === 0) return XLM;
  const { code, issuer } = value as { code: Bytes; issuer: Union };
  const assetCode = textOf(code).replace(/\0+$/, '');
  if (!ASSET_CODE.test(assetCode)) throw new Invalid('the asset has a code that the network does not allow');
  return { assetCode, assetIssuer: accountOf(issuer) };
}

const MEMO_TYPES = ['none', 'text', 'id', 'hash', 'return'] as const;

function memoOf({ arm, value }: Union): Pick<Claim, 'memoType' | 'memo'> {
  const memoType = MEMO_TYPES[arm]!;
  if (memoType === 'none') return { memoType, memo: null };
  if (memoType === 'id') return { memoType, memo: String(value) };
  return { memoType, memo: memoType === 'text' ? textOf(value as Bytes) : toBase64(value as Bytes) };
}

/** The transaction that pays: of a fee bump the inner one.
 *  @throws Invalid when its result is another transaction's, or a failure */
async function succeeded(networkId: Bytes, bytes: Bytes, pair: ResultPair) {
  const tagged = Reader.whole(bytes, taggedTransaction);
  const { arm, value: outcome } = pair.result;
  if (tagged.arm === 2) {
    if (arm !== 0) throw new Invalid('the transaction failed');
    return { transaction: (tagged.value as { value: Transaction }).value, results: outcome as Union[] };
  }
  if (arm !== 1) throw new Invalid('the transaction failed');
  const { inner } = (tagged.value as { value: ValueOf<typeof feeBump> }).value;
  const { transaction } = inner.value as { transaction: { value: Transaction; bytes: Bytes } };
  const innerPair = outcome as ResultPair;
  const innerHash = await sha256(concat(networkId, uint32(2), transaction.bytes));
  if (!isSame(innerHash, innerPair.transactionHash)) throw new Invalid('the result is of another inner transaction');
  if (innerPair.result.arm !== 0) throw new Invalid('the transaction failed');
  return { transaction: transaction.value, results: innerPair.result.value as Union[] };
}

/** What a classic operation moved; null for one that moves nothing to an account. */
function classicMovement(from: string, { arm, value: body }: Union, success: unknown): Movement | null {
  switch (arm) {
    case OPERATION.createAccount: {
      const { destination, amount } = body as ValueOf<typeof createAccount>;
      const to = accountOf(destination);
      return { kind: 'create_account', from, to, toMuxedId: null, ...XLM, amount: amountOf(amount) };
    }
    case OPERATION.payment: {
      const { destination, asset, amount } = body as ValueOf<typeof payment>;
      const { address: to, muxedId: toMuxedId } = partyOf(destination);
      return { kind: 'payment', from, to, toMuxedId, ...assetOf(asset), amount: amountOf(amount) };
    }
    case OPERATION.pathStrictReceive:
    case OPERATION.pathStrictSend: {
      const kind = arm === OPERATION.pathStrictSend ? 'path_payment_strict_send' : 'path_payment_strict_receive';
      const { destination } = body as ValueOf<typeof pathPayment>;
      const { asset, amount } = success as ValueOf<typeof pathResult>;
      const { address: to, muxedId: toMuxedId } = partyOf(destination);
      return { kind, from, to, toMuxedId, ...assetOf(asset), amount: amountOf(amount) };
    }
    case OPERATION.accountMerge: {
      const { address: to, muxedId: toMuxedId } = partyOf(body as Union);
      return { kind: 'account_merge', from, to, toMuxedId, ...XLM, amount: amountOf(success as bigint) };
    }
    default:
      return null;
  }
}

type ContractEvent = ValueOf<typeof invocation>['events'][number];

/** The text of a symbol or string; null for another value. */
const wordOf = (value: Union | undefined, arm: 14 | 15): string | null =>
  value?.arm === arm ? textOf(value.value as Bytes) : null;

/** G… or C…; null for another value. */
function addressOf(value: Union | undefined): string | null {
  if (value?.arm !== 18) return null;
  const { arm, value: key } = value.value as Union;
  if (arm === 0) return accountOf(key as Union);
  if (arm === 5) return strkey('C', (key as { contract: Bytes }).contract);
  return arm === 1 ? strkey('C', key as Bytes) : null;
}

/** The id of an asset's own contract: only its events show a movement of the asset. @param name
 *  `native` or `CODE:ISSUER` */
async function contractIdOf(name: string, networkId: Bytes): Promise<Bytes | null> {
  const [code = '', issuer = ''] = name.split(':');
  const key = keyOf(issuer);
  if (name !== 'native' && (!key || !ASSET_CODE.test(code))) return null;
  const padded = new Uint8Array(code.length > 4 ? 12 : 4);
  if (key) padded.set(new TextEncoder().encode(code));
  const asset = key ? [uint32(code.length > 4 ? 2 : 1), padded, uint32(0), key] : [uint32(0)];
  return sha256(concat(uint32(8), networkId, uint32(1), ...asset));
}

/** The amount, which stands alone or in a map beside the muxed id. */
function movedBy(data: Union): { amount: bigint | null; toMuxedId: string | null } {
  const entries = data.arm === 17 ? ((data.value as { key: Union; value: Union }[] | null) ?? []) : [];
  const of = (name: string) => entries.find(({ key }) => wordOf(key, 15) === name)?.value;
  const amount = of('amount') ?? data;
  const muxedId = of('to_muxed_id');
  const { hi, lo } = amount.arm === 10 ? (amount.value as { hi: bigint; lo: bigint }) : { hi: -1n, lo: 0n };
  return {
    amount: hi === 0n ? lo : null,
    toMuxedId: muxedId?.arm === 5 ? String(muxedId.value) : null,
  };
}

/** What an event of an asset's own contract moved; null for any other event. A mint is paid by the
 *  issuer, a burn is paid to it. */
async function eventMovement(event: ContractEvent, networkId: Bytes): Promise<Movement | null> {
  const { topics, data } = event.body.value as { topics: Union[]; data: Union };
  const [type, name] = [wordOf(topics[0], 15), wordOf(topics.at(-1), 14)];
  if (event.type !== 1 || !event.contractId || !name) return null;
  const id = await contractIdOf(name, networkId);
  if (!id || !isSame(id, event.contractId)) return null;
  const [code = '', issuer = ''] = name === 'native' ? [] : name.split(':');
  const parties = { transfer: [1, 2], mint: [null, 1], burn: [1, null] }[type ?? ''];
  if (!parties || topics.length !== (type === 'transfer' ? 4 : 3)) return null;
  const [from, to] = parties.map((place) => (place === null ? issuer : addressOf(topics[place])));
  const { amount, toMuxedId } = movedBy(data);
  if (!from || !to || amount === null) return null;
  const asset = name === 'native' ? XLM : { assetCode: code, assetIssuer: issuer };
  return { kind: 'contract', from, to, toMuxedId, ...asset, amount: amountOf(amount) };
}

export interface Shown {
  /** Everything but the ledger's own fields, for each movement of the operation: a contract call
   *  may have several. */
  claims: Omit<Claim, 'ledger' | 'closedAt'>[];
  /** The bytes of a contract call; null where no contract was called. */
  invocation: Bytes | null;
}

/** The invocation of a contract call, or a way to get it by the SHA-256 that the result names. */
export type Invocation = Bytes | null | ((hash: Bytes) => Promise<Bytes | null>);

/** Recomputes the claims of one operation.
 *  @param bytes of the tagged transaction, whose hash is known to be the result's
 *  @throws Invalid when the operation moves nothing, or failed; Unknown for bytes that this program
 *  does not understand */
export async function shownBy(
  networkId: Bytes,
  bytes: Bytes,
  pair: ResultPair,
  operationIndex: number,
  given: Invocation,
): Promise<Shown> {
  const { transaction, results } = await succeeded(networkId, bytes, pair);
  const operation = transaction.operations[operationIndex];
  const result = results[operationIndex];
  if (!operation || !result) throw new Invalid('the transaction has no such operation');
  const outcome = result.value as Union | null;
  const success = outcome?.value as Union | undefined;
  if (result.arm !== 0 || outcome?.arm !== operation.body.arm || success?.arm !== 0)
    throw new Invalid('the operation failed, or its result is of another kind');
  const { address: from } = partyOf(operation.source ?? transaction.source);
  const shared = { transactionHash: toHex(pair.transactionHash), operationIndex, ...memoOf(transaction.memo) };
  const isCall = operation.body.arm === OPERATION.invokeContract;
  const isToAsk = typeof given === 'function';
  if (!isCall && !isToAsk && given) throw new Invalid('there is an invocation, but no contract was called');
  const successHash = success.value as Bytes;
  const called = !isCall ? null : isToAsk ? await given(successHash) : given;
  const movements = isCall
    ? await contractMovements(successHash, called, networkId)
    : [classicMovement(from, operation.body, success.value)];
  const claims = movements.flatMap((movement) => (movement ? [{ ...shared, ...movement }] : []));
  if (claims.length === 0) throw new Invalid('the operation pays nobody');
  return { claims, invocation: called };
}

async function contractMovements(
  successHash: Bytes,
  bytes: Bytes | null,
  networkId: Bytes,
): Promise<(Movement | null)[]> {
  if (!bytes) throw new Invalid('a contract was called, and its invocation is missing');
  if (!isSame(await sha256(bytes), successHash)) throw new Invalid('the invocation is of another call');
  const { events } = Reader.whole(bytes, invocation);
  if (events.length > 10_000) throw new Unknown('the call has too many events');
  return Promise.all(events.map((event) => eventMovement(event, networkId)));
}
