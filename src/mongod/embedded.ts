/** Membership in the embedded MongoDB of a data directory: from `join` to `close` this process has
 *  a mongod, which another process may have started. */
import { spawn } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join as joinPath, resolve as resolvePath } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { makeDirectory, toDisk } from './directory.js';
import { MongoUnavailableError } from './error.js';
import { makeReady } from './replica-set.js';
import { connectTo } from './sockets.js';
import { sleep } from './time.js';

/** From the start of a keeper until its mongod listens; longer than the keeper itself tries. */
const JOIN_TIMEOUT_MS = 90_000;
const LEAVE_TIMEOUT_MS = 8_000;
/** The keeper's built program. */
const KEEPER = new URL('./keeper.js', import.meta.url);

export interface EmbeddedMongo {
  uri: string;
  close(): Promise<void>;
}

interface Member {
  /** Open while this process is a member. */
  socket: Socket;
  port: number;
}

/** @param deps.findMongod returns the command line of a mongod; called only when none runs for
 *  this directory
 *  @throws MongoUnavailableError with the reason when mongod cannot run */
export async function joinEmbeddedMongo(deps: {
  dataDir: string;
  findMongod: () => Promise<readonly string[]>;
  log: Logger;
}): Promise<EmbeddedMongo> {
  const { findMongod, log } = deps;
  const directory = joinPath(resolvePath(deps.dataDir), 'mongodb');
  const key = prepare(directory);
  const leaving = new AbortController();

  let member = await join(0);
  member.socket.once('close', rejoin);
  try {
    const password = createHmac('sha256', key).update('password').digest('hex');
    return { uri: await makeReady({ port: member.port, key, password }), close };
  } catch (error) {
    await close();
    throw error;
  }

  /** @param port for mongod, or 0 for any */
  async function join(port: number): Promise<Member> {
    let keeper: Keeper | null = null;
    for (;;) {
      leaving.signal.throwIfAborted();
      const socket = await connectTo(joinPath(directory, 'keeper.sock'));
      const greeted = socket && (await greeting(socket));
      if (socket && greeted !== null) {
        // The socket must not keep a process alive that forgets to close.
        socket.unref();
        return { socket, port: greeted };
      }
      if (keeper?.hasLeft()) keeper = null;
      else keeper ??= startKeeper(directory, port, await findMongod());
      await sleep(25);
    }
  }

  /** Joins again after the keeper was killed. The first member to notice starts another keeper, on
   *  the port in all connection strings. */
  async function rejoin(): Promise<void> {
    while (!leaving.signal.aborted) {
      log.warn('The keeper of the embedded MongoDB is gone; another one is started.');
      try {
        const { port } = member;
        member = await join(port);
        if (leaving.signal.aborted) member.socket.destroy();
        else member.socket.once('close', rejoin);
        if (member.port !== port) log.fatal('The embedded MongoDB moved to another port: restart this process.');
        return;
      } catch (error) {
        if (leaving.signal.aborted) return;
        log.error({ reason: (error as Error).message }, 'The embedded MongoDB is down; trying again.');
        await sleep(1000, leaving.signal);
      }
    }
  }

  async function close(): Promise<void> {
    leaving.abort();
    const { socket } = member;
    if (socket.closed) return;
    const left = new AbortController();
    socket.once('close', () => left.abort());
    socket.end();
    await sleep(LEAVE_TIMEOUT_MS, left.signal);
    socket.destroy();
  }
}

/** Creates the directory for this user only, and returns its key. */
function prepare(directory: string): string {
  try {
    // Only the subdirectory holds secrets: an existing data directory keeps its mode, because it
    // may be shared on purpose.
    makeDirectory(directory);
    chmodSync(directory, 0o700);
    const path = joinPath(directory, 'keyfile');
    if (existsSync(path)) return readFileSync(path, 'utf8');
    const draft = `${path}.${randomBytes(6).toString('hex')}`;
    writeFileSync(draft, randomBytes(72).toString('base64'), { flag: 'wx', mode: 0o400, flush: true });
    try {
      linkSync(draft, path);
    } catch (error) {
      // If two processes start at once, the first one's key counts.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft);
    }
    // On the disk before MongoDB has a user by it.
    toDisk(directory);
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new MongoUnavailableError(
      `DATA_DIR cannot be used: ${(error as Error).message}. Set it to a writable directory.`,
    );
  }
}

/** Joins the keeper. Resolves with its port once mongod listens; null when the keeper
 *  ends before. */
function greeting(socket: Socket): Promise<number | null> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: socket });
    // The reader passes on errors of the socket, which then closes.
    lines.on('error', () => undefined);
    lines.once('line', (line) => resolve((JSON.parse(line) as { port: number }).port));
    socket.once('close', () => resolve(null));
    socket.once('end', () => socket.end());
    socket.write('join\n');
  });
}

interface Keeper {
  /** Whether it ended because another keeper serves. @throws MongoUnavailableError with its last
   *  words when it failed */
  hasLeft(): boolean;
}

function startKeeper(directory: string, port: number, mongod: readonly string[]): Keeper {
  const inSource = import.meta.url.endsWith('.ts');
  const script = fileURLToPath(inSource ? new URL('./keeper.ts', import.meta.url) : KEEPER);
  const loader = inSource ? ['--import', import.meta.resolve('tsx')] : [];
  const startedMs = Date.now();
  // Detached: a Ctrl-C in the terminal is for the service, and the keeper outlives the process that
  // started it.
  const child = spawn(process.execPath, [...loader, script, `${port}`, ...mongod], {
    cwd: directory,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-2000);
  });
  child.on('error', (error) => {
    words = error.message;
  });
  child.unref();
  (child.stderr as Socket).unref();
  const failed = (reason: string) =>
    new MongoUnavailableError(`The embedded MongoDB cannot start: ${reason} (its log: ${directory}/mongod.log)`);
  return {
    hasLeft() {
      if (child.exitCode === 0) return true;
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
        throw failed(words.trim().split('\n').at(-1) || 'its keeper was killed');
      }
      if (Date.now() > startedMs + JOIN_TIMEOUT_MS) throw failed(`nothing within ${JOIN_TIMEOUT_MS / 1000} s`);
      return false;
    },
  };
}
