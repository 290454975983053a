/** Misbehaviour on demand: which faults are in force, for which requests, and how often still. Nothing here outlives the process. */
import { z } from 'zod';
import type { Clock } from '../clock.js';

const scope = {
  /** Only requests whose path begins so, e.g. `/payments`. */
  path: z.string().startsWith('/').optional(),
  method: z.enum(['GET', 'POST']).optional(),
  /** How many requests it hits before it ends; for ever without. */
  count: z.number().int().positive().optional(),
  durationMs: z.number().int().positive().optional(),
  /** Hits each matching request with this chance. */
  probability: z.number().gt(0).max(1).optional(),
};

export const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('rate_limited'), retryAfterSeconds: z.number().int().min(0).default(1), ...scope }),
  z.strictObject({ kind: z.literal('unavailable'), retryAfterSeconds: z.number().int().min(0).optional(), ...scope }),
  z.strictObject({ kind: z.literal('stale_history'), ...scope }),
  z.strictObject({ kind: z.literal('server_error'), ...scope }),
  z.strictObject({ kind: z.literal('timeout'), emptyBody: z.boolean().default(false), ...scope }),
  z.strictObject({ kind: z.literal('html'), ...scope }),
  z.strictObject({ kind: z.literal('bad_gateway'), ...scope }),
  z.strictObject({ kind: z.literal('cut_json'), ...scope }),
  z.strictObject({ kind: z.literal('hang'), ...scope }),
  z.strictObject({ kind: z.literal('reset_connection'), ...scope }),
  /** The request is carried out, its answer is lost. */
  z.strictObject({ kind: z.literal('lost_answer'), ...scope }),
  z.strictObject({ kind: z.literal('slow'), delayMs: z.number().int().positive(), ...scope }),
  z.strictObject({ kind: z.literal('byebye'), ...scope }),
  z.strictObject({
    kind: z.literal('wrong_passphrase'),
    passphrase: z.string().default('Test SDF Network ; September 2015'),
    ...scope,
  }),
  /** A real limit per address, as Horizon's: so many requests an hour, and a burst. */
  z.strictObject({
    kind: z.literal('rate_limit'),
    perHour: z.number().positive().default(3600),
    burst: z.number().int().min(0).default(100),
    ...scope,
  }),
  /** Answers are as of so many ledgers ago. */
  z.strictObject({ kind: z.literal('lag'), ledgers: z.number().int().positive(), durationMs: scope.durationMs }),
  /** History before this ledger is gone. */
  z.strictObject({
    kind: z.literal('retention'),
    elderLedger: z.number().int().positive(),
    durationMs: scope.durationMs,
  }),
]);

export type Fault = z.output<typeof faultSchema>;
export type FaultInput = z.input<typeof faultSchema>;
export type FaultKind = Fault['kind'];

export interface ActiveFault {
  id: number;
  fault: Fault;
  hits: number;
}

export interface Faults {
  /** Throws a ZodError where it is no fault. */
  add(fault: FaultInput): ActiveFault;
  list(): ActiveFault[];
  remove(id: number): boolean;
  clear(): void;
  /** The first fault in force of these kinds for this request, which is thereby hit. */
  hit(request: { method: string; path: string }, kinds: readonly FaultKind[]): Fault | null;
  /** Ledgers that answers are behind. */
  lag(): number;
  /** The retention edge, or null for full history. */
  elder(): number | null;
}

export function createFaults(clock: Clock): Faults {
  let active: (ActiveFault & { untilMs: number })[] = [];
  let lastId = 0;

  function inForce(): typeof active {
    const nowMs = clock.nowMs();
    active = active.filter(({ untilMs }) => untilMs > nowMs);
    return active;
  }

  return {
    add(input) {
      const fault = faultSchema.parse(input);
      lastId += 1;
      const added = {
        id: lastId,
        fault,
        hits: 0,
        untilMs: clock.nowMs() + (fault.durationMs ?? Number.POSITIVE_INFINITY),
      };
      active.push(added);
      return { id: added.id, fault, hits: 0 };
    },
    list: () => inForce().map(({ id, fault, hits }) => ({ id, fault, hits })),
    remove(id) {
      const before = inForce().length;
      active = active.filter((fault) => fault.id !== id);
      return active.length < before;
    },
    clear() {
      active = [];
    },
    hit({ method, path }, kinds) {
      for (const candidate of inForce()) {
        const { fault } = candidate;
        if (!kinds.includes(fault.kind) || fault.kind === 'lag' || fault.kind === 'retention') continue;
        if (fault.path !== undefined && !path.startsWith(fault.path)) continue;
        if (fault.method !== undefined && fault.method !== method) continue;
        if (fault.probability !== undefined && clock.random() >= fault.probability) continue;
        candidate.hits += 1;
        if (fault.count !== undefined && candidate.hits >= fault.count)
          active = active.filter((one) => one !== candidate);
        return fault;
      }
      return null;
    },
    lag: () => Math.max(0, ...inForce().map(({ fault }) => (fault.kind === 'lag' ? fault.ledgers : 0))),
    elder() {
      const edges = inForce().flatMap(({ fault }) => (fault.kind === 'retention' ? [fault.elderLedger] : []));
      return edges.length === 0 ? null : Math.max(...edges);
    },
  };
}
