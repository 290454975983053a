/** Addresses that cannot work, given to the service as a person starts it: one line, exit code 1,
 *  and nothing has been opened. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { startProgram } from '../helpers/command.js';
import { LONG } from '../helpers/long.js';
import { freePort } from '../helpers/mongo.js';

async function portOf(t: { teardown(end: () => unknown): void }, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return String((server.address() as AddressInfo).port);
}

t.test('a port or host that cannot work is one line, and nothing has been opened', LONG, async (t) => {
  const silent = await portOf(
    t,
    createServer((socket) => void t.teardown(() => socket.destroy())),
  );
  const other = await portOf(
    t,
    createHttpServer((_req, res) => void res.end('<html>')),
  );
  const refusals: [string, Record<string, string>, RegExp][] = [
    ['the ledger’s port: a server that answers nothing', { LOCAL_LEDGER_PORT: silent }, /LOCAL_LEDGER_PORT/],
    ['the ledger’s port: a server of another kind', { LOCAL_LEDGER_PORT: other }, /LOCAL_LEDGER_PORT/],
    ['the port of the metrics', { METRICS_PORT: other }, /METRICS_PORT/],
    ['the port of the service', { PORT: other }, /PORT/],
    ['a host that is not of this machine', { HOST: '203.0.113.7' }, /HOST 203\.0\.113\.7/],
    ['a host that is no address', { HOST: 'no-such-host.invalid' }, /HOST no-such-host\.invalid/],
  ];
  const directory = mkdtempSync(join(tmpdir(), 'stellar-collect-refused-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  for (const [what, settings, says] of refusals) {
    const dataDir = join(directory, String(refusals.findIndex(([each]) => each === what)));
    const env = {
      DATA_DIR: dataDir,
      MONGODB_URI: undefined,
      NETWORKS: 'LOCAL',
      PORT: '0',
      LOCAL_LEDGER_PORT: String(await freePort()),
      LOG_LEVEL: 'error',
      ...settings,
    };
    const { code, stdout, stderr } = await startProgram('src/main.ts', [], { env }).ended;
    t.equal(code, 1, what);
    t.match(stderr, says, what);
    t.equal(stderr.trimEnd().split('\n').length, 1, `${what}: ${stderr}`);
    t.equal(stdout, '', what);
    t.notOk(existsSync(dataDir), `${what}: nothing was opened`);
  }
});
