/** One ledger for all processes on one database: the process that gets the port serves and closes;
 *  the others use it and take over when it dies. The store's fence, not this file, guarantees that
 *  two processes never close at once. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import type { Db } from 'mongodb';
import type { Logger } from 'pino';
import type { Clock } from './clock.js';
import { createLocalLedger, type LocalLedger } from './local-ledger.js';

export interface ServedLedger {
  /** The ledger's current URL; it changes only if processes on one database have
   *  different ports. */
  readonly url: string;
  close(): Promise<void>;
}

export interface ServeDeps {
  db: Db;
  clock: Clock;
  log: Logger;
  host: string;
  /** 0 takes any free port. */
  port: number;
  closeMs: number;
  passphrase?: string;
}

/** The ledger cannot be served at its address. The message is one line without a full stop, for a
 *  hint on what sets the address. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** How often a follower checks whether the ledger is still served. */
const RETRY_MS = 1000;
/** An owner on another machine cannot be probed: it counts as dead after this long without
 *  a ledger. */
const STALE_MS = 10_000;
const PROBE_TIMEOUT_MS = 2000;
/** A port without an immediate answer may belong to a ledger that is starting. */
const PROBE_ATTEMPTS = 3;

type Probe = 'ours' | 'dead' | 'foreign' | 'silent';

const TAKEN = (port: number) => `Port ${port} is taken by something else`;

/** Checks the address before anything is opened. A local ledger on the port is accepted: only the
 *  database tells whose it is.
 *  @throws ListenError when another program has the port, or the host is not of this machine */
export async function checkAddress({ host, port }: Pick<ServeDeps, 'host' | 'port'>): Promise<void> {
  for (let left = PROBE_ATTEMPTS; left > 0; left--) {
    const bound = await bind(host, port);
    if (bound !== null) return closeServer(bound.server);
    const probe = await probeLedger(urlOf(host, port), null);
    if (probe === 'ours') return;
    if (probe === 'foreign') break;
  }
  throw new ListenError(TAKEN(port));
}

/** Resolves once the ledger is served, here or by another process.
 *  @throws ListenError when the port belongs to another program */
export async function serveLocalLedger(deps: ServeDeps): Promise<ServedLedger> {
  const { clock, log, host, port, closeMs } = deps;
  const ended = new AbortController();
  let local: LocalLedger = await createLocalLedger(deps);
  const { databaseId } = local.ledger.head();
  let url = '';
  let lost: Promise<void> | null = null;
  /** Whether `local` was taken over, so that its state is out of date. */
  let isStale = false;

  /** Serves, or finds the process that does. Null if another program has the port. */
  async function attempt(): Promise<string | null> {
    const bound = await bind(host, port);
    if (bound === null) {
      const taken = urlOf(host, port);
      for (let left = PROBE_ATTEMPTS; left > 0; left--) {
        const probe = await probeLedger(taken, databaseId);
        if (probe === 'ours') return taken;
        if (probe === 'foreign') return null;
        await clock.sleep(RETRY_MS, ended.signal);
        // That process has just ended, and the port is free again.
        if (probe === 'dead') return await attempt();
      }
      return null;
    }
    const { server, letIn } = bound;
    const mine = urlOf(host, (server.address() as AddressInfo).port);
    const other = await livingOwner(mine);
    if (other !== null) {
      await closeServer(server);
      return other;
    }
    lost = new Promise((resolve) => local.ledger.closer.whenLost(resolve));
    await local.serve(server, { host, url: mine });
    letIn();
    local.startTimer();
    log.info({ url: mine }, 'the local ledger is served');
    return mine;
  }

  /** The URL of another living owner, although this process got its port. */
  async function livingOwner(mine: string): Promise<string | null> {
    const owner = await local.ledger.liveOwner(Math.max(STALE_MS, 3 * closeMs));
    // This process has the port, so the server that had it is gone.
    if (owner === null || owner.url === '') return null;
    if (owner.host !== hostname()) return owner.url;
    if (owner.url === mine) return null;
    const probe = await probeLedger(owner.url, databaseId);
    return probe === 'ours' || probe === 'silent' ? owner.url : null;
  }

  async function keepServed(): Promise<void> {
    while (!ended.signal.aborted) {
      if (lost !== null) {
        await Promise.race([lost, aborted(ended.signal)]);
        if (ended.signal.aborted) return;
        lost = null;
        await local.close();
        isStale = true;
      }
      await clock.sleep(RETRY_MS, ended.signal);
      if (ended.signal.aborted) return;
      try {
        if (isStale) local = await createLocalLedger(deps);
        isStale = false;
        url = (await attempt()) ?? url;
      } catch (error) {
        log.warn({ err: error }, 'the local ledger could not be looked at');
      }
    }
  }

  try {
    const first = await attempt();
    if (first === null) {
      throw new ListenError(TAKEN(port));
    }
    url = first;
  } catch (error) {
    await local.close();
    throw error;
  }
  const keeping = keepServed();

  return {
    get url() {
      return url;
    },
    async close() {
      ended.abort();
      await keeping;
      await local.close();
    },
  };
}

interface Bound {
  server: Server;
  /** Passes early requests to the listener, which can answer now. */
  letIn(): void;
}

/** Listens, and holds requests until the listener is known. Null if the port is taken. */
async function bind(host: string, port: number): Promise<Bound | null> {
  const early: [IncomingMessage, ServerResponse][] = [];
  const hold = (req: IncomingMessage, res: ServerResponse) => void early.push([req, res]);
  const server = createServer(hold);
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return {
      server,
      letIn() {
        server.off('request', hold);
        for (const [req, res] of early) server.emit('request', req, res);
      },
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') return null;
    throw new ListenError(`The local ledger cannot listen on ${host} port ${port} (${code})`);
  }
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/** The kind of server at `url`. @param databaseId null accepts every local ledger as ours */
async function probeLedger(url: string, databaseId: string | null): Promise<Probe> {
  try {
    const response = await fetch(new URL('/local-ledger', url), { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const answer = (await response.json()) as { databaseId?: unknown };
    const isOurs = databaseId === null ? typeof answer.databaseId === 'string' : answer.databaseId === databaseId;
    return isOurs ? 'ours' : 'foreign';
  } catch (error) {
    const { name, cause } = error as Error & { cause?: NodeJS.ErrnoException };
    if (name === 'TimeoutError') return 'silent';
    return cause?.code === 'ECONNREFUSED' || cause?.code === 'ECONNRESET' ? 'dead' : 'foreign';
  }
}

/** The URL for a client on this machine of a server that listens on `host`. */
function urlOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
