/** The lease of each webhook: which dispatcher sends its deliveries now. Part of the webhook store. A lease ends by the database's clock, because the
 *  clocks of processes differ. */
import mongoose from 'mongoose';
import { inOneBatch, PART_OPTIONS } from '../kit/database.js';
import type { WebhookDoc } from './webhook-store.js';

export interface WebhookLease {
  holder: string;
  until: Date;
  /** How long it lasted when it was taken or renewed. Absent in leases of earlier versions. */
  lastsMs?: number;
  /** A dispatcher with nothing to send wants it. Absent for false. */
  isWanted?: boolean;
}

export const webhookLeaseSchema = new mongoose.Schema<WebhookLease>(
  {
    holder: String,
    until: Date,
    lastsMs: { type: Number, required: false },
    isWanted: { type: Boolean, required: false },
  },
  PART_OPTIONS,
);

const LONG_AGO = new Date(0);
/** Longer than any lease without `lastsMs`. */
const LONGEST_LEASE_MS = 15 * 60_000;
const CLOCK_DOUBT_MS = 10_000;
/** True for a lease that has ended, or that ends so late that the database's clock must have been set back since. */
const IS_FREE = {
  $or: [
    { $lte: [{ $ifNull: ['$lease.until', LONG_AGO] }, '$$NOW'] },
    { $gt: ['$lease.until', { $add: ['$$NOW', { $ifNull: ['$lease.lastsMs', LONGEST_LEASE_MS] }, CLOCK_DOUBT_MS] }] },
  ],
};

/** Keeps `isWanted`. */
const withLease = (holder: string, lastsMs: number) => [
  {
    $set: {
      lease: { holder: { $literal: holder }, until: { $add: ['$$NOW', lastsMs] }, lastsMs: { $literal: lastsMs } },
    },
  },
];

export const createWebhookLeases = (collection: mongoose.mongo.Collection<WebhookDoc>) => ({
  /** Takes those of these leases that are free, of ACTIVE webhooks, or already the holder's. */
  async takeLeases(ids: readonly string[], holder: string, lastsMs: number): Promise<void> {
    await collection.updateMany(
      { _id: { $in: [...ids] }, $or: [{ 'lease.holder': holder }, { status: 'ACTIVE', $expr: IS_FREE }] },
      withLease(holder, lastsMs),
    );
  },
  /** Renews those of these leases that `holder` has, even ended ones. A lease that another dispatcher had since is not renewed: deliveries loaded under it may
   *  have been sent. */
  async renewLeases(ids: readonly string[], holder: string, lastsMs: number): Promise<void> {
    await collection.updateMany({ _id: { $in: [...ids] }, 'lease.holder': holder }, withLease(holder, lastsMs));
  },
  /** Marks these leases as wanted. */
  async wantLeases(ids: readonly string[]): Promise<void> {
    await collection.updateMany(
      { _id: { $in: [...ids] }, 'lease.holder': { $gt: '' }, 'lease.isWanted': { $ne: true } },
      { $set: { 'lease.isWanted': true } },
    );
  },
  /** These webhooks as they are now, with their leases. */
  byIds: (ids: readonly string[]): Promise<WebhookDoc[]> =>
    collection.find({ _id: { $in: [...ids] } }, inOneBatch(ids)).toArray(),
  async releaseLeases(ids: readonly string[], holder: string): Promise<void> {
    await collection.updateMany({ _id: { $in: [...ids] }, 'lease.holder': holder }, { $set: { lease: null } });
  },
});
