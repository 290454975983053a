/** The tRPC router, built from the contract: one procedure per operation, and nothing that the
 *  contract does not name. */
import { setMaxListeners } from 'node:events';
import { tracked } from '@trpc/server';
import { z } from 'zod';
import { contract } from '../../contracts/index.js';
import type { Operation, ValidationContext } from '../../contracts/operation.js';
import type { AppRouter } from '../client/index.js';
import { ApiError } from '../kit/api-error.js';
import type { Caller, Services, StreamedEvent } from '../kit/caller.js';
import type { Listing } from '../kit/paging.js';
import { authorize } from './authorize.js';
import type { Idempotency } from './idempotency.js';
import { checkInput, refusal } from './input.js';
import type { StoredRules } from './stored-rules.js';
import { type ApiContext, t } from './trpc-http.js';

export interface RouterDeps {
  services: Services;
  /** Completes the faults of a refused body. */
  storedRules: StoredRules;
  idempotency: Pick<Idempotency, 'run'>;
  validationContext: () => ValidationContext;
  /** Runs what a caller waits for. It ends with `unavailable` while the database is away. */
  guard: <T>(work: () => Promise<T>) => Promise<T>;
  /** Runs the reading of a list. */
  listing: Listing;
}

/** The same router serves REST and tRPC. A call is checked in this order: scope, input, then
 *  the service. */
export function createRouter(deps: RouterDeps): AppRouter {
  const records = Object.entries(contract).map(([resource, operations]) => {
    const procedures = Object.entries(operations as Record<string, Operation>).map(([name, operation]) => {
      const service = (deps.services as unknown as LooseServices)[resource]![name]!;
      return [name, procedureOf(operation, service, deps.storedRules[resource]?.[name], deps)] as const;
    });
    return [resource, Object.fromEntries(procedures)] as const;
  });
  return t.router(Object.fromEntries(records)) as unknown as AppRouter;
}

type LooseService = (caller: Caller, input: never) => Promise<unknown>;
type LooseServices = Record<string, Record<string, LooseService>>;

interface Call {
  ctx: ApiContext;
  input: Record<string, unknown>;
  /** Aborts when the client has hung up. */
  signal: AbortSignal | undefined;
}
type StreamService = (caller: Caller, input: never) => Promise<AsyncGenerator<StreamedEvent>>;

function withSignal(caller: Caller, signal: AbortSignal | undefined): Caller {
  if (!signal) return caller;
  // Every call of a batch may wait with it.
  setMaxListeners(0, signal);
  return { ...caller, signal };
}

/** REST gets the service's events as text; a tRPC client gets them parsed, and resumes by
 *  their ids. */
async function subscribe(service: StreamService, { ctx, input, signal }: Call): Promise<AsyncGenerator<unknown>> {
  const events = await service(withSignal(ctx.caller, signal), input as never);
  return ctx.isRest ? events : trackedEvents(events);
}

async function* trackedEvents(events: AsyncGenerator<StreamedEvent>) {
  for await (const { id, data } of events) yield tracked(id, JSON.parse(data));
  // The connection ends, not the stream: the client reconnects.
  throw Object.assign(new Error('the stream was cut'), { name: 'AbortError' });
}

function procedureOf(
  operation: Operation,
  service: LooseService,
  storedRule: StoredRules[string][string] | undefined,
  deps: RouterDeps,
) {
  const { idempotency, validationContext, guard, listing } = deps;

  const authorized = t.procedure.use(async ({ ctx: { caller, maxInputBytes }, getRawInput, next }) => {
    authorize(caller, operation);
    if (maxInputBytes !== undefined && sizeOf(await getRawInput()) > maxInputBytes) {
      throw new ApiError('bad_request', `The input is larger than ${maxInputBytes} bytes.`);
    }
    return next();
  });

  const asSent = authorized.input({ parse: (sent: unknown) => sent as Record<string, unknown> });

  /** All faults of a body are reported at once, whether they follow from the body, the time or
   *  stored data. */
  const checked =
    <T>(work: (call: Call) => Promise<T>) =>
    async ({ ctx, input: sent, signal }: Call): Promise<T> => {
      const { parsed, faults } = checkInput(operation, sent, validationContext(), ctx.strays);
      try {
        if (parsed) return await guard(() => work({ ctx, input: parsed, signal }));
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'validation_error' && error.details)) throw error;
        faults.addAll(error.details);
      }
      if (storedRule) faults.addNew(await guard(() => storedRule(ctx.caller, { ...sent })));
      throw refusal(operation, faults.list());
    };
  if (operation.streams) return asSent.subscription(checked((call) => subscribe(service as StreamService, call)));

  const resolve = async ({ ctx, input, signal }: Call) => {
    const { idempotencyKey: key } = ctx;
    const caller = operation.readOnly ? withSignal(ctx.caller, signal) : ctx.caller;
    // What waits for news reads nothing meanwhile, and has a limit of its own.
    if (operation.isList && operation.readOnly && !input.wait)
      return listing(caller, (reader) => service(reader, input as never));
    if (key === null || !operation.takesKey) return service(caller, input as never);
    const { method, status, secretField } = operation;
    // The path is REST's, so a key means the same request whichever way it is sent.
    const request = { method, path: pathOf(operation, input), key, body: input, secretField };
    const answer = await idempotency.run(caller, request, async (as) => ({
      status,
      body: await service(as, input as never),
    }));
    return answer.body;
  };

  // The guard is outside of the idempotency, which takes an ApiError for a call without effect: one
  // that was given up may still have its own.
  const answering = asSent.output(outputOf(operation));
  return operation.readOnly ? answering.query(checked(resolve)) : answering.mutation(checked(resolve));
}

/** Strips what the contract does not name. A replay leaves the secret out. */
function outputOf({ output, secretField }: Operation): z.ZodType {
  return secretField && output instanceof z.ZodObject ? output.partial({ [secretField]: true } as never) : output;
}

/** @throws ApiError `bad_request` where the input is nested deeper than the stack goes */
function sizeOf(input: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(input) ?? '');
  } catch (error) {
    if (error instanceof RangeError) throw new ApiError('bad_request', 'The input is nested too deeply.');
    throw error;
  }
}

const pathOf = (operation: Operation, input: Record<string, unknown>) =>
  operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])));
