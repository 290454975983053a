/** The caller of a service, by API key or session, and the type of all services. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf, ParsedInputOf } from '../../contracts/operation.js';
import type { Role } from '../../contracts/roles.js';
import type { Doing } from './doing.js';
import type { IdPrefix } from './ids.js';

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
  user?: { id: string; name: string; role: Role };
  /** Hash of the key; revoking the key ends open streams. Absent without a key. */
  keyHash?: string;
  /** Hash of the session's token; its end ends what waits. Absent without a session. */
  sessionHash?: string;
  /** Aborts when the caller hangs up. Absent if nothing waits for that. */
  signal?: AbortSignal;
  /** With an Idempotency-Key: the id for the created resource, the same when the creation is repeated after a crash. */
  reservedId?: (prefix: IdPrefix) => string;
  /** With an Idempotency-Key: an earlier run of the request ended without an answer, and may have taken effect. */
  isRepeated?: boolean;
}

/** The user whose checkouts and payments alone the caller sees; undefined for callers who see all. */
export const onlySeller = ({ user }: Pick<Caller, 'user'>): string | undefined =>
  user?.role === 'CASHIER' ? user.id : undefined;

/** One function per operation of a resource: takes the caller first, returns the resource or `{items, meta}`, throws `ApiError`. */
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
