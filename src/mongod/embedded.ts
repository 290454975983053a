/** Membership in the embedded MongoDB of a data directory: from `join` to `close` this process has a mongod, whoever started it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join as joinPath, resolve as resolvePath } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { systemClock as clock } from '../clock.js';
import { StartupError } from '../startup-error.js';
import { makeReady } from './replica-set.js';
import { connectTo } from './sockets.js';

const JOIN_TIMEOUT_MS = 90_000;
const LEAVE_TIMEOUT_MS = 8_000;

export interface EmbeddedMongo {
  uri: string;
  close(): Promise<void>;
}

/** @param findMongod the command line of a mongod; asked only when none runs for this directory yet.
 *  @throws StartupError with the reason when mongod cannot run. */
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
  const { port } = member;
  member.socket.once('close', rejoin);
  const uri = await makeReady({ port, key, password: createHmac('sha256', key).update('password').digest('hex') });

  async function join(fixedPort: number): Promise<{ socket: Socket; port: number }> {
    const deadline = clock.nowMs() + JOIN_TIMEOUT_MS;
    let keeper: Keeper | null = null;
    for (;;) {
      leaving.signal.throwIfAborted();
      const socket = await connectTo(joinPath(directory, 'keeper.sock'));
      const greeted = socket && (await greeting(socket));
      if (socket && greeted !== null) {
        // A process that forgets to close must still be able to end.
        socket.unref();
        return { socket, port: greeted };
      }
      if (keeper === null) keeper = startKeeper(directory, fixedPort, await findMongod());
      else if (keeper.process.exitCode === 0) keeper = null;
      else if (keeper.process.exitCode !== null || keeper.process.signalCode !== null)
        throw new StartupError(keeper.said());
      if (clock.nowMs() > deadline)
        throw new StartupError(
          `The embedded MongoDB did not start in ${JOIN_TIMEOUT_MS / 1000} s; see ${directory}/mongod.log.`,
        );
      await clock.sleep(25);
    }
  }

  async function rejoin(): Promise<void> {
    while (!leaving.signal.aborted) {
      try {
        log.warn('The embedded MongoDB lost its keeper; starting another.');
        member = await join(port);
        member.socket.once('close', rejoin);
        return;
      } catch (error) {
        if (leaving.signal.aborted) return;
        log.error({ err: error }, 'The embedded MongoDB cannot be restarted; trying again.');
        await clock.sleep(1000, leaving.signal);
      }
    }
  }

  return {
    uri,
    async close() {
      leaving.abort();
      const { socket } = member;
      if (socket.closed) return;
      const left = new AbortController();
      socket.once('close', () => left.abort());
      socket.end();
      await clock.sleep(LEAVE_TIMEOUT_MS, left.signal);
      socket.destroy();
    },
  };
}

/** Makes the directory that only this user can enter, and returns the key in it. */
function prepare(directory: string): string {
  try {
    // A data directory that exists keeps its mode: it may be shared on purpose, and what is secret is in here.
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    chmodSync(directory, 0o700);
    const path = joinPath(directory, 'keyfile');
    const draft = `${path}.${clock.randomBytes(6).toString('hex')}`;
    writeFileSync(draft, clock.randomBytes(72).toString('base64'), { mode: 0o400 });
    try {
      linkSync(draft, path);
    } catch (error) {
      // Of two that start at once, the first one's key counts.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft);
    }
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new StartupError(`DATA_DIR cannot be used: ${(error as Error).message}`);
  }
}

/** The port that the keeper names once mongod listens, or null when it goes away before. */
function greeting(socket: Socket): Promise<number | null> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: socket });
    lines.once('line', (line) => resolve((JSON.parse(line) as { port: number }).port));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(null));
    socket.once('end', () => socket.end());
  });
}

interface Keeper {
  process: ChildProcess;
  /** Its last words. */
  said(): string;
}

function startKeeper(directory: string, port: number, mongod: readonly string[]): Keeper {
  const script = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? 'keeper.ts' : 'keeper.js', import.meta.url));
  const loader = script.endsWith('.ts') ? ['--import', import.meta.resolve('tsx')] : [];
  // Detached: a Ctrl-C in the terminal is for the service, and the keeper outlives who started it.
  const child = spawn(process.execPath, [...loader, script, `${port}`, ...mongod], {
    cwd: directory,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-2000);
  });
  child.on('error', (error) => {
    words = error.message;
  });
  child.unref();
  (child.stderr as Socket).unref();
  return {
    process: child,
    said: () =>
      `The embedded MongoDB cannot start: ${words.trim().split('\n').at(-1) || 'its keeper was killed'} (log: ${directory}/mongod.log)`,
  };
}
