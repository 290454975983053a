/** Virtual time and order. One action runs at a time, chosen by the seed. Time advances only when
 *  no action is ready. A dead process never takes another step. */
import type { Clock } from '../../src/kit/clock.js';
import type { Random } from './random.js';

export const START_MS = Date.parse('2026-01-02T03:04:05Z');

/** A process of the simulation, which can be killed at any step. */
export interface Process {
  readonly name: string;
  alive: boolean;
  /** The lead of its clock over virtual time. */
  clockOffsetMs: number;
  /** It has found the newest ledger that processes before it have seen. */
  knowsLedger?: boolean;
}

export interface Action {
  label: string;
  /** Null for actions outside of all processes. */
  process: Process | null;
  /** The earliest time at which it runs. */
  readyMs: number;
  /** Holds back the action after `readyMs`. */
  isBlocked?: () => boolean;
  /** Whether its process may die just before or just after it. */
  mayCrash?: boolean;
  /** Does the work. @returns a function that tells the process the result, if there is one */
  run(): Promise<(() => void) | undefined> | (() => void) | void;
  /** Called when the process died before it learned the result. */
  drop?(): void;
  /** Delay from the work until the process learns the result. */
  heardAfterMs?: number;
}

interface Sleeper {
  process: Process | null;
  untilMs: number;
  order: number;
  wake(): void;
}

export interface SchedulerHooks {
  /** Before each action that may crash: whether its process dies before or after it, or null. */
  crash: (action: Action) => 'before' | 'after' | null;
  onKill: (process: Process) => Promise<void>;
  afterStep: (action: Action) => Promise<void>;
}

/** Turns of the event loop after which all promises that need no action have settled. */
const TURNS = 3;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export class Scheduler {
  readonly random: Random;
  steps = 0;
  #nowMs = START_MS;
  #order = 0;
  #activity = 0;
  #held = 0;
  readonly #actions: Action[] = [];
  readonly #sleepers = new Set<Sleeper>();
  readonly #hooks: SchedulerHooks;
  readonly #trace: ((line: string) => void) | null;

  constructor(random: Random, hooks: SchedulerHooks, trace: ((line: string) => void) | null) {
    this.random = random;
    this.#hooks = hooks;
    this.#trace = trace;
  }

  readonly nowMs = (): number => this.#nowMs;

  readonly log = (line: string): void => {
    this.#trace?.(`${((this.#nowMs - START_MS) / 1000).toFixed(3).padStart(9)}  ${line}`);
  };

  /** Runs no action before the promise settles. For observers, which must not take
   *  simulated time. */
  hold<T>(promise: Promise<T>): Promise<T> {
    this.#held += 1;
    this.#activity += 1;
    return promise.finally(() => {
      this.#held -= 1;
      this.#activity += 1;
    });
  }

  /** Adds an action. An action of a dead process is dropped at once. */
  enqueue(action: Action): void {
    this.#activity += 1;
    if (action.process && !action.process.alive) action.drop?.();
    else this.#actions.push(action);
  }

  /** Resolves after `ms` of virtual time or when the signal aborts. Never resolves for a
   *  dead process. */
  sleep(ms: number, process: Process | null, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#activity += 1;
      if (!Number.isFinite(ms)) throw new Error(`cannot sleep for ${ms} ms`);
      if (process && !process.alive) return;
      if (signal?.aborted) return resolve();
      const sleeper: Sleeper = {
        process,
        untilMs: this.#nowMs + Math.max(0, ms),
        order: this.#order++,
        wake: () => {
          signal?.removeEventListener('abort', abort);
          this.#activity += 1;
          resolve();
        },
      };
      const abort = () => {
        if (this.#sleepers.delete(sleeper)) sleeper.wake();
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** The clock of a process, and its source of randomness. */
  clockOf(process: Process): Clock {
    return {
      nowMs: () => this.#nowMs + process.clockOffsetMs,
      now: () => new Date(this.#nowMs + process.clockOffsetMs),
      sleep: (ms, signal) => this.sleep(ms, process, signal),
      random: () => this.random.next(),
      randomBytes: (size) => this.random.bytes(size),
    };
  }

  /** Ends a process: its sleeps and actions are dropped, and nothing of it runs again. */
  async kill(process: Process, why: string): Promise<void> {
    if (!process.alive) return;
    process.alive = false;
    this.log(`† ${process.name} dies ${why}`);
    for (const sleeper of [...this.#sleepers]) if (sleeper.process === process) this.#sleepers.delete(sleeper);
    for (const action of this.#actions.filter((each) => each.process === process)) {
      this.#actions.splice(this.#actions.indexOf(action), 1);
      action.drop?.();
    }
    await this.#hooks.onKill(process);
    await this.#settle();
  }

  /** Runs actions until `done`. @throws when nothing can ever happen, or after `maxSteps` steps. */
  async run(done: () => boolean, maxSteps: number): Promise<void> {
    for (;;) {
      await this.#settle();
      if (done()) return;
      const ready = this.#actions.filter((each) => each.readyMs <= this.#nowMs && !each.isBlocked?.());
      if (ready.length === 0) {
        if (this.#advance()) continue;
        throw new Error(`deadlock; blocked: ${this.#actions.map(({ label }) => label).join(', ')}`);
      }
      const action = ready[this.random.int(ready.length)]!;
      this.#actions.splice(this.#actions.indexOf(action), 1);
      this.steps += 1;
      if (this.steps > maxSteps) throw new Error(`more than ${maxSteps} steps`);
      await this.#step(action);
    }
  }

  async #step(action: Action): Promise<void> {
    const death = action.process && action.mayCrash ? this.#hooks.crash(action) : null;
    this.log(`${action.process?.name ?? '-'} ${action.label}`);
    if (death === 'before') {
      action.drop?.();
      return this.kill(action.process!, `before: ${action.label}`);
    }
    this.#activity += 1;
    const tell = (await action.run()) ?? null;
    this.#activity += 1;
    if (death === 'after') {
      // The effect has happened, but the process never learns of it.
      action.drop?.();
      await this.kill(action.process!, `after: ${action.label}`);
    } else if (action.heardAfterMs && tell) {
      this.#tellLater(action, tell, action.heardAfterMs);
    } else {
      tell?.();
    }
    await this.#hooks.afterStep(action);
  }

  #tellLater({ label, process, drop }: Action, tell: () => void, delayMs: number): void {
    const answer: Action = {
      label: `gets the answer to ${label}`,
      process,
      readyMs: this.#nowMs + delayMs,
      run: () => tell,
    };
    this.enqueue(drop ? { ...answer, drop } : answer);
  }

  /** Waits until all code that can run without a new action has run. */
  async #settle(): Promise<void> {
    for (let before = -1; before !== this.#activity; ) {
      before = this.#activity;
      for (let i = 0; i < TURNS; i++) await turn();
      while (this.#held > 0) await turn();
    }
  }

  /** Advances time to the next moment at which something can happen. @returns false when there
   *  is none */
  #advance(): boolean {
    let next = Number.POSITIVE_INFINITY;
    for (const { untilMs } of this.#sleepers) next = Math.min(next, untilMs);
    for (const { readyMs } of this.#actions) if (readyMs > this.#nowMs) next = Math.min(next, readyMs);
    if (!Number.isFinite(next)) return false;
    this.#nowMs = Math.max(this.#nowMs, next);
    const due = [...this.#sleepers].filter(({ untilMs }) => untilMs <= this.#nowMs).sort((a, b) => a.order - b.order);
    for (const sleeper of due) {
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
    this.#activity += 1;
    return true;
  }
}
