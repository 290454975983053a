/** Finds a ledger by its close time with few requests: ledgers close evenly enough for guesses to land near. */

export interface ClosedLedger {
  sequence: number;
  closedAt: Date;
}

/** Ledgers close every 5 to 6 seconds on the public networks. Only the first guess uses it. */
const USUAL_LEDGER_MS = 5_500;

/** The newest ledger between `elder` and `latest` that closed at or before `time`; null when all are younger.
 *  @param ask for a ledger in between; null when the server no longer keeps it */
export async function findLedgerAtOrBefore(
  time: Date,
  elder: number,
  latest: ClosedLedger,
  ask: (sequence: number) => Promise<ClosedLedger | null>,
): Promise<ClosedLedger | null> {
  const wanted = time.getTime();
  if (latest.closedAt.getTime() <= wanted) return latest;
  // Invariants: `after` closed after the time; all ledgers before `from` are gone or too old; `before` closed at or before the time.
  let after = latest;
  let before: ClosedLedger | null = null;
  let from = elder;
  for (let round = 0; from < after.sequence; round++) {
    const middle: number = Math.floor((from + after.sequence - 1) / 2);
    // Every third request halves the rest, so that unevenly closed ledgers cannot prolong the search.
    const guess: number = round % 3 === 2 ? middle : interpolate(wanted, before, after, latest);
    const sequence: number = Math.min(Math.max(guess, from), after.sequence - 1);
    const found: ClosedLedger | null = await ask(sequence);
    if (found !== null && found.closedAt.getTime() > wanted) {
      after = found;
    } else {
      before = found ?? before;
      from = sequence + 1;
    }
  }
  return before;
}

/** Interpolates from `after` back to the time, by the pace between `after` and the nearest known ledger. */
function interpolate(wanted: number, before: ClosedLedger | null, after: ClosedLedger, latest: ClosedLedger): number {
  const beside = before ?? latest;
  const ledgers = beside.sequence - after.sequence;
  const pace = ledgers === 0 ? USUAL_LEDGER_MS : (beside.closedAt.getTime() - after.closedAt.getTime()) / ledgers;
  return after.sequence - Math.ceil((after.closedAt.getTime() - wanted) / Math.max(pace, 1));
}
