/** Wraps the functions that an API process hands out, so that no caller waits for a MongoDB that
 *  is away. */

import type { Guard } from '../kit/availability.js';
import type { Download, ExportService } from '../selling/index.js';

type AsyncFunctions<T> = { [Name in keyof T]: (...args: never[]) => Promise<unknown> };

/** The same functions, guarded. */
export const guardEach = <T extends AsyncFunctions<T>>(guard: Guard, functions: T): T =>
  Object.fromEntries(
    Object.entries<(...args: never[]) => Promise<unknown>>(functions).map(([name, call]) => [
      name,
      (...args: never[]) => guard(() => call(...args)),
    ]),
  ) as T;

/** The same exports, with each of their chunks guarded. */
export const guardExports = (guard: Guard, { payments, checkouts }: ExportService): ExportService => ({
  payments: { export: (...call) => guardChunks(guard, payments.export(...call)) },
  checkouts: { export: (...call) => guardChunks(guard, checkouts.export(...call)) },
});

const guardChunks = (guard: Guard, download: Download): Download => ({
  ...download,
  chunks: {
    [Symbol.asyncIterator]() {
      const chunks = download.chunks[Symbol.asyncIterator]();
      return {
        next: () => guard(() => chunks.next()),
        return: async () => {
          const ended = Promise.resolve(chunks.return?.());
          // An abandoned chunk still waits for MongoDB, so its end does too.
          await guard(() => ended).catch(() => undefined);
          ended.catch(() => undefined);
          return { done: true, value: undefined };
        },
      };
    },
  },
});
