/** Balances of the accounts of a simulated network and all their movements: the truth for judging
 *  audits, and the effects that Horizon shows. */
import { NATIVE_TRIPLE, USDC_TRIPLE } from '../helpers/horizon-records.js';
import type { Json, Paid, Sending } from './chain.js';
import { SENT } from './run.js';

type Asset = Paid['asset'];
export const MOVEMENT_KINDS = ['received', 'sent', 'fees', 'traded', 'other'] as const;

export interface Movement {
  chain: number;
  ledger: number;
  address: string;
  asset: Asset;
  /** Negative when it left the account. */
  stroops: bigint;
  kind: (typeof MOVEMENT_KINDS)[number];
  /** Null for a fee. */
  operationId: string | null;
}

export interface Holding {
  asset: Asset;
  stroops: bigint;
  /** The ledger in which it last changed. */
  changed: number;
}

type Moved = Pick<Movement, 'asset' | 'stroops' | 'kind'>;

/** One effect: its fields at Horizon, and its true movements. */
interface Effect {
  address: string;
  type: string;
  fields: Json;
  moved: Moved[];
}

export const FEE = 100n;
export const NATIVE: Asset = { code: 'XLM', issuer: null };
export const nameOf = ({ code, issuer }: Asset): string => (issuer === null ? 'XLM' : `${code}:${issuer}`);
export const decimal = (stroops: bigint): string =>
  `${stroops / 10_000_000n}.${(stroops % 10_000_000n).toString().padStart(7, '0')}`;
export const triple = (asset: Asset): Json =>
  asset.issuer === null ? NATIVE_TRIPLE : { ...USDC_TRIPLE, asset_code: asset.code, asset_issuer: asset.issuer };

export class Accounts {
  /** Movements on all chains, oldest first. */
  readonly movements: Movement[] = [];
  readonly #open = new Set<string>();
  readonly #held = new Map<string, bigint>();

  isOpen(address: string): boolean {
    return this.#open.has(address);
  }

  open(address: string): void {
    this.#open.add(address);
  }

  holds(address: string, asset: Asset): bigint {
    return this.#held.get(`${address} ${nameOf(asset)}`) ?? 0n;
  }

  move(movement: Movement): void {
    const { address, asset, stroops } = movement;
    this.movements.push(movement);
    this.#held.set(`${address} ${nameOf(asset)}`, this.holds(address, asset) + stroops);
  }

  /** Removes all accounts, for a reset of the network. */
  forget(): void {
    this.#open.clear();
    this.#held.clear();
  }

  /** The balances of an account after a ledger; null before it was opened. */
  heldAfter(address: string, { chain, ledger }: { chain: number; ledger: number }): Holding[] | null {
    const held = new Map<string, Holding>();
    for (const each of this.movements) {
      if (each.address !== address || each.chain !== chain || each.ledger > ledger) continue;
      const { asset } = each;
      const before = held.get(nameOf(asset))?.stroops ?? 0n;
      const native = held.get(nameOf(NATIVE));
      // A new trustline changes the account's own entry.
      if (native && !held.has(nameOf(asset))) native.changed = each.ledger;
      held.set(nameOf(asset), { asset, stroops: before + each.stroops, changed: each.ledger });
    }
    return held.size === 0 ? null : [...held.values()];
  }
}

/** The effects of a successful operation on the accounts. */
export function effectsOf({ receiver, asset, stroops, shape, from }: Sending): Effect[] {
  // An issuer does not hold its own asset.
  const moved = (address: string, each: Moved): Moved[] => (each.asset.issuer === address ? [] : [each]);
  const come = (what: Asset, amount: bigint, kind: Moved['kind'] = 'received'): Effect => ({
    address: receiver,
    type: 'account_credited',
    fields: { ...triple(what), amount: decimal(amount) },
    moved: moved(receiver, { asset: what, stroops: amount, kind }),
  });
  const leave = (address: string, kind: Moved['kind']): Effect => ({
    address,
    type: 'account_debited',
    fields: { ...triple(asset), amount: decimal(stroops) },
    moved: moved(address, { asset, stroops: -stroops, kind }),
  });
  switch (shape) {
    case 'failed':
    case 'unknown':
    case 'burn':
      return [];
    case 'create':
      return [{ ...come(NATIVE, stroops), type: 'account_created', fields: { starting_balance: decimal(stroops) } }];
    case 'merge':
      return [come(NATIVE, stroops)];
    case 'host':
      return [come(asset, stroops), come(asset, stroops + 1n)];
    case 'claim':
      return [come(asset, stroops, 'other')];
    case 'self':
      return [come(asset, stroops), leave(receiver, 'received')];
    case 'trade':
      return [trade(receiver, asset, stroops)];
    case 'taken':
      return [trade(receiver, SENT, stroops)];
    case 'toContract':
      // Horizon lists a contract's credit for the account that called it.
      return [leave(from!, 'sent'), { ...come(asset, stroops), address: from!, type: 'contract_credited', moved: [] }];
    default:
      // An issuer has no balance of its own asset.
      return [...(from && from !== asset.issuer ? [leave(from, 'sent')] : []), come(asset, stroops)];
  }
}

/** A purchase for lumens. */
const trade = (address: string, bought: Asset, stroops: bigint): Effect => ({
  address,
  type: 'trade',
  fields: { ...named('bought_', bought, stroops), ...named('sold_', NATIVE, stroops) },
  moved: [
    { asset: bought, stroops, kind: 'traded' },
    { asset: NATIVE, stroops: -stroops, kind: 'traded' },
  ],
});

const named = (prefix: string, asset: Asset, stroops: bigint): Json =>
  Object.fromEntries(
    Object.entries({ ...triple(asset), amount: decimal(stroops) }).map(([name, value]) => [prefix + name, value]),
  );
