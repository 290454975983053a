/** The ledgers of a simulated network, and the payments in them as the payers know them. A reset begins a new chain of ledgers. */
import { createHash } from 'node:crypto';
import { muxed, NATIVE_TRIPLE, toid, USDC_TRIPLE } from '../helpers/horizon-records.js';

export type Json = Record<string, any>;
/** A network that was reset has far fewer ledgers than before. */
const firstLedger = (chain: number) => (chain === 0 ? 1003 : 3);

/** Money that came to an address. */
export interface Paid {
  operationId: string;
  changeIndex: number;
  transactionHash: string;
  chain: number;
  ledger: number;
  closedMs: number;
  receiver: string;
  asset: { code: string; issuer: string | null };
  stroops: bigint;
  memo: { type: 'none' | 'text' | 'id'; text: string | null };
}

/** A record of a type that no client knows, which names an address. */
export type UnknownRecord = Pick<Paid, 'operationId' | 'chain' | 'ledger' | 'closedMs' | 'receiver'>;

export interface Ledger {
  sequence: number;
  hash: string;
  closedMs: number;
  records: Json[];
}

/** What a payer sends in the next ledger. */
export type Sending = Pick<Paid, 'receiver' | 'asset' | 'stroops' | 'memo'> & {
  shape: 'payment' | 'unjoined' | 'create' | 'merge' | 'host' | 'failed' | 'self' | 'unknown' | 'burn' | 'muxed';
  /** Takes up much of a page. */
  isHeavy?: boolean;
  /** Left out of account histories by old versions. */
  isHidden?: boolean;
  /** Part of the same transaction as what was sent before it. */
  isSameTransaction?: boolean;
};

/** Names nobody. */
const MUXED_ID = '9007199254740993';
const NATIVE = { code: 'XLM', issuer: null };
const decimal = (stroops: bigint) => `${stroops / 10_000_000n}.${(stroops % 10_000_000n).toString().padStart(7, '0')}`;
const triple = (asset: Paid['asset']) =>
  asset.issuer === null ? NATIVE_TRIPLE : { ...USDC_TRIPLE, asset_code: asset.code, asset_issuer: asset.issuer };

export class Chain {
  /** All payments of all chains. */
  readonly payments: Paid[] = [];
  readonly unknownRecords: UnknownRecord[] = [];
  readonly transactions = new Map<string, Json>();
  readonly effects = new Map<string, Json>();
  /** Operations whose records take up much of a page, and those that old versions leave out of account histories. */
  readonly heavy = new Set<string>();
  readonly hidden = new Set<string>();
  /** Ledgers that Horizon no longer has. */
  readonly dropped: { chain: number; upTo: number }[] = [];
  ledgers: Ledger[] = [];
  /** How often the network was reset. */
  number = 0;
  /** The oldest ledger that Horizon still has. */
  elder = firstLedger(0);
  #queue: Sending[] = [];

  constructor(readonly payer: string) {}

  get latest(): Ledger {
    return this.ledgers.at(-1)!;
  }

  /** Whether a record that Horizon still has names the address. */
  names(address: string): boolean {
    return this.ledgers.some(
      ({ sequence, records }) =>
        sequence >= this.elder && records.some((record) => JSON.stringify(record).includes(address)),
    );
  }

  send(sending: Sending): void {
    this.#queue.push(sending);
  }

  /** Closes a ledger with everything that was sent since the last one. */
  close(nowMs: number): Ledger {
    const sequence = this.ledgers.length === 0 ? firstLedger(this.number) : this.latest.sequence + 1;
    const closedMs = Math.floor(nowMs / 1000) * 1000;
    const ledger: Ledger = { sequence, hash: this.#hash(`ledger ${sequence}`), closedMs, records: [] };
    let [transaction, operation] = [0, 0];
    for (const sending of this.#queue) {
      [transaction, operation] = sending.isSameTransaction ? [transaction, operation + 1] : [transaction + 1, 1];
      ledger.records.push(this.#recordOf(sending, ledger, { transaction, operation }));
    }
    this.#queue = [];
    this.ledgers.push(ledger);
    return ledger;
  }

  /** Drops all but the newest ledgers. */
  retain(newest: number): void {
    this.elder = Math.max(this.elder, this.latest.sequence - newest + 1);
    this.dropped.push({ chain: this.number, upTo: this.elder - 1 });
  }

  /** Begins a new chain, whose first ledger closes at once. */
  reset(nowMs: number): Ledger {
    this.dropped.push({ chain: this.number, upTo: Number.POSITIVE_INFINITY });
    this.number += 1;
    this.ledgers = [];
    this.elder = firstLedger(this.number);
    return this.close(nowMs);
  }

  #hash(text: string): string {
    return createHash('sha256').update(`${this.number}:${text}`).digest('hex');
  }

  #transaction(hash: string, memo: Paid['memo'], successful: boolean): Json {
    const fields =
      memo.type === 'none'
        ? { memo_type: 'none' }
        : memo.type === 'id'
          ? { memo_type: 'id', memo: memo.text }
          : { memo_type: 'text', memo: memo.text, memo_bytes: Buffer.from(memo.text!).toString('base64') };
    const transaction = { id: hash, hash, successful, ...fields };
    this.transactions.set(hash, transaction);
    return transaction;
  }

  #recordOf(sending: Sending, ledger: Ledger, order: { transaction: number; operation: number }): Json {
    const { memo, shape } = sending;
    const id = toid(ledger.sequence, order.transaction, order.operation);
    const hash = this.#hash(`transaction ${toid(ledger.sequence, order.transaction, 1)}`);
    if (sending.isHeavy) this.heavy.add(id);
    if (sending.isHidden) this.hidden.add(id);
    const successful = shape !== 'failed';
    const transaction = this.#transaction(hash, memo, successful);
    const base: Json = {
      id,
      paging_token: id,
      transaction_successful: successful,
      source_account: this.payer,
      created_at: new Date(ledger.closedMs).toISOString(),
      transaction_hash: hash,
      ...(shape === 'unjoined' ? {} : { transaction }),
    };
    return { ...base, ...this.#operation(sending, ledger, { id, hash }) };
  }

  /** The fields of an operation, and the payments that it makes. */
  #operation(sending: Sending, ledger: Ledger, { id, hash }: { id: string; hash: string }): Json {
    const { receiver, asset, stroops, memo, shape } = sending;
    const { payer } = this;
    const at = { chain: this.number, ledger: ledger.sequence, closedMs: ledger.closedMs };
    const pay = (changeIndex: number, amount: bigint, of = asset) =>
      this.payments.push({
        operationId: id,
        changeIndex,
        transactionHash: hash,
        ...at,
        receiver,
        asset: of,
        stroops: amount,
        memo,
      });
    const payment = { type: 'payment', ...triple(asset), from: payer, to: receiver, amount: decimal(stroops) };
    switch (shape) {
      case 'create': {
        pay(0, stroops, NATIVE);
        const starting_balance = decimal(stroops);
        return { type: 'create_account', type_i: 0, starting_balance, funder: payer, account: receiver };
      }
      case 'merge': {
        pay(0, stroops, NATIVE);
        const type = 'account_credited';
        const effect = { type, account: receiver, asset_type: 'native', amount: decimal(stroops) };
        this.effects.set(id, { _embedded: { records: [effect] } });
        return { type: 'account_merge', account: payer, into: receiver };
      }
      case 'host': {
        const amounts = [stroops, stroops + 1n];
        for (const [index, amount] of amounts.entries()) pay(index, amount);
        const changes = amounts.map((amount) => ({ ...payment, type: 'transfer', amount: decimal(amount) }));
        return { type: 'invoke_host_function', asset_balance_changes: changes };
      }
      case 'unknown':
        this.unknownRecords.push({ operationId: id, ...at, receiver });
        return { type: 'teleport', to: receiver };
      case 'burn': {
        const own = { code: 'GIFT', issuer: receiver };
        pay(0, stroops, own);
        const change = { type: 'burn', ...triple(own), from: payer, amount: decimal(stroops) };
        return { type: 'invoke_host_function', asset_balance_changes: [change] };
      }
      case 'muxed':
        pay(0, stroops);
        return { ...payment, to_muxed: muxed(receiver, MUXED_ID), to_muxed_id: MUXED_ID };
      case 'self':
        return { ...payment, from: receiver };
      case 'failed':
        return payment;
      default:
        pay(0, stroops);
        return payment;
    }
  }
}
