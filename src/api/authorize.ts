/** Decides which caller may call which operation, for procedures, REST, downloads and streams alike. */
import type { Operation } from '../../contracts/operation.js';
import { ApiError } from '../domain/api-error.js';
import type { Caller } from '../services/caller.js';

type Asking = Pick<Caller, 'user' | 'scope'>;

/** A user by the role, an API key by its scope. */
export const mayCall = ({ user, scope }: Asking, operation: Operation): boolean =>
  user ? operation.roles.includes(user.role) : scope === 'FULL' || operation.readOnly;

/** @throws ApiError `forbidden` */
export function authorize(caller: Asking, operation: Operation): void {
  if (mayCall(caller, operation)) return;
  throw new ApiError(
    'forbidden',
    caller.user ? `As ${caller.user.role} you may not do this.` : 'This API key may only read.',
  );
}
