/** Removes data past the operator's retention: ended deliveries, events that no delivery or replay
 *  needs, and UNMATCHED dust. It works in bounded batches, each in one transaction with the
 *  counts of the lists, so it may end at any moment and run in several processes. */
import type mongoose from 'mongoose';
import { parseAmount } from '../domain/amount.js';
import type { CountSegments } from '../kit/count-segments.js';
import type { Session } from '../kit/database.js';
import { firstIdOf } from '../kit/ids.js';
import { accountsOf } from '../kit/owners.js';
import type { ProofStore } from '../proving/index.js';

const BATCH = 500;

interface Row {
  _id: string;
  accountId: string;
}
interface DeliveryRow extends Row {
  webhookId: string;
  subjectId: string;
  eventId: string;
  status: string;
}
interface EventRow extends Row {
  subjectId: string;
}
interface PaymentRow extends Row {
  status: string;
  amount: string;
}

export interface RetentionDeps {
  db: mongoose.mongo.Db;
  countSegments: Pick<CountSegments, 'touch'>;
  proofs: Pick<ProofStore, 'removeOf'>;
  transaction: <T>(work: (session: Session) => Promise<T>) => Promise<T>;
}

interface RetentionRules {
  /** Removes what was created before; deliveries, what ended before. */
  before: Date;
  /** UNMATCHED payments below this amount are dust; 0 keeps them all. */
  dustStroops: bigint;
}

interface Removed {
  deliveries: number;
  events: number;
  payments: number;
}

/** Runs until nothing is left to remove or the signal aborts. */
export async function removeExpired(deps: RetentionDeps, rules: RetentionRules, signal: AbortSignal): Promise<Removed> {
  const { db, proofs } = deps;
  const { before, dustStroops } = rules;
  const deliveries = db.collection<DeliveryRow>('deliveries');
  const events = db.collection<EventRow>('events');
  const payments = db.collection<PaymentRow>('payments');
  const remove = <R extends Row>(collection: mongoose.mongo.Collection<R>, list: string, sweep: Sweep<R>) =>
    removeAll(deps, collection, list, sweep, signal);

  return {
    deliveries: await remove(deliveries, 'deliveries', {
      before: firstIdOf('dlv', before),
      filter: { status: { $ne: 'PENDING' }, endedAt: { $lt: before } },
      choose: (rows) => withoutReplayed(db, rows),
    }),
    events: await remove(events, 'events', {
      before: firstIdOf('evt', before),
      // An unnumbered event still gets its deliveries.
      filter: { sequence: { $ne: 0 } },
      choose: async (rows) => withoutReplayed(db, await withoutDeliveries(db, rows)),
    }),
    payments:
      dustStroops === 0n
        ? 0
        : await remove(payments, 'payments', {
            before: firstIdOf('pay', before),
            // A payment may be assigned to a link in the meantime: check again when removing it.
            filter: { status: 'UNMATCHED' },
            alongWith: (accounts, ids, session) => proofs.removeOf(accounts, ids, session),
            choose: async (rows) => rows.filter(({ amount }) => (parseAmount(amount) ?? dustStroops) < dustStroops),
          }),
  };
}

interface Sweep<R extends Row> {
  /** Only smaller ids; ids begin with the time of creation. */
  before: string;
  /** Checked when a row is found and again when it is removed. */
  filter: object;
  choose: (rows: R[]) => Promise<R[]>;
  /** Removes what belongs to them. */
  alongWith?: (accountIds: readonly string[], ids: readonly string[], session: Session) => Promise<void>;
}

async function removeAll<R extends Row>(
  { countSegments, transaction }: RetentionDeps,
  collection: mongoose.mongo.Collection<R>,
  list: string,
  { before, filter, choose, alongWith }: Sweep<R>,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  let after = '';
  while (!signal.aborted) {
    const old = { ...filter, _id: { $gt: after, $lt: before } } as mongoose.mongo.Filter<R>;
    // Without the data of events, which may have millions of characters.
    const found = collection.find(old, { projection: { data: 0 } });
    const rows = (await found.sort({ _id: 1 }).limit(BATCH).toArray()) as unknown as R[];
    const chosen = await choose(rows);
    if (chosen.length > 0) {
      removed += await transaction(async (session) => {
        const accountId = { $in: accountsOf(chosen) };
        const ids = { ...filter, _id: { $in: chosen.map(({ _id }) => _id) }, accountId } as mongoose.mongo.Filter<R>;
        const { deletedCount } = await collection.deleteMany(ids, { session });
        await alongWith?.(
          accountsOf(chosen),
          chosen.map(({ _id }) => _id),
          session,
        );
        for (const [accountId, owned] of byAccount(chosen)) {
          await countSegments.touch(
            `${list}:${accountId}`,
            owned.map(({ _id }) => _id),
            0,
            session,
          );
        }
        return deletedCount;
      });
    }
    if (rows.length < BATCH) break;
    after = rows.at(-1)!._id;
  }
  return removed;
}

/** A replay in preparation may take any delivery and event of its account. It lasts for seconds. */
async function withoutReplayed<R extends Row>(db: mongoose.mongo.Db, rows: R[]): Promise<R[]> {
  const open = await db.collection<Row>('replays').find().project<Row>({ accountId: 1 }).toArray();
  const replayed = new Set(open.map(({ accountId }) => accountId));
  return rows.filter(({ accountId }) => !replayed.has(accountId));
}

/** A delivery needs its event as long as it can be sent: its webhook may be paused, and a replay
 *  sends FAILED ones. */
async function withoutDeliveries(db: mongoose.mongo.Db, rows: EventRow[]): Promise<EventRow[]> {
  const needed = new Set<string>();
  for (const [accountId, owned] of byAccount(rows)) {
    const webhooks = await db
      .collection<Row>('webhooks')
      .find({ accountId }, { projection: { _id: 1 } })
      .toArray();
    // Matches the order of the index.
    const kept = db.collection<DeliveryRow>('deliveries').find(
      {
        accountId,
        webhookId: { $in: webhooks.map(({ _id }) => _id) },
        subjectId: { $in: owned.map(({ subjectId }) => subjectId) },
        eventId: { $in: owned.map(({ _id }) => _id) },
      },
      { projection: { eventId: 1 } },
    );
    for await (const { eventId } of kept) needed.add(eventId);
  }
  return rows.filter(({ _id }) => !needed.has(_id));
}

function byAccount<R extends Row>(rows: readonly R[]): Map<string, R[]> {
  const groups = new Map<string, R[]>();
  for (const row of rows) {
    const group = groups.get(row.accountId);
    if (group) group.push(row);
    else groups.set(row.accountId, [row]);
  }
  return groups;
}
