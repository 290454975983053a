/** Keeps the processes of a run alive: two workers and an API, each restarted after its death. Sets
 *  their clocks wrong if the scenario wants it. */
import { type Api, newProcess, type SimulatedProcess, type Surroundings, startApi, startWorker } from './processes.js';
import type { Run } from './run.js';

export class Supervisor {
  readonly processes = new Set<SimulatedProcess>();
  #names = 0;
  #api: Api;

  constructor(
    private readonly run: Run,
    private readonly around: Surroundings,
  ) {
    this.#api = startApi(this.#start('api'), around);
  }

  /** A running API, restarted if it died. */
  async openApi(): Promise<Api> {
    if (this.#api.process.alive) return this.#api;
    await this.#sleep(this.run.isCalm ? 0 : this.run.random.between(0, 1500));
    this.#api = startApi(this.#start('api'), this.around);
    return this.#api;
  }

  /** Keeps a worker running, except between a death and the restart. Never returns. */
  async keepWorker(index: number): Promise<never> {
    const { run } = this;
    const { random } = run;
    await this.#sleep(index * random.between(0, 3000));
    for (;;) {
      const process = this.#start(`worker${index}-`);
      run.scheduler.log(`${process.name} starts`);
      const { stop } = startWorker(process, this.around);
      if (!run.isCalm && run.scenario.gracefulStops)
        void this.#sleep(random.between(500, 9000)).then(() => this.#stop(process, stop));
      await process.death.catch(() => undefined);
      await this.#sleep(run.isCalm ? 0 : random.between(0, 4000));
    }
  }

  /** Sets the clocks of workers wrong by up to half a minute, until faults stop. */
  async setClocks(): Promise<void> {
    const { run } = this;
    const { random } = run;
    while (run.scenario.clockJumps && !run.isCalm) {
      await this.#sleep(random.between(500, 6000));
      if (run.isCalm) break;
      const running = [...this.processes].filter(({ alive, name }) => alive && name.startsWith('worker'));
      const process = random.pick(running);
      if (!process) continue;
      process.clockOffsetMs = random.between(-30_000, 30_000);
      run.scheduler.log(`the clock of ${process.name} is set ${process.clockOffsetMs} ms wrong`);
    }
    for (const process of this.processes) process.clockOffsetMs = run.hardships.skewMs ?? 0;
  }

  /** Ends all processes, and everything that still refers to them. */
  async end(): Promise<void> {
    for (const process of this.processes) await this.run.scheduler.kill(process, 'at the end');
    for (const process of this.processes) process.buried.abort();
  }

  async #stop(process: SimulatedProcess, stop: () => Promise<void>): Promise<void> {
    const { run } = this;
    if (!process.alive || run.isCalm) return;
    run.scheduler.log(`${process.name} is stopped`);
    await stop();
    run.scheduler.log(`${process.name} has stopped`);
    process.alive = false;
    process.die('stopped');
  }

  #start(kind: string): SimulatedProcess {
    const process = newProcess(`${kind}${++this.#names}`, this.run.scheduler);
    process.clockOffsetMs = this.run.hardships.skewMs ?? 0;
    this.processes.add(process);
    return process;
  }

  #sleep(ms: number): Promise<void> {
    return this.run.scheduler.sleep(ms, null);
  }
}
