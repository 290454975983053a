/** Counts deliveries to a webhook by how they went. */
import type mongoose from 'mongoose';
import type { DeliveryDoc, DeliveryStatus } from './delivery-store.js';

/** Any date at all. */
const EPOCH = new Date(0);
const LATENCIES = 200;

export interface DeliveryHealth {
  oldestPendingAt: Date | null;
  delivered: number;
  failed: number;
  lastDeliveredAt: Date | null;
  /** Times of the latest attempts that delivered, in no order. */
  latenciesMs: number[];
}

/** @param since counts deliveries that ended from then on */
export async function readHealth(
  collection: mongoose.mongo.Collection<DeliveryDoc>,
  owner: { webhookId: string; accountId: string },
  since: Date,
): Promise<DeliveryHealth> {
  const ended = (status: DeliveryStatus, from: Date) => ({ ...owner, status, endedAt: { $gte: from } });
  const [[oldest], delivered, failed, [newest], latest] = await Promise.all([
    collection
      .find({ ...owner, status: 'PENDING' }, { projection: { createdAt: 1 } })
      .sort({ _id: 1 })
      .limit(1)
      .toArray(),
    collection.countDocuments(ended('DELIVERED', since)),
    collection.countDocuments(ended('FAILED', since)),
    collection
      .find(ended('DELIVERED', EPOCH), { projection: { endedAt: 1 } })
      .sort({ endedAt: -1 })
      .limit(1)
      .toArray(),
    collection
      .find<{ ms?: number }>(ended('DELIVERED', since), {
        projection: { _id: 0, ms: { $last: '$attempts.durationMs' } },
      })
      .sort({ endedAt: -1 })
      .limit(LATENCIES)
      .toArray(),
  ]);
  return {
    oldestPendingAt: oldest?.createdAt ?? null,
    delivered,
    failed,
    lastDeliveredAt: newest?.endedAt ?? null,
    latenciesMs: latest.flatMap(({ ms }) => ms ?? []),
  };
}
