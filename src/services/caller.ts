/** The caller of a service, as the API key or session shows it, and the type of all services. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf, ParsedInputOf } from '../../contracts/operation.js';
import type { Role } from '../../contracts/roles.js';
import type { IdPrefix } from '../domain/ids.js';
import type { Doing } from './doing.js';

export interface Caller {
  accountId: string;
  /** Empty where no key is used. */
  keyId: string;
  /** Label of the key; absent where none is used. */
  keyName?: string;
  /** Acts without a key or a user: the operator's command line, or the service itself. */
  agent?: 'cli' | 'system';
  /** The client's address, as limits count it. Absent where there is none. */
  address?: string;
  /** What the caller is about; absent for what only reads. */
  doing?: Doing;
  /** A user's: whether the role may change anything. */
  scope: 'FULL' | 'READ';
  /** The user who is signed in to the dashboard with a passkey. Absent for an API key. */
  user?: { id: string; name: string; role: Role };
  /** Hash of the key. Open streams end when the key is revoked. Absent where no key is sent. */
  keyHash?: string;
  /** Aborts when the caller has hung up. Absent where nothing waits for that. */
  signal?: AbortSignal;
  /** With an Idempotency-Key: the id that a created resource must get, the same if the creation is done again after a crash. */
  reservedId?: (prefix: IdPrefix) => string;
  /** With an Idempotency-Key: an earlier run of the request did not answer, and may have had its effect. */
  isRepeated?: boolean;
}

/** The user whose checkouts, and their payments, are all that the caller sees of them; undefined for one who sees every one. */
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
