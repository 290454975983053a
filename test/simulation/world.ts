/** Time and order of a simulated world: one thing happens at a time, the seed decides which, and time moves on only when nothing can happen now.
 *  Processes live in it; a dead process never comes to a next step. */
import type { Clock } from '../../src/clock.js';
import type { Random } from './random.js';

export const START_MS = Date.parse('2026-01-02T03:04:05Z');

/** Something that lives in the world and can be killed. */
export interface Process {
  readonly name: string;
  alive: boolean;
  /** How wrong its clock is. */
  clockOffsetMs: number;
}

export interface Action {
  label: string;
  /** Null for what happens outside of all processes. */
  process: Process | null;
  /** Not before this moment. */
  readyMs: number;
  /** Cannot happen now, though its time has come. */
  isBlocked?: () => boolean;
  /** Whether a process may die before or after it. */
  mayCrash?: boolean;
  /** Does it. @returns what tells the process of it, if anything does. */
  run(): Promise<(() => void) | undefined> | (() => void) | void;
  /** The process died before it was told. */
  drop?(): void;
  /** It hears of it later than it happens. */
  heardAfterMs?: number;
}

interface Sleeper {
  process: Process | null;
  untilMs: number;
  order: number;
  wake(): void;
}

/** Everything that can go on without a new step has gone on: promises only, no timers or sockets. */
const TURNS = 3;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export interface WorldOptions {
  random: Random;
  trace: ((line: string) => void) | null;
  /** Before each step: null, or how the process of this action dies. */
  crash: (action: Action) => 'before' | 'after' | null;
  onKill: (process: Process) => Promise<void>;
  afterStep: (action: Action) => Promise<void>;
}

export type World = ReturnType<typeof createWorld>;

export function createWorld(options: WorldOptions) {
  const { random, trace } = options;
  let nowMs = START_MS;
  let order = 0;
  let activity = 0;
  let steps = 0;
  let held = 0;
  const actions: Action[] = [];
  const sleepers = new Set<Sleeper>();

  async function quiet(): Promise<void> {
    for (let before = -1; before !== activity; ) {
      before = activity;
      for (let i = 0; i < TURNS; i++) await turn();
      while (held > 0) await turn();
    }
  }

  async function kill(process: Process, why: string): Promise<void> {
    if (!process.alive) return;
    process.alive = false;
    log(`† ${process.name} dies ${why}`);
    for (const sleeper of [...sleepers]) if (sleeper.process === process) sleepers.delete(sleeper);
    for (const action of actions.filter((each) => each.process === process)) {
      actions.splice(actions.indexOf(action), 1);
      action.drop?.();
    }
    await options.onKill(process);
    await quiet();
  }

  function log(line: string): void {
    trace?.(`${((nowMs - START_MS) / 1000).toFixed(3).padStart(9)}  ${line}`);
  }

  /** The next moment at which something can happen. */
  function advance(): boolean {
    const next = Math.min(
      ...[...sleepers].map(({ untilMs }) => untilMs),
      ...actions.filter(({ readyMs }) => readyMs > nowMs).map(({ readyMs }) => readyMs),
    );
    if (!Number.isFinite(next)) return false;
    nowMs = Math.max(nowMs, next);
    const due = [...sleepers].filter(({ untilMs }) => untilMs <= nowMs).sort((a, b) => a.order - b.order);
    for (const sleeper of due) {
      sleepers.delete(sleeper);
      sleeper.wake();
    }
    activity += 1;
    return true;
  }

  const world = {
    random,
    log,
    kill,
    get steps() {
      return steps;
    },
    nowMs: () => nowMs,
    /** Nothing happens before this is settled: for what looks at the world from outside. */
    hold<T>(promise: Promise<T>): Promise<T> {
      held += 1;
      activity += 1;
      return promise.finally(() => {
        held -= 1;
        activity += 1;
      });
    },
    /** Adds an action; of a dead process it is dropped at once. */
    enqueue(action: Action): void {
      activity += 1;
      if (action.process && !action.process.alive) {
        action.drop?.();
        return;
      }
      actions.push(action);
    },
    sleep: (ms: number, process: Process | null, signal?: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        activity += 1;
        if (!Number.isFinite(ms)) throw new Error(`a sleep of ${ms} ms`);
        // A dead process sleeps for ever.
        if (process && !process.alive) return;
        if (signal?.aborted) return resolve();
        const sleeper: Sleeper = {
          process,
          untilMs: nowMs + Math.max(0, ms),
          order: order++,
          wake: () => {
            signal?.removeEventListener('abort', abort);
            activity += 1;
            resolve();
          },
        };
        const abort = () => {
          if (sleepers.delete(sleeper)) sleeper.wake();
        };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', abort, { once: true });
      }),
    clockOf: (process: Process): Clock => ({
      nowMs: () => nowMs + process.clockOffsetMs,
      now: () => new Date(nowMs + process.clockOffsetMs),
      sleep: (ms, signal) => world.sleep(ms, process, signal),
      random: () => random.next(),
      randomBytes: (size) => random.bytes(size),
    }),
    /** Until `done`, or until nothing will ever happen. @throws when it takes too many steps */
    async run(done: () => boolean, maxSteps: number): Promise<void> {
      for (;;) {
        await quiet();
        if (done()) return;
        const ready = actions.filter((each) => each.readyMs <= nowMs && !each.isBlocked?.());
        if (ready.length === 0) {
          if (!advance())
            throw new Error(`nothing will happen any more: ${actions.map(({ label }) => label).join(', ')}`);
          continue;
        }
        const action = ready[random.int(ready.length)]!;
        actions.splice(actions.indexOf(action), 1);
        steps += 1;
        if (steps > maxSteps) throw new Error(`more than ${maxSteps} steps`);
        const death = action.process && action.mayCrash ? options.crash(action) : null;
        log(`${action.process?.name ?? '-'} ${action.label}`);
        if (death === 'before') {
          action.drop?.();
          await kill(action.process!, `before: ${action.label}`);
          continue;
        }
        activity += 1;
        const tell = (await action.run()) ?? null;
        activity += 1;
        if (death === 'after') {
          // Its effect is there; nobody hears of it.
          action.drop?.();
          await kill(action.process!, `after: ${action.label}`);
        } else if (action.heardAfterMs && tell) {
          const { process, drop } = action;
          const heard: Action = {
            label: `hears of ${action.label}`,
            process,
            readyMs: nowMs + action.heardAfterMs,
            run: () => tell,
          };
          world.enqueue(drop ? { ...heard, drop } : heard);
        } else {
          tell?.();
        }
        await options.afterStep(action);
      }
    },
  };
  return world;
}
