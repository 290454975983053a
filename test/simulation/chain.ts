/** The ledgers of a simulated network, and their payments as the payers know them. A reset begins a
 *  new chain of ledgers. */
import { createHash } from 'node:crypto';
import { MuxedAccount } from '@stellar/stellar-sdk';
import { strkeyOf } from '../../src/domain/strkey.js';
import { muxed, PASSPHRASE, toid } from '../helpers/horizon-records.js';
import { Accounts, decimal, effectsOf, FEE, NATIVE, triple } from './accounts.js';
import { SENT, STRANGER } from './run.js';
import { hashesOf } from './transactions.js';

export type Json = Record<string, any>;
/** A network that was reset has far fewer ledgers than before. */
export const firstLedger = (chain: number) => (chain === 0 ? 1003 : 3);

/** Money that came to an address. */
export interface Paid {
  operationId: string;
  changeIndex: number;
  transactionHash: string;
  chain: number;
  ledger: number;
  closedMs: number;
  /** Base account or contract. */
  sender: string;
  /** M…; null when it is not muxed. */
  senderMuxed: string | null;
  receiver: string;
  receiverMuxed: string | null;
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
  /** Operations of the kinds that are payments. */
  records: Json[];
  /** Other operations that move balances. */
  others: Json[];
  effects: Json[];
  /** `parties` are the accounts for which Horizon lists the transaction. */
  transactions: Json[];
}

/** Lists that leave an operation out. `payments`: those of payments, but not those of effects and
 *  operations. `everywhere`: all of them. */
export type Omitted = 'payments' | 'everywhere';

export type Future = 'envelope' | 'events' | 'both';

/** An operation for the next ledger. */
export type Sending = Pick<Paid, 'receiver' | 'asset' | 'stroops' | 'memo'> & {
  /** `claim`, `trade` and `taken` do not pay the receiver: for `taken`, a payment to a stranger
   *  takes an offer of the receiver. */
  shape:
    | ('payment' | 'unjoined' | 'create' | 'merge' | 'host' | 'failed' | 'self' | 'unknown' | 'burn' | 'muxed')
    | ('fromContract' | 'toContract')
    | ('claim' | 'trade' | 'taken');
  /** The watched account that sends it. */
  from?: string;
  /** The sending account, when it is not the usual payer. */
  payer?: string;
  /** The id of a muxed account. */
  payerId?: string | null;
  receiverId?: string | null;
  /** The transaction is wrapped in a fee bump, and so has two hashes. */
  isFeeBump?: boolean;
  /** The part of its transaction that no client can decode. */
  future?: Future;
  /** A call that also pays a muxed contract. */
  isBeside?: boolean;
  /** Its record takes up much of a ledger page. */
  isHeavy?: boolean;
  /** Left out of account histories by old versions. */
  isHidden?: boolean;
  /** Left out of lists by every Horizon. */
  omitted?: Omitted;
  /** Paid in another asset, through an offer of an unwatched maker. */
  isDetour?: boolean;
  /** In the same transaction as the previous operation. */
  isSameTransaction?: boolean;
};

/** A contract that is no wallet here. */
const ELSEWHERE = strkeyOf('W', Buffer.alloc(40, 7));
/** The id of a muxed account that no payer here uses. */
const MUXED_ID = '9007199254740993';
const NO_PAYMENTS: readonly Sending['shape'][] = ['claim', 'trade'];

export class Chain {
  /** All payments of all chains. */
  readonly payments: Paid[] = [];
  readonly unknownRecords: UnknownRecord[] = [];
  readonly transactions = new Map<string, Json>();
  /** Outer hashes of fee bumps by inner hash. */
  readonly outer = new Map<string, string>();
  /** By operation. */
  readonly effects = new Map<string, Json[]>();
  /** Payments on all chains that others than the payer sent. */
  readonly sent: Paid[] = [];
  readonly accounts = new Accounts();
  /** Enforces that accounts are opened before they are paid, and send no more than they hold. */
  keepsBooks = false;
  /** The watched account whose offer an operation took. */
  readonly makers = new Map<string, string>();
  /** Operations that Horizon leaves out of lists, with the lists. */
  readonly omitted = new Map<string, Omitted>();
  /** Operations whose records take up much of a ledger page, and those that old versions leave
   *  out of account histories. */
  readonly heavy = new Set<string>();
  readonly hidden = new Set<string>();
  /** Ledgers that Horizon no longer has. */
  readonly dropped: { chain: number; upTo: number }[] = [];
  ledgers: Ledger[] = [];
  /** The number of resets. */
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

  /** The id in a muxed address. */
  idOf(muxedAddress: string): string {
    return MuxedAccount.fromAddress(muxedAddress, '0').id();
  }

  send(sending: Sending): void {
    this.#queue.push(sending);
  }

  /** Closes a ledger with the operations that were sent since the last one. */
  close(nowMs: number): Ledger {
    const sequence = this.ledgers.length === 0 ? firstLedger(this.number) : this.latest.sequence + 1;
    const closedMs = Math.floor(nowMs / 1000) * 1000;
    const hash = this.#hash(`ledger ${sequence}`);
    const ledger: Ledger = { sequence, hash, closedMs, records: [], others: [], effects: [], transactions: [] };
    let [transaction, operation] = [0, 0];
    for (const asked of this.#queue) {
      const sending = this.keepsBooks ? this.#asItCanBe(asked) : asked;
      if (sending === null) continue;
      [transaction, operation] = sending.isSameTransaction ? [transaction, operation + 1] : [transaction + 1, 1];
      const record = this.#recordOf(sending, ledger, { transaction, operation });
      (NO_PAYMENTS.includes(sending.shape) ? ledger.others : ledger.records).push(record);
    }
    this.#queue = [];
    this.#nameByContent(ledger);
    this.ledgers.push(ledger);
    return ledger;
  }

  /** Replaces provisional hashes: a transaction's hash follows from its envelope, which is complete
   *  only now. */
  #nameByContent({ records, others, transactions }: Ledger): void {
    for (const hash of new Set(records.map((record) => record.transaction_hash as string))) {
      const own = records.filter((record) => record.transaction_hash === hash);
      const transaction = this.transactions.get(hash)!;
      const hashes = hashesOf(transaction, own, PASSPHRASE);
      if (hashes === null) continue;
      const { hash: real, inner } = hashes;
      const bump = inner === null ? {} : { fee_bump_transaction: { hash: real }, inner_transaction: { hash: inner } };
      const named = { id: real, hash: real, ...bump };
      if (inner !== null) this.outer.set(inner, real);
      this.transactions.delete(hash);
      this.transactions.set(real, Object.assign(transaction, named));
      for (const record of [...records, ...others].filter((each) => each.transaction_hash === hash)) {
        record.transaction_hash = real;
        if (record.transaction) Object.assign(record.transaction, named);
      }
      for (const listed of transactions.filter((each) => each.hash === hash)) Object.assign(listed, named);
      for (const paid of this.payments.filter((each) => each.transactionHash === hash)) paid.transactionHash = real;
    }
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
    this.accounts.forget();
    this.elder = firstLedger(this.number);
    return this.close(nowMs);
  }

  /** Adapts an operation to the accounts; null when it cannot get into a ledger. */
  #asItCanBe(sending: Sending): Sending | null {
    const { accounts } = this;
    const { receiver, shape, asset, stroops } = sending;
    const from = sending.from ?? (shape === 'claim' ? receiver : undefined);
    if (from && accounts.holds(from, NATIVE) < FEE) return null;
    const opened: Sending = { ...sending, ...(from ? { from } : {}) };
    if (from && shape !== 'claim') {
      const needed = stroops + (asset.issuer === null ? FEE : 0n);
      if (asset.issuer === from) return opened;
      return accounts.holds(from, asset) < needed ? { ...opened, shape: 'failed' } : opened;
    }
    if (!accounts.isOpen(receiver)) {
      accounts.open(receiver);
      const { payer, ...others } = opened;
      // A contract cannot create an account, so another account does.
      return { ...(payer?.startsWith('C') ? others : opened), shape: 'create', asset: NATIVE };
    }
    if (shape === 'create') return { ...opened, shape: 'payment', asset: NATIVE };
    if ((shape === 'trade' || shape === 'taken') && accounts.holds(receiver, NATIVE) < stroops)
      return { ...opened, shape: 'payment' };
    return opened;
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
    const { memo, shape, from, isFeeBump, future } = sending;
    const source = from ?? (shape === 'fromContract' ? this.payer : (sending.payer ?? this.payer));
    const id = toid(ledger.sequence, order.transaction, order.operation);
    const hash = this.#hash(`transaction ${toid(ledger.sequence, order.transaction, 1)}`);
    if (sending.isHeavy) this.heavy.add(id);
    if (sending.isHidden) this.hidden.add(id);
    if (sending.omitted) this.omitted.set(id, sending.omitted);
    const successful = shape !== 'failed';
    const transaction = this.#transaction(hash, memo, successful);
    if (isFeeBump) transaction.inner_transaction = {};
    if (future && future !== 'events') transaction.isOfTheFuture = true;
    if (future && future !== 'envelope') transaction.hasUnknownEvents = true;
    const base: Json = {
      id,
      paging_token: id,
      transaction_successful: successful,
      source_account: source,
      created_at: new Date(ledger.closedMs).toISOString(),
      transaction_hash: hash,
      ...(shape === 'unjoined' ? {} : { transaction }),
    };
    this.#apply(sending, ledger, id);
    this.#list(ledger, transaction, { order: order.transaction, source, receiver: sending.receiver });
    return { ...base, ...this.#operation(sending, ledger, { id, hash }) };
  }

  /** Moves the balances, and stores the effects. */
  #apply(sending: Sending, ledger: Ledger, id: string): void {
    const at = { chain: this.number, ledger: ledger.sequence };
    const { from } = sending;
    if (from)
      this.accounts.move({ ...at, address: from, asset: NATIVE, stroops: -FEE, kind: 'fees', operationId: null });
    const effects = effectsOf(sending);
    for (const { address, moved } of effects)
      for (const each of moved) this.accounts.move({ ...at, address, ...each, operationId: id });
    const shown = effects.map(({ address, type, fields }, index) => ({
      ...{ id: `${id}-${index + 1}`, paging_token: `${id}-${index + 1}`, account: address, type },
      ...{ created_at: new Date(ledger.closedMs).toISOString(), ...fields },
    }));
    this.effects.set(id, shown);
    ledger.effects.push(...shown);
  }

  /** Lists the transaction, which may have several operations and pays a fee for each. */
  #list(ledger: Ledger, transaction: Json, named: { order: number; source: string; receiver: string }): void {
    const { order, source, receiver } = named;
    const listed = ledger.transactions.find(({ hash }) => hash === transaction.hash);
    if (listed) {
      listed.parties.push(receiver);
      listed.fee_charged = `${BigInt(listed.fee_charged) + FEE}`;
      return;
    }
    const created_at = new Date(ledger.closedMs).toISOString();
    const fees = { source_account: source, fee_account: source, fee_charged: `${FEE}`, max_fee: `${FEE}` };
    const paging_token = toid(ledger.sequence, order, 0);
    ledger.transactions.push({ ...transaction, ...fees, paging_token, created_at, parties: [source, receiver] });
  }

  /** The fields of an operation, and the payments that it makes. */
  #operation(sending: Sending, ledger: Ledger, { id, hash }: { id: string; hash: string }): Json {
    const { receiver, asset, stroops, memo, shape, from, payerId, receiverId } = sending;
    const payer = from ?? sending.payer ?? this.payer;
    const senderMuxed = payerId ? muxed(payer, payerId) : null;
    const receiverMuxed = receiverId ? muxed(receiver, receiverId) : null;
    const at = { chain: this.number, ledger: ledger.sequence, closedMs: ledger.closedMs };
    const pay = (changeIndex: number, amount: bigint, of = asset) => {
      const named = { operationId: id, changeIndex, transactionHash: hash, ...at };
      const parties = { sender: payer, senderMuxed, receiver, receiverMuxed };
      const paid = { ...named, ...parties, asset: of, stroops: amount, memo };
      this.payments.push(paid);
      if (from) this.sent.push(paid);
    };
    const payment = {
      ...{ type: 'payment', ...triple(asset), from: payer, to: receiver, amount: decimal(stroops) },
      ...(senderMuxed ? { from_muxed: senderMuxed, from_muxed_id: payerId } : {}),
      ...(receiverMuxed ? { to_muxed: receiverMuxed, to_muxed_id: receiverId } : {}),
    };
    const detour = {
      ...payment,
      ...{ type: 'path_payment_strict_receive', path: [] },
      ...{ source_amount: shape === 'failed' ? '0.0000000' : decimal(stroops), source_max: decimal(stroops + 1n) },
      ...Object.fromEntries(Object.entries(triple(SENT)).map(([name, value]) => [`source_${name}`, value])),
    };
    switch (shape) {
      case 'create': {
        pay(0, stroops, NATIVE);
        const starting_balance = decimal(stroops);
        return { type: 'create_account', type_i: 0, starting_balance, funder: payer, account: receiver };
      }
      case 'merge': {
        pay(0, stroops, NATIVE);
        return { type: 'account_merge', account: payer, into: receiver };
      }
      case 'host': {
        const amounts = [stroops, stroops + 1n];
        const beside = sending.isBeside ? [{ ...payment, type: 'transfer', to: ELSEWHERE }] : [];
        for (const [index, amount] of amounts.entries()) pay(beside.length + index, amount);
        const changes = amounts.map((amount) => ({ ...payment, type: 'transfer', amount: decimal(amount) }));
        return { type: 'invoke_host_function', asset_balance_changes: [...beside, ...changes] };
      }
      case 'fromContract':
      case 'toContract':
        pay(0, stroops);
        return { type: 'invoke_host_function', asset_balance_changes: [{ ...payment, type: 'transfer' }] };
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
      case 'claim':
        return { type: 'claim_claimable_balance', balance_id: '00', claimant: receiver };
      case 'trade':
        return { type: 'manage_sell_offer', offer_id: '0', amount: decimal(stroops), price: '1.0000000' };
      case 'taken':
        // A payment to a stranger takes an offer of the receiver.
        this.makers.set(id, receiver);
        return { ...detour, ...triple(NATIVE), to: STRANGER };
      case 'self':
        return { ...payment, from: receiver };
      case 'failed':
        // Contracts are paid by calls.
        if (receiver.startsWith('C')) return { type: 'invoke_host_function', asset_balance_changes: [] };
        return sending.isDetour ? detour : payment;
      default:
        pay(0, stroops);
        return sending.isDetour ? detour : payment;
    }
  }
}
