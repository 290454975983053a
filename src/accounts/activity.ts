/** Activity in the API: reading only. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { ServiceOf } from '../kit/caller.js';
import { createdAtOf } from '../kit/ids.js';
import type { ForAccount } from '../stores.js';
import type { ActivityDoc } from './activity-store.js';

type Activity = OutputOf<Contract['activity']['list']>['items'][number];

export function createActivityService({
  forAccount,
}: {
  forAccount: ForAccount<'activities'>;
}): ServiceOf<Contract['activity']> {
  return {
    async list({ accountId }, { page, pageSize, operation, createdFrom, createdTo, ...equal }) {
      const filter = {
        ...equal,
        // The procedure's name identifies the operation, too.
        operation: operation?.replace('.', '_'),
        createdFrom: createdFrom === undefined ? undefined : new Date(createdFrom),
        createdTo: createdTo === undefined ? undefined : new Date(createdTo),
      };
      const { items, meta } = await forAccount(accountId).activities.list(filter, { page, pageSize });
      return { items: items.map(toActivity), meta };
    },
  };
}

const toActivity = ({ _id, actor, operation, subjectId, changes, address }: ActivityDoc): Activity => ({
  id: _id,
  at: createdAtOf(_id).toISOString(),
  ...{ actor, operation, subjectId, changes, address },
});
