/** The detached process that owns the embedded mongod: it restarts it on the same port when it dies and ends it with its last member.
 *
 *  Why a process of its own: services and cli commands come and go in any order and each may be killed, so none of them can be mongod's parent.
 *  Why an open socket is the membership: the kernel closes it however a process ends, so there are no pids to compare and nothing goes stale.
 *  Why there is no lock of our own: mongod's lock on its data is the one that counts and dies with its holder. Whoever has a running mongod is the
 *  keeper and may replace `keeper.sock`; a second keeper sees its mongod refused and leaves when it finds that the first one serves.
 *  If the keeper itself is killed, the kernel ends its mongod (pdeathsig) and the members start another keeper.
 *
 *  `node keeper.js <port, or 0 for any> <mongod command…>`, run in the directory with `keeper.sock`, `keyfile`, `port`, `data/` and `mongod.log`.
 *  A member connects and reads `{"port":n}` once mongod listens; it leaves by ending its side, and the keeper ends the other side when it is
 *  through: for the last member that is when mongod has ended. */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { MONGOD_OPTIONS, SERVER_OPTIONS, type Start, startServer } from './server.js';
import { connectTo, freePort, isFree } from './sockets.js';
import { sleep } from './time.js';

/** mongod's exit codes: https://www.mongodb.com/docs/manual/reference/exit-codes/ */
const EXIT_PORT_TAKEN = 48;
const EXIT_DATA_IN_USE = 100;
/** A predecessor's mongod may need this long to write its last checkpoint and let go of data and port. */
const PATIENCE_MS = 30_000;
const MOVE_AFTER_MS = 4_000;
/** Nobody came: the process that started this keeper was killed in between. */
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

/** The port of the first mongod, or null when another keeper serves this directory. */
async function begin(): Promise<number | null> {
  const startedMs = Date.now();
  for (;;) {
    const served = await connectTo('keeper.sock');
    served?.destroy();
    if (served) return null;
    const waitedMs = Date.now() - startedMs;
    // The same port as last time, so that connection strings stay valid. A predecessor's mongod may still have it for a moment;
    // a stranger who has it makes us move, but not away from members.
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
  // A second keeper, which only looks whether one serves here, sends nothing and is no member.
  const server = createServer({ allowHalfOpen: true }, (member) => {
    member.once('data', () => join(member));
    member.on('error', () => undefined);
    for (const event of ['end', 'close']) member.on(event, () => leave(member));
  });

  const end = () => {
    if (ending) return;
    ending = true;
    // Closing removes keeper.sock before mongod lets go of its data, so this cannot hit the socket of the next keeper.
    server.close();
    // The last member hears of the end by its connection's.
    if (mongod?.exitCode !== null || mongod.signalCode !== null) process.exit(0);
    mongod.once('exit', () => process.exit(0));
    mongod.kill('SIGTERM');
  };

  const restartWhenItDies = () => {
    const startedMs = Date.now();
    mongod?.once('exit', async () => {
      listening = false;
      // At once, but not in a circle when it cannot live, on a full disk for example.
      if (Date.now() < startedMs + 5_000) await sleep(1_000);
      const deadline = Date.now() + PATIENCE_MS;
      while (!ending) {
        if ((await startMongod(port)) === 'listening') {
          listening = true;
          members.forEach(greet);
          return restartWhenItDies();
        }
        // The members start another keeper and hear from it what is wrong.
        if (Date.now() > deadline) process.exit(1);
        await sleep(500);
      }
    });
  };

  // A supervisor that signals the whole process group means the service; what this process does depends on its members alone.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  restartWhenItDies();
  rmSync('keeper.sock', { force: true });
  server.on('error', (error) => fail(error.message));
  server.listen('keeper.sock');
  await sleep(LONELY_MS);
  if (members.size === 0) end();
}

await main().catch((error: Error) => fail(error.message));
