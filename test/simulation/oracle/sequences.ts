/** What must hold of the numbers of events and deliveries, at every moment: a reader that asks for
 *  what comes after the last number it saw gets everything, once, in an order that
 *  never changes. */
import type { Doc } from '../knowledge.js';

/** A reader polls each account's events by number, after every commit. */
export class EventReader {
  /** Ids by account, in the order of their numbers. */
  readonly #read = new Map<string, string[]>();

  /** Reads what is new, and compares what was read before. @returns what is wrong */
  poll(events: readonly Doc[]): string[] {
    const faults: string[] = [];
    const numbered = new Map<string, Map<number, string>>();
    for (const { _id, accountId, sequence } of events) {
      if (sequence === 0) continue;
      const ids = numbered.get(accountId) ?? new Map<number, string>();
      if (ids.has(sequence)) faults.push(`two events of ${accountId} have the number ${sequence}`);
      numbered.set(accountId, ids.set(sequence, _id));
    }
    for (const [accountId, ids] of numbered) {
      const read = this.#read.get(accountId) ?? [];
      for (const [index, id] of read.entries())
        if (ids.get(index + 1) !== id) faults.push(`the event ${index + 1} of ${accountId} changed after it was read`);
      for (let next = read.length + 1; ids.has(next); next++) read.push(ids.get(next)!);
      if (ids.size > read.length) faults.push(`a reader of ${accountId} would miss ${read.length + 1}`);
      this.#read.set(accountId, read);
    }
    return faults;
  }
}

export const unnumbered = (events: readonly Doc[]): Doc[] => events.filter(({ sequence }) => sequence === 0);

/** A wallet has a GAP if and only if its account was told, in the same moment. */
export function checkGapsTold({ wallets, events }: { wallets: readonly Doc[]; events: readonly Doc[] }): string[] {
  const told = new Set(
    events.filter(({ type }) => type === 'wallet.gap').map(({ subjectId, occurrence }) => `${subjectId} ${occurrence}`),
  );
  return wallets
    .filter(({ _id, gap }) => gap && !told.has(`${_id} ${gap.at.toISOString()}`))
    .map(({ _id }) => `no event told of the gap of ${_id}`);
}

/** Once everything is at rest: every event has a number, after its predecessor's, and each
 *  webhook's deliveries are numbered in that order. */
export function checkSequences({
  events,
  deliveries,
}: {
  events: readonly Doc[];
  deliveries: readonly Doc[];
}): string[] {
  const faults = unnumbered(events).map(({ _id }) => `event ${_id} has no number`);
  const sequenceOf = new Map(events.map(({ _id, sequence }) => [_id, sequence as number]));
  const received = new Map(
    events.filter(({ type }) => type === 'payment.received').map(({ subjectId, sequence }) => [subjectId, sequence]),
  );
  for (const { _id, type, subjectId, sequence } of events)
    if (type === 'payment.completed' && !(received.get(subjectId) < sequence))
      faults.push(`event ${_id} has a number before its payment.received`);
  const byWebhook = new Map<string, Doc[]>();
  for (const delivery of deliveries)
    byWebhook.set(delivery.webhookId, [...(byWebhook.get(delivery.webhookId) ?? []), delivery]);
  for (const [webhookId, own] of byWebhook) {
    own.sort((a, b) => a.sequence - b.sequence);
    if (own.some(({ sequence }, index) => sequence !== index + 1))
      faults.push(`the deliveries of ${webhookId} are numbered ${own.map(({ sequence }) => sequence)}`);
    if (
      own.some(
        ({ eventId }, index) => index > 0 && sequenceOf.get(own[index - 1]!.eventId)! >= sequenceOf.get(eventId)!,
      )
    )
      faults.push(`the deliveries of ${webhookId} are not in the order of their events`);
  }
  return faults;
}
