/** An account's exports run side by side up to its limit, and no other account's are counted
 *  with them. */
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { createRest, type RestDeps } from '../../src/api/rest.js';
import { registerExportCommands } from '../../src/cli/export.js';
import { createProgram } from '../../src/cli/program.js';
import type { ApiError } from '../../src/kit/api-error.js';
import { systemClock } from '../../src/kit/clock.js';
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

t.test('a caller may call no more while the first line of his export is looked for → the export ends', async (t) => {
  let found = () => {};
  let isEnded = false;
  const isFound = new Promise<void>((resolve) => {
    found = resolve;
  });
  const chunks = async function* () {
    try {
      await isFound;
      yield { text: '{}', rows: 1 };
      t.fail('the export goes on');
    } finally {
      isEnded = true;
    }
  };
  const answer = createRest({
    callerOf: async () => ({ accountId: 'acct_a', keyId: 'key_a', scope: 'FULL' }),
    validationContext: () => ({ now: new Date(), networks: ['LOCAL'], allowPrivate: false }),
    exportOf: () => () => ({ contentType: 'text/plain', fileName: 'a', chunks: chunks() }),
    watch: (_caller, end) => {
      setImmediate(end);
      return () => undefined;
    },
  } as Partial<RestDeps> as RestDeps);
  const server = createServer((req, res) => void answer(req, res, 'req_1')).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/payments/export?format=jsonl`);
  t.equal(response.status, 401);
  await response.text();
  found();
  await isFound;
  await new Promise(setImmediate);
  t.ok(isEnded);
});

t.test('the cli exports to a name while another export to it goes on → each is a whole file', async (t) => {
  const folder = t.testdir();
  const file = join(folder, 'payments.csv');
  const seen: string[] = [];
  const write = (texts: () => AsyncGenerator<string>) => {
    const program = createProgram('cli', '');
    const chunks = async function* () {
      for await (const text of texts()) yield { text, rows: 1 };
    };
    const admin = { accounts: { byId: async () => ({}) }, clock: systemClock, close: async () => undefined };
    const exports = { payments: { export: () => ({ chunks: chunks() }) } };
    registerExportCommands(program, async () => ({ ...admin, exports }) as never);
    return program.parseAsync(['export', 'payments', '--account', 'acct_a', '--out', file], { from: 'user' });
  };
  await write(async function* () {
    yield 'begun, ';
    await write(async function* () {
      yield 'another';
    });
    seen.push(await readFile(file, 'utf8'));
    yield 'ended';
  });
  t.same([...seen, await readFile(file, 'utf8')], ['another', 'begun, ended']);
  t.same(await readdir(folder), ['payments.csv']);
});
