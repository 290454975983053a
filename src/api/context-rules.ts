/** Checks an operation's `contextRules` before its function, after the look-up of the Idempotency-Key. */
import { contract } from '../../contracts/index.js';
import type { Operation, ValidationContext } from '../../contracts/operation.js';
import { badRequestOf, invalid } from '../kit/api-error.js';
import type { Caller, ServiceOf, Services } from '../kit/caller.js';
import { createdAtOf } from '../kit/ids.js';

type Call = (caller: Caller, input: object) => Promise<unknown>;

/** The same service; a broken rule throws `validation_error`, or `bad_request` without a body. A repeated run is checked as of the first one. */
export function withContextRules<Resource extends object>(
  operations: Resource,
  service: ServiceOf<Resource>,
  validationContext: () => ValidationContext,
): ServiceOf<Resource> {
  const calls = service as unknown as Record<string, Call>;
  const checked = Object.entries(operations as Record<string, Operation>).map(([name, { contextRules, hasBody }]) => {
    const call = calls[name]!;
    if (!contextRules) return [name, call];
    return [
      name,
      async (caller: Caller, input: object) => {
        const context = { ...validationContext(), ...(caller.isRepeated ? { now: firstRunOf(caller) } : {}) };
        const [fault, ...others] = contextRules({ ...input }, context);
        if (fault) throw hasBody ? invalid(fault, ...others) : badRequestOf([fault, ...others]);
        return call(caller, input);
      },
    ];
  });
  return Object.fromEntries(checked) as ServiceOf<Resource>;
}

/** The same for every resource of the contract. */
export const withAllRules = (services: Services, validationContext: () => ValidationContext): Services =>
  Object.fromEntries(
    Object.entries(contract).map(([name, operations]) => [
      name,
      withContextRules(operations, services[name as keyof Services] as never, validationContext),
    ]),
  ) as unknown as Services;

/** A reserved id has the time of the first run. */
const firstRunOf = ({ reservedId }: Caller): Date => createdAtOf(reservedId!('key'));
