/** The views' access to the API: tRPC procedures by name, with the contract's types, cached and
 *  refreshed by TanStack Query. */
import {
  keepPreviousData,
  QueryClient,
  type UseQueryResult,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/preact-query';
import { createTRPCUntypedClient, httpBatchLink, httpLink, splitLink, TRPCClientError } from '@trpc/client';
import type { ErrorBody } from '../../../contracts/errors.js';
import type { Contract } from '../../../contracts/index.js';
import type { Language } from '../../../contracts/languages.js';
import type { InputOf, OutputOf } from '../../../contracts/operation.js';
import { isSecretSeed, SEED_REFUSED } from '../../../contracts/secret-seed.js';
import { BASE } from './address.js';
import { forgetSent, sendOnce } from './sent.js';
import { shown, spokenLanguage, t, textIn } from './texts/texts.js';

type Names<Readable> = {
  [Resource in keyof Contract & string]: {
    [Name in keyof Contract[Resource] & string]: (
      Contract[Resource][Name] extends { method: 'GET' }
        ? true
        : false
    ) extends Readable
      ? `${Resource}.${Name}`
      : never;
  }[keyof Contract[Resource] & string];
}[keyof Contract & string];
/** Procedures that only read, such as `payments.list`. */
export type ReadName = Names<true>;
/** Procedures that write, such as `payments.accept`. */
export type WriteName = Names<false>;
type OperationOf<Name> = Name extends `${infer Resource}.${infer Op}`
  ? Resource extends keyof Contract
    ? Op extends keyof Contract[Resource]
      ? Contract[Resource][Op]
      : never
    : never
  : never;
export type Input<Name extends ReadName | WriteName> = InputOf<OperationOf<Name>>;
export type Output<Name extends ReadName | WriteName> = OutputOf<OperationOf<Name>>;
/** One item of a list. */
export type Item<Name extends ReadName> = Output<Name> extends { items: (infer One)[] } ? One : never;

const TRPC = `${BASE}/trpc`;
const client = createTRPCUntypedClient({
  links: [
    splitLink({
      condition: ({ type }) => type === 'mutation',
      // An Idempotency-Key is of one call alone.
      true: httpLink({ url: TRPC, headers: ({ op }) => ({ 'idempotency-key': String(op.context.key) }) }),
      // The server takes at most 20 calls in one request, and 16 KiB for request line and
      // headers together.
      false: httpBatchLink({ url: TRPC, maxItems: 20, maxURLLength: 8_000 }),
    }),
  ],
});

/** A call that was refused or did not arrive. `fields` holds the fault of each field of a form. */
export interface Failure {
  code: ErrorBody['code'] | 'unreachable';
  message: string;
  fields: Readonly<Record<string, string>>;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof HeldBack) return error.failure;
  const body = error instanceof TRPCClientError ? (error.data?.error as ErrorBody | undefined) : undefined;
  return body ? toFailure(body) : UNREACHABLE;
}

export const toFailure = ({ code, message, details = [] }: ErrorBody): Failure => ({
  code,
  message: inWords(textIn('failure', code), message),
  // Reversed, so that the first of several faults of a field remains.
  fields: Object.fromEntries(
    [...details].reverse().map((fault) => [fault.path, inWords(textIn('fault', fault.code), fault.message)]),
  ),
});

/** The API speaks English. In another language its code is said, and its sentence behind that for
 *  what it tells beyond. */
function inWords(said: string | null, message: string): string {
  return said === null || spokenLanguage() === 'en' ? message : `${said} (${shown(message)})`;
}

const UNREACHABLE: Failure = {
  code: 'unreachable',
  message: t('serviceNotAnswerCheck'),
  fields: {},
};

/** What this page does not send. */
class HeldBack extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** @throws HeldBack with the fields that hold a secret seed: it does not leave the browser */
export function holdSeeds(input: unknown): void {
  const paths = seedsIn(input);
  if (paths.length === 0) return;
  const fields = Object.fromEntries(paths.map((path) => [path, SEED_REFUSED]));
  throw new HeldBack({ code: 'validation_error', message: SEED_REFUSED, fields });
}

/** Paths of the secret seeds, `recipients.0`. */
function seedsIn(input: unknown, path = ''): string[] {
  if (typeof input === 'string') return isSecretSeed(input) ? [path] : [];
  if (typeof input !== 'object' || input === null) return [];
  return Object.entries(input).flatMap(([name, value]) => seedsIn(value, path ? `${path}.${name}` : name));
}

/** Interval for changes that the pulse does not notice, such as another user's edit of a name. */
const REFRESH_MS = 30_000;
/** Interval of retries after a passing failure. */
const LOOK_AGAIN_MS = 5_000;
const PASSING: readonly Failure['code'][] = ['unreachable', 'internal', 'unavailable', 'rate_limited'];

type Interval = number | false;

const soonerAfterFailure =
  <Answer>(interval: Interval | ((answer: Answer | undefined) => Interval)) =>
  ({ state: { data, error } }: { state: { data: Answer | undefined; error: Error | null } }): Interval => {
    if (error && PASSING.includes(failureOf(error).code)) return LOOK_AGAIN_MS;
    return typeof interval === 'function' ? interval(error ? undefined : data) : interval;
  };

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      placeholderData: keepPreviousData,
      refetchInterval: soonerAfterFailure(REFRESH_MS),
      networkMode: 'always',
      retry: (count, error) => count < 2 && ['unreachable', 'internal'].includes(failureOf(error).code),
    },
    mutations: { networkMode: 'always' },
  },
});

const SESSION_KEY = ['session'];

const isNotSession = ({ queryKey }: { queryKey: readonly unknown[] }) => queryKey[0] !== SESSION_KEY[0];

/** Ends the session in the browser when the server has ended it, so that the page asks to sign
 *  in again. */
function noteRefusal(error: unknown): void {
  if (failureOf(error).code === 'unauthorized') queryClient.setQueryData(SESSION_KEY, null);
}
queryClient.getQueryCache().config.onError = noteRefusal;
queryClient.getMutationCache().config.onError = noteRefusal;

const keyOf = (name: string, input?: unknown) => [...name.split('.'), ...(input === undefined ? [] : [input])];

type ReadOptions<Answer> = {
  /** False: sends no request yet. */
  enabled?: boolean;
  /** False: reads only when the input changes. A function is told the answer; undefined before it,
   *  and after a failure. */
  refetchInterval?: Interval | ((answer: Answer | undefined) => Interval);
  staleTime?: number;
  /** False: hides the answer for the previous input while loading. */
  keepPrevious?: boolean;
};

/** Reads, caches, and refreshes when something may have changed. */
export function useRead<Name extends ReadName>(
  name: Name,
  input: Input<Name>,
  options: ReadOptions<Output<Name>> = {},
): UseQueryResult<Output<Name>> {
  return useQuery(readOf(name, input, options));
}

/** Like `useRead` for several inputs. */
export const useReads = <Name extends ReadName>(
  name: Name,
  inputs: readonly Input<Name>[],
  options: ReadOptions<Output<Name>> = {},
): readonly UseQueryResult<Output<Name>>[] =>
  useQueries({ queries: inputs.map((input) => readOf(name, input, options)) });

/** Gives up a read that is under way. */
export const stopRead = <Name extends ReadName>(name: Name, input: Input<Name>): Promise<void> =>
  queryClient.cancelQueries({ queryKey: keyOf(name, input) });

function readOf<Name extends ReadName>(
  name: Name,
  input: Input<Name>,
  { keepPrevious = true, refetchInterval = REFRESH_MS, ...options }: ReadOptions<Output<Name>>,
) {
  return {
    queryKey: keyOf(name, input),
    queryFn: ({ signal }: { signal: AbortSignal }) => {
      holdSeeds(input);
      return client.query(name, input, { signal }) as Promise<Output<Name>>;
    },
    ...(keepPrevious ? {} : { placeholderData: undefined }),
    refetchInterval: soonerAfterFailure(refetchInterval),
    ...options,
  };
}

/** Writes. All shown data is refreshed before the write counts as done. A write whose answer was
 *  lost is the same one when it is sent again; `filled` says what makes two of them the same, where
 *  the input holds times that follow from the moment. */
export function useWrite<Name extends WriteName>(name: Name) {
  const queries = useQueryClient();
  const { mutateAsync, ...write } = useMutation({
    mutationFn: ({ input, filled }: { input: Input<Name>; filled: unknown }) => {
      holdSeeds(input);
      const send = (given: Input<Name>, key: string) =>
        client.mutation(name, given, { context: { key } }) as Promise<Output<Name>>;
      return sendOnce({ name, filled, input }, send, (error) => failureOf(error).code);
    },
    onSettled: () => queries.invalidateQueries({ predicate: isNotSession }),
  });
  return { ...write, mutateAsync: (input: Input<Name>, filled: unknown = input) => mutateAsync({ input, filled }) };
}

/** Refreshes all shown data of these resources. */
export function refresh(resources: readonly string[]): void {
  void queryClient.invalidateQueries({ predicate: ({ queryKey }) => resources.includes(String(queryKey[0])) });
}

export interface Session {
  account: Output<'account.get'>;
  scope: 'FULL' | 'READ';
  /** Empty for a user. */
  keyId: string;
  /** Null for an API key. */
  user: {
    id: string;
    name: string;
    role: 'OWNER' | 'MANAGER' | 'CASHIER' | 'VIEWER';
    language: Language | null;
  } | null;
  /** Procedures that the caller may call: `payments.accept`. */
  may: readonly string[];
  networks: ('PUBLIC' | 'TESTNET' | 'LOCAL')[];
}

/** Removes the data of the previous session. A user of another language gets the page in it. */
export function setSession(session: Session | null): void {
  queryClient.removeQueries({ predicate: isNotSession });
  if (session === null) forgetSent();
  queryClient.setQueryData(SESSION_KEY, session);
  const { language = null } = session?.user ?? {};
  if (language !== null && language !== spokenLanguage()) location.reload();
}

/** Stores the user's language; null: as the browser prefers. @returns the failure; null once the
 *  page comes in it */
export async function chooseLanguage(language: Language | null): Promise<Failure | null> {
  const answer = await callSession('PATCH', { language });
  if ('failure' in answer) return answer.failure;
  location.reload();
  return null;
}

async function callSession(method: string, body?: unknown): Promise<{ data: Session } | { failure: Failure }> {
  try {
    holdSeeds(body);
    const answer = await fetch(`${BASE}/session`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const { data, error } = (await answer.json()) as { data: Session; error: ErrorBody | null };
    return error ? { failure: toFailure(error) } : { data };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** Null: not signed in. */
export const useSession = () =>
  useQuery<Session | null>({
    queryKey: SESSION_KEY,
    queryFn: async () => {
      const answer = await callSession('GET');
      if ('data' in answer) return answer.data;
      if (answer.failure.code === 'unauthorized') return null;
      throw new Error(answer.failure.message);
    },
    staleTime: 60_000,
  });

/** Asks for the session again, which the server has just opened. */
export const renewSession = (): void => void queryClient.invalidateQueries({ queryKey: SESSION_KEY });

/** @returns the failure, or null once signed in */
export async function signIn(key: string): Promise<Failure | null> {
  if (isSecretSeed(key)) return { code: 'validation_error', message: SEED_REFUSED, fields: { key: SEED_REFUSED } };
  const answer = await callSession('POST', { key });
  if ('failure' in answer) return answer.failure;
  setSession(answer.data);
  return null;
}

/** @returns the failure, or null once signed out */
export async function signOut(): Promise<Failure | null> {
  const answer = await callSession('DELETE');
  if ('failure' in answer) return answer.failure;
  setSession(null);
  return null;
}
