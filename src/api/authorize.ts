/** Decides which caller may call which operation, for procedures, REST, downloads and streams alike. */
import type { Operation } from '../../contracts/operation.js';
import { ApiError } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';

type Asking = Pick<Caller, 'user' | 'scope'>;

/** A user by the role, an API key by its scope. */
export const mayCall = ({ user, scope }: Asking, operation: Operation): boolean =>
  user ? operation.roles.includes(user.role) : scope === 'FULL' || (operation.readOnly && !operation.needsFullKey);

/** @throws ApiError `forbidden` */
export function authorize(caller: Asking, operation: Operation): void {
  if (mayCall(caller, operation)) return;
  throw new ApiError('forbidden', refusalOf(caller, operation));
}

function refusalOf({ user }: Asking, { readOnly }: Operation): string {
  if (user) return `The role ${user.role} does not allow this.`;
  return readOnly ? 'This operation needs a FULL API key.' : 'This API key may only read.';
}
