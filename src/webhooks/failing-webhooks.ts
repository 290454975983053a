/** Finds failing webhooks whose accounts have to be told. Part of the webhook store. */
import type mongoose from 'mongoose';
import type { Session } from '../kit/database.js';
import { EPOCH } from './due-deliveries.js';
import type { WebhookDoc } from './webhook-store.js';

/** A webhook's last failure when its endpoint answered 410. */
const GONE = 'answered 410';

export const createFailingWebhooks = (collection: mongoose.mongo.Collection<WebhookDoc>) => ({
  /** Webhooks with at least this many failures in a row over this time, or whose endpoint is gone, if the account was not told yet. */
  failingUntold({ attempts, lastedMs }: { attempts: number; lastedMs: number }, limit: number): Promise<WebhookDoc[]> {
    const isLong = { $gte: [{ $subtract: ['$lastFailure.at', '$failingSince'] }, lastedMs] };
    const failsLong = { $and: [{ $gte: ['$failedAttempts', attempts] }, isLong] };
    const isGone = { $and: [{ $eq: ['$status', 'PAUSED'] }, { $eq: ['$lastFailure.error', GONE] }] };
    const isUntold = { $ne: ['$failingSince', { $ifNull: ['$toldFailing', null] }] };
    const filter = { failingSince: { $gte: EPOCH }, $expr: { $and: [isUntold, { $or: [failsLong, isGone] }] } };
    return collection.find(filter, { limit, hint: 'failing' }).toArray();
  },
  /** @returns false when the account has been told since, or the webhook no longer fails so */
  async markTold({ _id, failingSince }: WebhookDoc, session: Session): Promise<boolean> {
    const { modifiedCount } = await collection.updateOne(
      { _id, failingSince, toldFailing: { $ne: failingSince } },
      { $set: { toldFailing: failingSince } },
      { session },
    );
    return modifiedCount === 1;
  },
});
