/** Activity in the API: reading only. */
import type mongoose from 'mongoose';
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, nullable, openCollection, shape } from '../kit/collection.js';
import { type Insert, insertOf } from '../kit/database.js';
import { createGrownCount } from '../kit/grown-count.js';
import { createdAtOf, firstIdOf } from '../kit/ids.js';
import { type PageRequest, pageOf, pageOfKnown, withinIds } from '../kit/paging.js';
import type { ForAccount } from '../stores.js';
import type { Actor, Change } from './commit.js';

// Activity: what changed in an account. A record is inserted in the transaction of the change;
// there is no way to change or remove one.

const ACTIVITIES = define(
  'activities',
  {
    /** Holds the time. */
    _id: String,
    accountId: String,
    actor: shape<Actor>(),
    operation: String,
    subjectId: String,
    changes: [shape<Change>()],
    address: nullable(String),
  },
  [
    { key: { accountId: 1, _id: -1 } },
    { key: { accountId: 1, subjectId: 1, _id: -1 } },
    { key: { accountId: 1, 'actor.id': 1, _id: -1 } },
    { key: { accountId: 1, operation: 1, _id: -1 } },
  ],
);

export interface ActivityDoc extends DocOf<typeof ACTIVITIES> {}

interface ActivityFilter {
  actorId?: string | undefined;
  operation?: string | undefined;
  subjectId?: string | undefined;
  /** Inclusive. */
  createdFrom?: Date | undefined;
  /** Exclusive. */
  createdTo?: Date | undefined;
}

/** What works across accounts: for jobs. */
export type ActivityStore = ReturnType<typeof createActivityStore>['system'];

export function createActivityStore(connection: mongoose.Connection, clock: Pick<Clock, 'nowMs'>) {
  const collection = openCollection<ActivityDoc>(connection, ACTIVITIES);
  const count = createGrownCount(collection, 'act', clock);
  return {
    forAccount: (accountId: string) => ({
      list({ actorId, operation, subjectId, createdFrom, createdTo }: ActivityFilter, request: PageRequest) {
        const equal = {
          accountId,
          ...(actorId === undefined ? {} : { 'actor.id': actorId }),
          ...(operation === undefined ? {} : { operation }),
          ...(subjectId === undefined ? {} : { subjectId }),
        };
        const ids = {
          from: createdFrom && firstIdOf('act', createdFrom),
          to: createdTo && firstIdOf('act', createdTo),
        };
        const listed = { ...equal, ...withinIds(ids) };
        return pageOfKnown(collection, listed, { ...request, sort: { _id: -1 } }, () => count(equal, ids));
      },
    }),

    system: {
      /** For the transaction of the changes. */
      insertOf: (batch: readonly ActivityDoc[]): Insert => insertOf(collection, batch),
    },
  };
}

type Activity = OutputOf<Contract['activity']['list']>['items'][number];

export function createActivityService({
  forAccount,
}: {
  forAccount: ForAccount<'activities'>;
}): ServiceOf<Contract['activity']> {
  return {
    async list(caller, { page, pageSize, operation, createdFrom, createdTo, ...equal }) {
      const filter = {
        ...equal,
        // The procedure's name identifies the operation, too.
        operation: operation?.replace('.', '_'),
        createdFrom: createdFrom === undefined ? undefined : new Date(createdFrom),
        createdTo: createdTo === undefined ? undefined : new Date(createdTo),
      };
      const { items, meta } = await forAccount(caller.accountId).activities.list(
        filter,
        pageOf(caller, { page, pageSize }),
      );
      return { items: items.map(toActivity), meta };
    },
  };
}

const toActivity = ({ _id, actor, operation, subjectId, changes, address }: ActivityDoc): Activity => ({
  id: _id,
  at: createdAtOf(_id).toISOString(),
  ...{ actor, operation, subjectId, changes, address },
});
