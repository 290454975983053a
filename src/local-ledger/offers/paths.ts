/** The best paths from one asset to another through the books, as `/paths` lists them. */
import { canonicalAsset, type LedgerAsset } from '../asset.js';
import type { OfferEntry } from '../entries.js';
import { MAX_INT64 } from '../stroops.js';
import { byPrice } from './cross.js';
import { exchange } from './exchange.js';

/** Six assets in all. */
const MAX_HOPS = 5;

export interface Path {
  /** Includes both ends. */
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

/** The price in a book of exactly this amount; null if the book has less. */
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

/** What a book pays for exactly this amount; null if it takes less. */
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
  /** In order from the known end. */
  assets: LedgerAsset[];
  amount: bigint;
}

/** The best way from the known end to each reachable asset. */
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

/** Paths from each asset that leads to the destination, at the least cost; the cheapest first. */
export function pathsTo(offers: readonly Readonly<OfferEntry>[], destination: LedgerAsset, amount: bigint): Path[] {
  const isLess = (a: bigint, b: bigint) => a < b;
  const ways = search(destination, amount, booksOf(offers, 'selling'), costOf, isLess, ({ buying }) => buying);
  return ways.map((way) => ({ assets: way.assets.reverse(), sent: way.amount, arrives: amount }));
}

/** Paths to each reachable asset, with the most of it. */
export function pathsFrom(offers: readonly Readonly<OfferEntry>[], source: LedgerAsset, amount: bigint): Path[] {
  const isMore = (a: bigint, b: bigint) => a > b;
  const ways = search(source, amount, booksOf(offers, 'buying'), yieldOf, isMore, ({ selling }) => selling);
  return ways.map((way) => ({ assets: way.assets, sent: amount, arrives: way.amount }));
}
