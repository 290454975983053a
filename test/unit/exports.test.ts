/** An account's exports run side by side up to its limit, and no other account's are counted
 *  with them. */
import t from 'tap';
import type { ApiError } from '../../src/kit/api-error.js';
import { createExportService } from '../../src/selling/exports.js';

t.test('one export more than the setting says is refused until one of the others ends', async (t) => {
  const exports = createExportService({
    forAccount: () => ({ payments: { batches: async function* () {} } }) as never,
    snapshot: async function* (read) {
      yield* read({} as never);
    },
    publicUrl: '',
    mostOfAccount: 4,
  });
  const begin = async (accountId: string) => {
    const { chunks } = exports.payments.export({ accountId }, { format: 'csv' } as never);
    const reading = chunks[Symbol.asyncIterator]();
    await reading.next();
    return reading;
  };
  const running = [];
  for (let n = 0; n < 4; n += 1) running.push(await begin('acct_a'));
  const refused = await begin('acct_a').catch((error: ApiError) => error.code);
  t.equal(refused, 'rate_limited');
  await (await begin('acct_b')).return?.();
  await running[0]!.return?.();
  await running[0]!.next();
  await begin('acct_a');
});
