/** The detached process that owns the embedded mongod: it restarts a dead mongod on the same port,
 *  and ends it with its last member.
 *
 *  A process of its own, because services and CLI commands come and go in any order and each may be
 *  killed: none can be mongod's parent. An open socket is the membership, because the kernel closes
 *  it however a process ends: there are no pids to compare, and nothing becomes stale. No lock of
 *  its own, because mongod's lock on its data decides and dies with its holder. A process with a
 *  running mongod is the keeper and may replace `keeper.sock`; a second keeper's mongod is refused,
 *  and the keeper leaves when it finds that the first one serves. If the keeper itself is killed,
 *  the kernel ends its mongod (pdeathsig), and the members start another keeper.
 *
 *  `node keeper.js <port, or 0 for any> <mongod command…>`, run in the directory with
 *  `keeper.sock`, `keyfile`, `port`, `data/` and `mongod.log`. A member connects, and reads
 *  `{"port":n}` once mongod listens. It leaves by ending its side; the keeper then ends the other
 *  side, for the last member after mongod has ended. */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { MONGOD_OPTIONS, SERVER_OPTIONS, type Start, startServer } from './server.js';
import { connectTo, freePort, isFree } from './sockets.js';
import { sleep } from './time.js';

/** mongod's exit codes: https://www.mongodb.com/docs/manual/reference/exit-codes/ */
const EXIT_PORT_TAKEN = 48;
const EXIT_DATA_IN_USE = 100;
/** A predecessor's mongod may need this long to write its last checkpoint and release data
 *  and port. */
const PATIENCE_MS = 30_000;
const MOVE_AFTER_MS = 4_000;
/** No member joined: the process that started this keeper was killed. */
const LONELY_MS = 10_000;

const [portArgument = '0', ...command] = process.argv.slice(2);
const fixedPort = Number(portArgument);

/** The mongod that runs or is about to. */
let mongod: ChildProcess | null = null;

function startMongod(port: number): Promise<Start> {
  const args = [
    ...['--dbpath', 'data', '--port', `${port}`, '--replSet', 'embedded', '--keyFile', 'keyfile', ...SERVER_OPTIONS],
    ...['--wiredTigerCacheSizeGB', '0.5', '--oplogSize', '512', ...MONGOD_OPTIONS],
  ];
  const { child, started } = startServer([...command, ...args], 'mongod.log');
  mongod = child;
  return started;
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

function rememberedPort(): number {
  try {
    return Number(readFileSync('port', 'utf8'));
  } catch {
    return 0;
  }
}

/** Starts the first mongod. Resolves with its port, or null when another keeper serves
 *  this directory. */
async function begin(): Promise<number | null> {
  const startedMs = Date.now();
  for (;;) {
    const served = await connectTo('keeper.sock');
    served?.destroy();
    if (served) return null;
    const waitedMs = Date.now() - startedMs;
    // Keeps the last port, so that connection strings stay valid. A predecessor's mongod may hold
    // it for a moment; another program that holds it forces a move, but never while there
    // are members.
    const last = fixedPort || rememberedPort();
    const taken = last !== 0 && !(await isFree(last));
    const mayMove = fixedPort === 0 && waitedMs > MOVE_AFTER_MS;
    let blocked = `port ${last} is taken`;
    if (!taken || mayMove) {
      const port = taken || last === 0 ? await freePort() : last;
      const start = await startMongod(port);
      if (start === 'listening') return port;
      blocked = start.reason;
      if (start.exitCode !== EXIT_DATA_IN_USE && start.exitCode !== EXIT_PORT_TAKEN) fail(`mongod: ${blocked}`);
    }
    if (waitedMs > PATIENCE_MS) fail(`mongod: ${blocked}`);
    await sleep(200);
  }
}

async function main(): Promise<void> {
  mkdirSync('data', { recursive: true, mode: 0o700 });
  const port = await begin();
  if (port === null) return;
  writeFileSync('port', `${port}\n`, { mode: 0o600 });

  const members = new Set<Socket>();
  let listening = true;
  let ending = false;

  const greet = (member: Socket) => void member.write(`${JSON.stringify({ port })}\n`);
  const join = (member: Socket) => {
    members.add(member);
    if (listening) greet(member);
  };
  const leave = (member: Socket) => {
    if (members.delete(member) && members.size === 0) end();
    else member.end();
  };
  // A second keeper that only checks whether one serves here sends nothing and is no member.
  const server = createServer({ allowHalfOpen: true }, (member) => {
    member.once('data', () => join(member));
    member.on('error', () => undefined);
    for (const event of ['end', 'close']) member.on(event, () => leave(member));
  });

  const end = () => {
    if (ending) return;
    ending = true;
    // Closing removes keeper.sock before mongod releases its data, so this cannot remove the
    // socket of the next keeper.
    server.close();
    // The last member learns of the end when its connection ends.
    if (mongod?.exitCode !== null || mongod.signalCode !== null) process.exit(0);
    mongod.once('exit', () => process.exit(0));
    mongod.kill('SIGTERM');
  };

  const restartWhenItDies = () => {
    const startedMs = Date.now();
    mongod?.once('exit', async () => {
      listening = false;
      // At once, but without a tight loop if it cannot live, for example on a full disk.
      if (Date.now() < startedMs + 5_000) await sleep(1_000);
      const deadline = Date.now() + PATIENCE_MS;
      while (!ending) {
        if ((await startMongod(port)) === 'listening') {
          listening = true;
          members.forEach(greet);
          return restartWhenItDies();
        }
        // The members start another keeper, which tells them the reason.
        if (Date.now() > deadline) process.exit(1);
        await sleep(500);
      }
    });
  };

  // A signal to the whole process group is for the service; this process follows its members alone.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  restartWhenItDies();
  rmSync('keeper.sock', { force: true });
  server.on('error', (error) => fail(error.message));
  server.listen('keeper.sock');
  await sleep(LONELY_MS);
  if (members.size === 0) end();
}

await main().catch((error: Error) => fail(error.message));
