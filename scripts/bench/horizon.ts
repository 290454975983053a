/** Starts and controls the stand-in for Horizon. */
import { startProgram } from './program.js';
import type { Scope } from './scope.js';
import type { Plan, Told } from './stand-in.js';

export async function startStandIn(scope: Scope, plan: Plan) {
  const { line: url } = await startProgram(scope, './stand-in.ts', JSON.stringify(plan));
  return {
    url,
    tell: async () => (await (await fetch(`${url}/control`)).json()) as Told,
    add: async (count: number, to: string) =>
      void (await fetch(`${url}/control/add`, { method: 'POST', body: JSON.stringify({ count, to }) })),
  };
}
