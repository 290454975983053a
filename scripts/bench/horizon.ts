/** Starts the stand-in for Horizon and talks with it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Scope } from './scope.js';
import type { Plan, Told } from './stand-in.js';

export async function startStandIn(scope: Scope, plan: Plan) {
  const child = fork(fileURLToPath(new URL('./stand-in.ts', import.meta.url)), [JSON.stringify(plan)], {
    execArgv: ['--import=tsx'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  scope.teardown(() => child.kill());
  const [line] = await once(child.stdout!, 'data');
  const url = String(line).trim();
  return {
    url,
    tell: async () => (await (await fetch(`${url}/control`)).json()) as Told,
    add: async (count: number, to: string) =>
      void (await fetch(`${url}/control/add`, { method: 'POST', body: JSON.stringify({ count, to }) })),
  };
}
