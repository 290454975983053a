/** The books of an account: what moved its balances, by asset, and whether that explains them.
 *  Pure; amounts are stroops of any size. */
import { type Asset, assetName, NATIVE } from './asset.js';

export interface Amount {
  asset: Asset;
  stroops: bigint;
}

/** One effect on an account's balances. Stroops are greater than 0, except those of a pool, which
 *  have a sign. */
export type BalanceEffect =
  | ({ kind: 'credited' | 'debited' } & Amount)
  | { kind: 'traded'; bought: Amount; sold: Amount }
  | { kind: 'pooled'; changes: Amount[] };

/** The part of an operation that classifies its effects. */
export interface OperationFacts {
  /** Horizon's name of its type. */
  type: string;
  /** G… */
  source: string;
  /** Balance changes made by a contract. */
  contractChanges: ContractChange[];
}

export interface ContractChange {
  kind: 'transfer' | 'clawback' | 'other';
  /** Its index among the operation's balance changes. */
  changeIndex: number;
  /** G…, or another holder's address. */
  from: string | null;
  to: string | null;
  amount: Amount;
}

/** Stroops; `received`, `sent` and `fees` are never negative. */
export interface Sums {
  received: bigint;
  sent: bigint;
  fees: bigint;
  traded: bigint;
  other: bigint;
}

/** By the asset's name. */
export type Books = Map<string, { asset: Asset; sums: Sums }>;

/** A balance and its explanation. */
export interface BookRow extends Sums {
  asset: Asset;
  opening: bigint;
  closing: bigint;
  computed: bigint;
  difference: bigint;
}

/** More assets than an account can hold before, during and after a period: it has at most 1,000
 *  trustlines at once. */
export const MOST_BOOKED = 4000;

/** Operations by which an account pays another: they count as received and sent. */
const PAYS = new Set([
  'payment',
  'path_payment',
  'path_payment_strict_receive',
  'path_payment_strict_send',
  'create_account',
  'account_merge',
  'invoke_host_function',
]);
export const mayPay = (type: string): boolean => PAYS.has(type);
const PATH_PAYMENT = /^path_payment/;

const sumsOf = (books: Books, asset: Asset): Sums => {
  const name = assetName(asset);
  let entry = books.get(name);
  if (!entry) {
    entry = { asset, sums: { received: 0n, sent: 0n, fees: 0n, traded: 0n, other: 0n } };
    books.set(name, entry);
  }
  return entry.sums;
};

export const foldFee = (books: Books, stroops: bigint): void => {
  sumsOf(books, NATIVE).fees += stroops;
};

/** Adds one operation's effects on an account.
 *  @param operation null if unavailable: credits then count as received and debits as sent */
export function foldOperation(
  books: Books,
  address: string,
  effects: readonly BalanceEffect[],
  operation: OperationFacts | null,
): void {
  // An issuer holds no balance of what it issues.
  const isHeld = ({ asset }: Amount) => asset.issuer !== address;
  const hasDebit = effects.some(({ kind }) => kind === 'debited');
  for (const effect of effects) {
    if (effect.kind === 'pooled')
      for (const change of effect.changes.filter(isHeld)) sumsOf(books, change.asset).other += change.stroops;
    else if (effect.kind === 'traded' && !isOfOwnPath(address, operation, hasDebit)) {
      if (isHeld(effect.bought)) sumsOf(books, effect.bought.asset).traded += effect.bought.stroops;
      if (isHeld(effect.sold)) sumsOf(books, effect.sold.asset).traded -= effect.sold.stroops;
    }
  }
  for (const { asset, credited, debited } of netOf(effects).filter((each) => each.asset.issuer !== address)) {
    const sums = sumsOf(books, asset);
    if (operation && !mayPay(operation.type)) sums.other += credited - debited;
    else addPaid(sums, address, { asset, credited, debited, hasDebit }, operation);
  }
}

/** The trades of a path payment are also listed for its sender, whose debit already
 *  includes them. */
const isOfOwnPath = (address: string, operation: OperationFacts | null, hasDebit: boolean): boolean =>
  operation ? PATH_PAYMENT.test(operation.type) && operation.source === address : hasDebit;

interface Paid {
  asset: Asset;
  credited: bigint;
  debited: bigint;
  hasDebit: boolean;
}

function addPaid(
  sums: Sums,
  address: string,
  { asset, credited, debited, hasDebit }: Paid,
  operation: OperationFacts | null,
): void {
  const type = operation?.type ?? '';
  // A payment to oneself moves nothing.
  if (type === 'payment' && credited === debited) return;
  if (PATH_PAYMENT.test(type) && hasDebit) {
    // The sender paid itself: the debit is sent, the credit is no payment.
    sums.sent += debited;
    sums.traded += credited;
    return;
  }
  const own = operation?.contractChanges.filter((change) => assetName(change.amount.asset) === assetName(asset)) ?? [];
  const total = (changes: OperationFacts['contractChanges']) =>
    changes.reduce((sum, { amount }) => sum + amount.stroops, 0n);
  // If the changes do not fit the effects, the effects count.
  const toItself = smallest(total(own.filter(({ from, to }) => from === address && to === address)), credited, debited);
  const clawedBack = smallest(
    total(own.filter(({ kind, from }) => kind === 'clawback' && from === address)),
    debited - toItself,
  );
  sums.received += credited - toItself;
  sums.sent += debited - toItself - clawedBack;
  sums.other -= clawedBack;
}

const smallest = (...all: bigint[]): bigint => all.reduce((a, b) => (a < b ? a : b));

function netOf(effects: readonly BalanceEffect[]): { asset: Asset; credited: bigint; debited: bigint }[] {
  const moved = new Map<string, { asset: Asset; credited: bigint; debited: bigint }>();
  for (const effect of effects) {
    if (effect.kind !== 'credited' && effect.kind !== 'debited') continue;
    const name = assetName(effect.asset);
    const entry = moved.get(name) ?? { asset: effect.asset, credited: 0n, debited: 0n };
    entry[effect.kind] += effect.stroops;
    moved.set(name, entry);
  }
  return [...moved.values()];
}

export const netChange = ({ received, sent, fees, traded, other }: Sums): bigint =>
  received - sent - fees + traded + other;

/** Keeps books from growing with every asset ever held: beyond `MOST_BOOKED`, assets without a net
 *  change are dropped, which changes no difference. @returns false when more than that remain */
export function forgetSettled(books: Books): boolean {
  if (books.size > MOST_BOOKED) for (const [name, { sums }] of books) if (netChange(sums) === 0n) books.delete(name);
  return books.size <= MOST_BOOKED;
}

/** Compares closing balances with the opening ones plus the movements. Lumens come first, even
 *  without any.
 *  @param opening null if unknown: it is then computed from the closing, and there is
 *  no difference */
export function closeBooks(books: Books, opening: readonly Amount[] | null, closing: readonly Amount[]): BookRow[] {
  const assets = new Map<string, Asset>([[assetName(NATIVE), NATIVE]]);
  for (const { asset } of [...(opening ?? []), ...closing, ...books.values()]) assets.set(assetName(asset), asset);
  const balanceIn = (balances: readonly Amount[], name: string) =>
    balances.find(({ asset }) => assetName(asset) === name)?.stroops ?? 0n;
  const [native, ...others] = [...assets.entries()];
  others.sort(([a], [b]) => (a < b ? -1 : 1));
  return [native!, ...others].map(([name, asset]) => {
    const sums = books.get(name)?.sums ?? { received: 0n, sent: 0n, fees: 0n, traded: 0n, other: 0n };
    const closed = balanceIn(closing, name);
    const opened = opening === null ? closed - netChange(sums) : balanceIn(opening, name);
    const computed = opened + netChange(sums);
    return { asset, ...sums, opening: opened, closing: closed, computed, difference: closed - computed };
  });
}

export const isBalanced = (rows: readonly BookRow[]): boolean => rows.every(({ difference }) => difference === 0n);
