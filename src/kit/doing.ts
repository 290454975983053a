/** Passes each function of a service the name of its operation, under which its changes are recorded. */
import { type Contract, contract } from '../../contracts/index.js';
import { type Effect, type Operation, operationIdOf } from '../../contracts/operation.js';
import type { Caller, ServiceOf, Services } from './caller.js';

/** The operation of a call. */
export interface Doing {
  operation: string;
  effect: Effect;
  /** The validated input. */
  input: Readonly<Record<string, unknown>>;
}

type Call = (caller: Caller, input: Record<string, unknown>) => Promise<unknown>;

/** The same service; reads are unchanged. */
export function withDoing<Name extends keyof Contract>(
  resource: Name,
  service: ServiceOf<Contract[Name]>,
): ServiceOf<Contract[Name]> {
  const calls = service as unknown as Record<string, Call>;
  const doing = Object.entries(contract[resource] as unknown as Record<string, Operation>).map(([name, { effect }]) => {
    const call = calls[name]!;
    if (effect === 'reads') return [name, call];
    const operation = operationIdOf(resource, name);
    return [
      name,
      (caller: Caller, input: object) =>
        call({ ...caller, doing: { operation, effect, input } } as Caller, { ...input }),
    ];
  });
  return Object.fromEntries(doing) as ServiceOf<Contract[Name]>;
}

/** The same for every resource of the contract. */
export const withAllDoing = (services: Services): Services =>
  Object.fromEntries(
    Object.keys(contract).map((name) => [name, withDoing(name as never, services[name as keyof Services] as never)]),
  ) as unknown as Services;
