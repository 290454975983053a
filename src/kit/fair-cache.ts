/** A cache by group and key. Groups have equal shares: one with very many values evicts its own. */
export class FairCache<Value> {
  /** Least recently used first. */
  readonly #values = new Map<string, { group: string; value: Value }>();
  readonly #most: number;

  /** @param most values of all groups together */
  constructor(most: number) {
    this.#most = most;
  }

  get(group: string, key: string): Value | undefined {
    const name = `${group} ${key}`;
    const found = this.#values.get(name);
    if (!found) return undefined;
    this.#values.delete(name);
    this.#values.set(name, found);
    return found.value;
  }

  set(group: string, key: string, value: Value): void {
    const name = `${group} ${key}`;
    this.#values.delete(name);
    this.#values.set(name, { group, value });
    if (this.#values.size > this.#most) this.#values.delete(this.#nameToForget());
  }

  delete(group: string, key: string): void {
    this.#values.delete(`${group} ${key}`);
  }

  /** Evicts the least recently used value of the largest group. */
  #nameToForget(): string {
    const byGroup = new Map<string, string[]>();
    let most: string[] = [];
    for (const [name, { group }] of this.#values) {
      const same = byGroup.get(group) ?? [];
      same.push(name);
      byGroup.set(group, same);
      if (same.length > most.length) most = same;
    }
    return most[0]!;
  }
}
