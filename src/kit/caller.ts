/** The caller of a service, by API key or session, and the type of all services. */
import { type Contract, contract } from '../../contracts/index.js';
import type { Language } from '../../contracts/languages.js';
import {
  type Effect,
  type Operation,
  type OutputOf,
  operationIdOf,
  type ParsedInputOf,
} from '../../contracts/operation.js';
import type { Role } from '../../contracts/roles.js';
import type { IdPrefix } from './ids.js';

// Passes each function of a service the name of its operation, under which its changes
// are recorded.

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

export interface Caller {
  accountId: string;
  /** Empty without a key. */
  keyId: string;
  /** Label of the key; absent without one. */
  keyName?: string;
  /** Set for a caller without key or user: the operator's command line, or the service itself. */
  agent?: 'cli' | 'system';
  /** The client's address, for limits. Absent if there is none. */
  address?: string;
  /** The operation being called; absent for reads. */
  doing?: Doing;
  /** A user's: whether the role may change anything. */
  scope: 'FULL' | 'READ';
  /** The user who is signed in to the dashboard with a passkey. Absent for an API key. */
  user?: { id: string; name: string; role: Role; language: Language | null };
  /** Hash of the key; revoking the key ends open streams. Absent without a key. */
  keyHash?: string;
  /** Hash of the session's token; its end ends what waits. Absent without a session. */
  sessionHash?: string;
  /** Aborts when the caller hangs up. Absent if nothing waits for that. */
  signal?: AbortSignal;
  /** With an Idempotency-Key: the id for the created resource, the same when the creation is
   *  repeated after a crash. */
  reservedId?: (prefix: IdPrefix) => string;
  /** With an Idempotency-Key: an earlier run of the request ended without an answer, and may have
   *  taken effect. */
  isRepeated?: boolean;
}

/** The user whose checkouts and payments alone the caller sees; undefined for callers who
 *  see all. */
export const onlySeller = ({ user }: Pick<Caller, 'user'>): string | undefined =>
  user?.role === 'CASHIER' ? user.id : undefined;

/** One function per operation of a resource: takes the caller first, returns the resource or
 *  `{items, meta}`, throws `ApiError`. */
export type ServiceOf<Resource> = {
  [Name in keyof Resource]: (caller: Caller, input: ParsedInputOf<Resource[Name]>) => Promise<AnswerOf<Resource[Name]>>;
};
type AnswerOf<Op> = Op extends { streams: true } ? AsyncIterable<StreamedEvent> : OutputOf<Op>;

/** One event of a stream. */
export interface StreamedEvent {
  /** The event's number: a client resumes after it. */
  id: string;
  type: string;
  /** JSON of the operation's output, on one line. */
  data: string;
}

export type Services = { [Name in keyof Contract]: ServiceOf<Contract[Name]> };
