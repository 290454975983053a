/** Faults on demand: which are in force, for which requests, and for how long. They end with
 *  the process. */
import { StrKey } from '@stellar/stellar-sdk/base';
import { z } from 'zod';
import type { Clock } from './clock.js';
import { PROTOCOL_VERSION } from './headers.js';
import { createHiding, type HiddenIds, type ListKind, type Place } from './hiding.js';
import type { LedgerDocuments } from './records.js';
import { createUndecodable, PARTS, type Undecodable } from './undecodable.js';

/** The two interfaces of the ledger. */
export type Api = 'horizon' | 'rpc';

const api = z.enum(['horizon', 'rpc']).optional();
const durationMs = z.number().int().positive().optional();
const count = z.number().int().positive().optional();

const scope = {
  /** Limits it to requests to this interface; otherwise both. */
  api,
  /** Limits it to requests whose path begins with this, e.g. `/payments`. A call of Stellar RPC has
   *  the path `/rpc/` and its method. */
  path: z.string().startsWith('/').optional(),
  method: z.enum(['GET', 'POST']).optional(),
  /** Requests that it hits before it ends; without a count it stays in force. */
  count,
  durationMs,
  /** The chance of hitting a matching request. */
  probability: z.number().gt(0).max(1).optional(),
};

/** A list, or its values in one text, separated by commas. */
const listOf = <const Value extends string>(values: Value[]) => {
  const list = z.array(z.enum(values));
  return z.union([
    list,
    z
      .string()
      .transform((text) => text.split(','))
      .pipe(list),
  ]);
};

const account = z.string().refine(StrKey.isValidEd25519PublicKey, 'a G... address').optional();

const hideSchema = z
  .strictObject({
    kind: z.literal('hide'),
    /** The operation's id, as Horizon writes it. */
    operation: z.union([z.string().regex(/^\d+$/), z.int().positive().transform(String)]).optional(),
    /** Instead of `operation`: the next `count` payments to this account (all without a count). */
    account,
    count,
    /** Account histories, lists of the whole network, events of Stellar RPC. */
    from: listOf(['accounts', 'feed', 'rpc']).default(['accounts', 'feed']),
    lists: listOf(['payments', 'operations', 'effects']).default(['payments', 'operations']),
    durationMs,
  })
  .refine(({ operation, account }) => (operation === undefined) !== (account === undefined), {
    message: 'give either an operation or an account',
  });

const undecodableSchema = z.strictObject({
  kind: z.literal('undecodable'),
  api,
  /** Limits it to the transactions of this account, or to the one with this hash; otherwise all. */
  account,
  transaction: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  parts: listOf([...PARTS]).default([...PARTS]),
  /** Whether a call for JSON gets it, or an internal error. */
  decodedByServer: z.boolean().default(true),
  durationMs,
});

export const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('rate_limited'), retryAfterSeconds: z.number().int().min(0).default(1), ...scope }),
  z.strictObject({ kind: z.literal('unavailable'), retryAfterSeconds: z.number().int().min(0).optional(), ...scope }),
  z.strictObject({ kind: z.literal('stale_history'), ...scope }),
  z.strictObject({ kind: z.literal('server_error'), ...scope }),
  /** Horizon denies having what it has. */
  z.strictObject({ kind: z.literal('not_found'), ...scope }),
  z.strictObject({ kind: z.literal('timeout'), emptyBody: z.boolean().default(false), ...scope }),
  z.strictObject({ kind: z.literal('html'), ...scope }),
  z.strictObject({ kind: z.literal('bad_gateway'), ...scope }),
  z.strictObject({ kind: z.literal('cut_json'), ...scope }),
  z.strictObject({ kind: z.literal('hang'), ...scope }),
  z.strictObject({ kind: z.literal('reset_connection'), ...scope }),
  /** The request is carried out, but its answer is lost. */
  z.strictObject({ kind: z.literal('lost_answer'), ...scope }),
  z.strictObject({ kind: z.literal('slow'), delayMs: z.number().int().positive(), ...scope }),
  z.strictObject({ kind: z.literal('byebye'), ...scope }),
  z.strictObject({
    kind: z.literal('wrong_passphrase'),
    passphrase: z.string().default('Test SDF Network ; September 2015'),
    ...scope,
  }),
  /** A real limit per address, like Horizon's: requests per hour, and a burst. */
  z.strictObject({
    kind: z.literal('rate_limit'),
    perHour: z.number().positive().default(3600),
    burst: z.number().int().min(0).default(100),
    ...scope,
  }),
  /** Answers are this many ledgers old. */
  z.strictObject({ kind: z.literal('lag'), ledgers: z.number().int().positive(), api, durationMs }),
  /** History before this ledger is gone. */
  z.strictObject({ kind: z.literal('retention'), elderLedger: z.number().int().positive(), api, durationMs }),
  /** Stellar RPC has no events of classic operations and fees, like a server
   *  without EMIT_CLASSIC_EVENTS. */
  z.strictObject({ kind: z.literal('blind'), durationMs }),
  /** Servers report this protocol. */
  z.strictObject({ kind: z.literal('protocol'), protocol: z.number().int().positive(), api, durationMs }),
  /** Lists omit operations, while balances and the operations' own URLs show them. */
  hideSchema,
  /** Envelopes, results and events hold an arm that no client knows. */
  undecodableSchema,
]);

export type InjectedFault = z.output<typeof faultSchema>;
export type FaultInput = z.input<typeof faultSchema>;
export type FaultKind = InjectedFault['kind'];

const CHANGES_ANSWERS = ['lag', 'retention', 'blind', 'protocol', 'hide', 'undecodable'] as const;

/** Faults that hit single requests. The others change every answer. */
export type RequestFault = Exclude<InjectedFault, { kind: (typeof CHANGES_ANSWERS)[number] }>;

export interface ActiveFault {
  id: number;
  fault: InjectedFault;
  hits: number;
}

export interface Faults {
  /** @throws ZodError for an invalid fault */
  add(fault: FaultInput): ActiveFault;
  list(): ActiveFault[];
  remove(id: number): boolean;
  clear(): void;
  /** Counts a hit of the first fault in force of these kinds for this request, and returns
   *  the fault. */
  hit<Kind extends RequestFault['kind']>(
    request: { method: string; path: string },
    kinds: readonly Kind[],
  ): Extract<RequestFault, { kind: Kind }> | null;
  /** How many ledgers old answers are. */
  lag(api: Api): number;
  /** The retention edge, or null for full history. */
  elder(api: Api): number | null;
  isBlind(): boolean;
  /** The protocol that servers report. */
  protocol(api: Api): number;
  /** Ids of the operations that the list omits. */
  hidden(place: Place, list: ListKind): HiddenIds;
  /** Closed transactions and events as these faults show them. */
  undecodable: Undecodable;
  /** Notes the content of the next ledger. Safe to repeat for the same ledger. */
  noteLedger(sequence: number, documents: LedgerDocuments[]): void;
}

const apiOf = (path: string): Api => (path === '/rpc' || path.startsWith('/rpc/') ? 'rpc' : 'horizon');

const changesAnswers = (fault: InjectedFault): fault is Exclude<InjectedFault, RequestFault> =>
  (CHANGES_ANSWERS as readonly string[]).includes(fault.kind);

type Active = ActiveFault & { untilMs: number };

export function createFaults(clock: Clock): Faults {
  let active: Active[] = [];
  let lastId = 0;
  const hiding = createHiding(() =>
    inForce().flatMap(({ id, fault }) => (fault.kind === 'hide' ? [{ id, ...fault }] : [])),
  );

  function inForce(): Active[] {
    const nowMs = clock.nowMs();
    active = active.filter(({ untilMs }) => untilMs > nowMs);
    return active;
  }

  const appliesTo = (fault: { api?: Api }, asked: Api): boolean => fault.api === undefined || fault.api === asked;

  function matches(fault: RequestFault, { method, path }: { method: string; path: string }): boolean {
    if (!appliesTo(fault, apiOf(path))) return false;
    if (fault.path !== undefined && !path.startsWith(fault.path)) return false;
    if (fault.method !== undefined && fault.method !== method) return false;
    return fault.probability === undefined || clock.random() < fault.probability;
  }

  return {
    add(input) {
      const fault = faultSchema.parse(input);
      lastId += 1;
      const untilMs = clock.nowMs() + (fault.durationMs ?? Number.POSITIVE_INFINITY);
      active.push({ id: lastId, fault, hits: 0, untilMs });
      return { id: lastId, fault, hits: 0 };
    },
    list: () =>
      inForce().map(({ id, fault, hits }) => ({ id, fault, hits: fault.kind === 'hide' ? hiding.count(id) : hits })),
    remove(id) {
      const before = inForce().length;
      active = active.filter((fault) => fault.id !== id);
      return active.length < before;
    },
    clear() {
      active = [];
    },
    hit<Kind extends RequestFault['kind']>(request: { method: string; path: string }, kinds: readonly Kind[]) {
      for (const candidate of inForce()) {
        const { fault } = candidate;
        const isWanted = (kinds as readonly string[]).includes(fault.kind);
        if (!isWanted || changesAnswers(fault) || !matches(fault, request)) continue;
        candidate.hits += 1;
        if (fault.count !== undefined && candidate.hits >= fault.count) {
          active = active.filter((one) => one !== candidate);
        }
        return fault as Extract<RequestFault, { kind: Kind }>;
      }
      return null;
    },
    lag: (asked) =>
      Math.max(
        0,
        ...inForce().map(({ fault }) => (fault.kind === 'lag' && appliesTo(fault, asked) ? fault.ledgers : 0)),
      ),
    elder(asked) {
      const edges = inForce().flatMap(({ fault }) =>
        fault.kind === 'retention' && appliesTo(fault, asked) ? [fault.elderLedger] : [],
      );
      return edges.length === 0 ? null : Math.max(...edges);
    },
    protocol: (asked) =>
      inForce().flatMap(({ fault }) =>
        fault.kind === 'protocol' && appliesTo(fault, asked) ? [fault.protocol] : [],
      )[0] ?? PROTOCOL_VERSION,
    isBlind: () => inForce().some(({ fault }) => fault.kind === 'blind'),
    hidden: hiding.hidden,
    undecodable: createUndecodable(() =>
      inForce().flatMap(({ fault }) => (fault.kind === 'undecodable' ? [fault] : [])),
    ),
    noteLedger: hiding.note,
  };
}
