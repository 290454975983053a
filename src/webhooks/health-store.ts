/** Results of attempts at a webhook's endpoint, written by the dispatcher that has its lease. Part of the webhook store. */
import type mongoose from 'mongoose';
import type { Session } from '../kit/database.js';
import type { WebhookDoc } from './webhook-store.js';

export interface LastFailure {
  at: Date;
  error: string | null;
}

/** Failed attempts in a row at a webhook. */
interface FailureState {
  id: string;
  /** `starts` of the webhook when the attempt began. */
  starts: number | null | undefined;
  failingSince: Date | null;
  failedAttempts: number;
  /** Absent when the attempt did not fail. */
  lastFailure?: LastFailure;
}

/** The result of an attempt for its webhook. */
export interface WebhookHealth extends FailureState {
  status?: 'PAUSED';
  /** Only with PAUSED: the endpoint answered 410, or failed for days. */
  pausedBecause?: 'gone' | 'failing';
}

export const createWebhookHealth = (collection: mongoose.mongo.Collection<WebhookDoc>) => ({
  /** Changes only webhooks whose lease `holder` has and whose `starts` is unchanged. */
  async recordHealth(states: readonly FailureState[], holder: string): Promise<void> {
    if (states.length === 0) return;
    await collection.bulkWrite(
      states.map((state) => ({
        updateOne: { filter: asKnown(state, holder), update: { $set: failureFields(state) } },
      })),
      { ordered: false },
    );
  },
  /** @returns null when the webhook is already PAUSED, has been started again since, or another dispatcher has its lease */
  pause: (state: FailureState, holder: string, session: Session): Promise<WebhookDoc | null> =>
    collection.findOneAndUpdate(
      { ...asKnown(state, holder), status: 'ACTIVE' },
      { $set: { status: 'PAUSED', ...failureFields(state) } },
      { returnDocument: 'after', session },
    ),
});

const asKnown = ({ id, starts }: FailureState, holder: string) => ({
  _id: id,
  'lease.holder': holder,
  starts: starts ?? null,
});

const failureFields = ({ failingSince, failedAttempts, lastFailure }: FailureState) => ({
  failingSince,
  failedAttempts,
  ...(lastFailure ? { lastFailure } : {}),
});
