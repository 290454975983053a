/** The best ways from one asset to another by the books of offers, as `/paths` tells them. */
import { canonicalAsset, type LedgerAsset } from '../asset.js';
import type { OfferEntry } from '../entries.js';
import { MAX_INT64 } from '../stroops.js';
import { byPrice } from './cross.js';
import { exchange } from './exchange.js';

/** Six assets in all. */
const MAX_HOPS = 5;

export interface Path {
  /** Both ends among them. */
  assets: LedgerAsset[];
  /** Stroops. */
  sent: bigint;
  arrives: bigint;
}

type Books = Map<string, Readonly<OfferEntry>[]>;

function booksOf(offers: readonly Readonly<OfferEntry>[], end: 'selling' | 'buying'): Map<string, Books> {
  const books = new Map<string, Books>();
  for (const offer of [...offers].sort(byPrice)) {
    const [from, to] = [canonicalAsset(offer[end]), canonicalAsset(offer[end === 'selling' ? 'buying' : 'selling'])];
    const ends = books.get(from) ?? new Map<string, Readonly<OfferEntry>[]>();
    books.set(from, ends.set(to, [...(ends.get(to) ?? []), offer]));
  }
  return books;
}

/** What a book takes for exactly this amount; null where it has not as much. */
function costOf(book: readonly Readonly<OfferEntry>[], amount: bigint): bigint | null {
  let [wanted, cost] = [amount, 0n];
  for (const { price, amount: canGive } of book) {
    const bounds = { canGive, canTake: MAX_INT64, wanted, canPay: MAX_INT64 - cost };
    const { received, paid, stands } = exchange(price, bounds, 'strict_receive');
    wanted -= received;
    cost += paid;
    if (stands || wanted === 0n) return wanted === 0n ? cost : null;
  }
  return null;
}

/** What a book gives for exactly this amount; null where it does not take as much. */
function yieldOf(book: readonly Readonly<OfferEntry>[], amount: bigint): bigint | null {
  let [canPay, received] = [amount, 0n];
  for (const { price, amount: canGive } of book) {
    const bounds = { canGive, canTake: MAX_INT64, wanted: MAX_INT64 - received, canPay };
    const exchanged = exchange(price, bounds, 'strict_send');
    canPay -= exchanged.paid;
    received += exchanged.received;
    if (exchanged.stands || canPay === 0n) return canPay === 0n && received > 0n ? received : null;
  }
  return null;
}

interface Way {
  /** From the known end on. */
  assets: LedgerAsset[];
  amount: bigint;
}

/** The best way from the known end to each asset that can be reached. */
function search(
  start: LedgerAsset,
  amount: bigint,
  books: Map<string, Books>,
  priced: (book: readonly Readonly<OfferEntry>[], amount: bigint) => bigint | null,
  isBetter: (a: bigint, b: bigint) => boolean,
  otherEnd: (offer: Readonly<OfferEntry>) => LedgerAsset,
): Way[] {
  const best = new Map<string, Way>([[canonicalAsset(start), { assets: [start], amount }]]);
  let reached = [...best.values()];
  for (let hop = 0; hop < MAX_HOPS && reached.length > 0; hop++) {
    const next = new Map<string, Way>();
    for (const way of reached) {
      const passed = new Set(way.assets.map(canonicalAsset));
      for (const [name, book] of books.get(canonicalAsset(way.assets.at(-1)!)) ?? []) {
        const found = passed.has(name) ? null : priced(book, way.amount);
        const known = best.get(name);
        if (found === null || (known !== undefined && !isBetter(found, known.amount))) continue;
        const longer = { assets: [...way.assets, otherEnd(book[0]!)], amount: found };
        best.set(name, longer);
        next.set(name, longer);
      }
    }
    reached = [...next.values()];
  }
  return [...best.values()];
}

/** From each asset that leads there, at the least cost; the cheapest first. */
export function pathsTo(offers: readonly Readonly<OfferEntry>[], destination: LedgerAsset, amount: bigint): Path[] {
  const isLess = (a: bigint, b: bigint) => a < b;
  const ways = search(destination, amount, booksOf(offers, 'selling'), costOf, isLess, ({ buying }) => buying);
  return ways.map((way) => ({ assets: way.assets.reverse(), sent: way.amount, arrives: amount }));
}

/** To each asset that can be had, at the most of it. */
export function pathsFrom(offers: readonly Readonly<OfferEntry>[], source: LedgerAsset, amount: bigint): Path[] {
  const isMore = (a: bigint, b: bigint) => a > b;
  const ways = search(source, amount, booksOf(offers, 'buying'), yieldOf, isMore, ({ selling }) => selling);
  return ways.map((way) => ({ assets: way.assets, sent: amount, arrives: way.amount }));
}
