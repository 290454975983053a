/** Limits the concurrent requests to an overloaded endpoint: each answer that says so halves the limit, each success adds one. Kept in this process across runs
 *  of the dispatcher. */

/** Statuses that mean overload. */
const TOO_MUCH: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** The oldest limits beyond this number are forgotten. */
const MAX_KNOWN = 10_000;

interface Answer {
  /** Null when no answer came. */
  responseStatus: number | null;
  /** Null for a success. */
  error: string | null;
}

export type Throttles = ReturnType<typeof createThrottles>;

export function createThrottles(maxKnown = MAX_KNOWN) {
  /** By webhook, only for slowed endpoints. */
  const limits = new Map<string, number>();
  const slots = (webhookId: string, share: number): number => Math.min(share, limits.get(webhookId) ?? share);
  return {
    /** @param share the maximum for one endpoint */
    slots,
    answered(webhookId: string, { responseStatus, error }: Answer, share: number): void {
      const limit = limits.get(webhookId);
      if (responseStatus !== null && TOO_MUCH.has(responseStatus)) {
        const halved = Math.max(1, Math.floor(slots(webhookId, share) / 2));
        limits.delete(webhookId);
        limits.set(webhookId, halved);
        if (limits.size > maxKnown) limits.delete(limits.keys().next().value!);
      } else if (limit !== undefined && error === null) {
        if (limit + 1 >= share) limits.delete(webhookId);
        else limits.set(webhookId, limit + 1);
      }
    },
  };
}
