/** What counted for a checkout after a place on the ledger. It is put in order and summed up once,
 *  so that each place among hundreds of thousands of payments costs a binary search. */
import type { LedgerClose } from './terms.js';

/** Where an operation is on the ledger. */
export interface OperationPlace extends LedgerClose {
  operationId: string;
}

type Ordered = Pick<OperationPlace, 'closedAt' | 'operationId'>;

/** A payment that counts. */
export interface Counted extends Ordered {
  /** In units of the price; 0 or more. */
  amount: bigint;
}

/** Greater than 0 if the first is later on the ledger. */
export const comparePlaces = (one: Ordered, other: Ordered): number =>
  one.closedAt.getTime() - other.closedAt.getTime() || Number(BigInt(one.operationId) - BigInt(other.operationId));

/** Counted payments after a place on the ledger: there are some if the place was read late. */
export class Later {
  static readonly none = Later.of([]);

  readonly #counted: readonly Counted[];
  /** At each index the sum of those before it. */
  readonly #sums: readonly bigint[];
  readonly #from: number;

  private constructor(counted: readonly Counted[], sums: readonly bigint[], from: number) {
    this.#counted = counted;
    this.#sums = sums;
    this.#from = from;
  }

  /** @param counted in any order */
  static of(counted: readonly Counted[]): Later {
    const ordered = counted.toSorted(comparePlaces);
    const sums = [0n];
    for (const { amount } of ordered) sums.push(sums.at(-1)! + amount);
    return new Later(ordered, sums, 0);
  }

  get isEmpty(): boolean {
    return this.#from === this.#counted.length;
  }

  get sum(): bigint {
    return this.#sums.at(-1)! - this.#sums[this.#from]!;
  }

  /** When the last of them closed; null for none. */
  get lastClosedAt(): Date | null {
    return this.isEmpty ? null : this.#counted.at(-1)!.closedAt;
  }

  /** Those of them after this place. */
  after(place: Ordered): Later {
    return new Later(
      this.#counted,
      this.#sums,
      this.#first((index) => comparePlaces(this.#counted[index]!, place) > 0),
    );
  }

  /** When the first of them that make at least this sum together closed; null if all make less. */
  closeOf(sum: bigint): Date | null {
    const before = this.#sums[this.#from]!;
    return this.#counted[this.#first((index) => this.#sums[index + 1]! - before >= sum)]?.closedAt ?? null;
  }

  /** @param isSo false for the first ones and true for all others
   *  @returns the first index for which it is true; their number for none */
  #first(isSo: (index: number) => boolean): number {
    let [low, high] = [this.#from, this.#counted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isSo(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
