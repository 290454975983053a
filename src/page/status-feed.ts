/** News of payments for all open pages of this process, from one change stream. What it may have missed it fetches before it goes on;
 *  while it knows nothing, it says so. */
import type { mongo } from 'mongoose';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { PAYMENTS_SHOWN, type PagePayment, type StatusFeed } from './types.js';

/** An idle stream answers every second; this long without an answer, it is dead. */
const SILENCE_MS = 10_000;
const RETRY_MS = 1_000;
const LINKS_PER_QUERY = 100;
/** A payment may be stored this much later than it says, because clocks differ and transactions take time. */
const MARGIN_MS = 60_000;

/** What a page may see is made by assignment, acceptance and arrival: all of them set the status. */
const PIPELINE = [
  {
    $match: {
      $or: [
        { operationType: { $in: ['insert', 'replace'] } },
        { operationType: 'update', 'updateDescription.updatedFields.status': { $exists: true } },
      ],
    },
  },
];

export interface PaymentFields extends mongo.Document {
  _id: string;
  paymentLinkId: string | null;
  createdAt: Date;
}

export interface StatusFeedDeps<Payment extends PaymentFields> {
  payments: mongo.Collection<Payment>;
  /** Null for a payment that no page may show. */
  toPagePayment: (payment: Payment) => PagePayment | null;
  clock: Clock;
  log: Logger;
}

export type ClosableStatusFeed = StatusFeed & { close(): Promise<void> };

/** Starts following at once; the database need not be there yet. */
export function createStatusFeed<Payment extends PaymentFields>(deps: StatusFeedDeps<Payment>): ClosableStatusFeed {
  const { payments, toPagePayment, clock, log } = deps;
  const listeners = new Map<string, Set<(payment: PagePayment) => void>>();
  const closing = new AbortController();
  /** Hoped at first: whoever subscribes before the stream begins is told what it missed. */
  let live = true;
  let resumeToken: mongo.ResumeToken;
  let answeredMs = clock.nowMs();
  let stream: { close(): Promise<void> } | undefined;

  const filter = (fields: object) => fields as mongo.Filter<Payment>;

  function tell(payment: Payment | null | undefined): void {
    if (!payment || payment.paymentLinkId === null) return;
    const subscribed = listeners.get(payment.paymentLinkId);
    const shown = subscribed && toPagePayment(payment);
    if (!shown) return;
    for (const listener of subscribed) listener(shown);
  }

  /** Tells the pages what came since the stream was last known to tell it. */
  async function catchUp(): Promise<void> {
    const createdAt = { $gte: new Date(answeredMs - MARGIN_MS) };
    const linkIds = [...listeners.keys()];
    for (let from = 0; from < linkIds.length; from += LINKS_PER_QUERY) {
      const paymentLinkId = { $in: linkIds.slice(from, from + LINKS_PER_QUERY) };
      for await (const payment of payments.find(filter({ paymentLinkId, createdAt })).sort({ createdAt: 1 })) {
        tell(payment as Payment);
      }
    }
  }

  async function follow(): Promise<void> {
    const resumed = resumeToken !== undefined;
    const changes = payments.watch<Payment, mongo.ChangeStreamDocument<Payment>>(PIPELINE, {
      fullDocument: 'updateLookup',
      ...(resumed ? { resumeAfter: resumeToken } : {}),
    });
    stream = changes;
    let following = false;
    try {
      while (!closing.signal.aborted) {
        const change = await answerWithin(changes.tryNext());
        if (!following) {
          // From here on the stream tells everything; what came before it began, only a query does.
          if (!resumed) await catchUp();
          following = live = true;
          log.info({ resumed }, 'following payments for open pages');
        }
        if (change && 'fullDocument' in change) tell(change.fullDocument);
        resumeToken = changes.resumeToken;
        answeredMs = clock.nowMs();
      }
    } finally {
      live = false;
      await changes.close().catch(() => undefined);
    }
  }

  async function answerWithin<T>(answer: Promise<T>): Promise<T> {
    const answered = new AbortController();
    const silence = clock.sleep(SILENCE_MS, answered.signal).then(() => {
      if (!answered.signal.aborted) throw new Error(`the change stream has been silent for ${SILENCE_MS} ms`);
    });
    try {
      return (await Promise.race([answer, silence])) as T;
    } finally {
      answered.abort();
      answer.catch(() => undefined);
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await follow();
      } catch (error) {
        if (closing.signal.aborted) break;
        log.warn(
          { err: error, subscribed: listeners.size },
          'payments cannot be followed for open pages; trying again',
        );
        if (!isPassing(error)) resumeToken = undefined;
        await clock.sleep(RETRY_MS, closing.signal);
      }
    }
  }
  const running = run();

  return {
    subscribe(linkId, listener) {
      const subscribed = listeners.get(linkId) ?? new Set();
      listeners.set(linkId, subscribed.add(listener));
      return () => {
        subscribed.delete(listener);
        if (subscribed.size === 0 && listeners.get(linkId) === subscribed) listeners.delete(linkId);
      };
    },
    async since(linkId, since) {
      const found = await payments
        .find(filter({ paymentLinkId: linkId, createdAt: { $gte: since } }))
        .sort({ createdAt: -1 })
        .limit(PAYMENTS_SHOWN)
        .toArray();
      return found.flatMap((payment) => toPagePayment(payment as Payment) ?? []);
    },
    live: () => live,
    async close() {
      closing.abort();
      listeners.clear();
      await stream?.close().catch(() => undefined);
      await running;
    },
  };
}

/** Whether the same place in the stream may be asked for again: of an error that MongoDB itself answers with, only if it says so. */
function isPassing(error: unknown): boolean {
  const { name, hasErrorLabel } = error as mongo.MongoError;
  return name !== 'MongoServerError' || hasErrorLabel?.call(error, 'ResumableChangeStreamError') === true;
}
