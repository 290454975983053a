/** Takes turns at what is heavy for the database: one at a time for each account and few in all, so that no account keeps others waiting for long. */

export interface Turns {
  /** Waits for a turn, then works. */
  run<T>(accountId: string, work: () => Promise<T>): Promise<T>;
}

/** @param most in all */
export function createTurns(most: number): Turns {
  const tails = new Map<string, Promise<unknown>>();
  const waiting: (() => void)[] = [];
  let free = most;

  async function takeSlot(): Promise<void> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function giveBack(): void {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  }

  return {
    async run(accountId, work) {
      const before = tails.get(accountId);
      const mine = (async () => {
        await before?.catch(() => undefined);
        await takeSlot();
        try {
          return await work();
        } finally {
          giveBack();
        }
      })();
      tails.set(accountId, mine);
      try {
        return await mine;
      } finally {
        if (tails.get(accountId) === mine) tails.delete(accountId);
      }
    },
  };
}
