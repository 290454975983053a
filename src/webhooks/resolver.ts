/** Resolves the hosts of webhooks outside the process's look-up threads, so that a silent name server delays neither other endpoints nor reads of Horizon. Each
 *  look-up has a deadline, and each host one look-up at a time. */
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { monotonicClock, within } from '../kit/clock.js';

export interface Address {
  address: string;
  family: number;
}
/** Rejects with `HostNotFound` when there is no address. */
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

/** Unknown name, broken name server or deadline: tenants do not learn which. */
export class HostNotFound extends Error {
  readonly code = 'ENOTFOUND';
}

const notFound = () => {
  throw new HostNotFound();
};

interface HostResolver {
  resolve: Resolve;
  /** Ends pending look-ups. */
  close(): void;
}

const LOOKUP_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 2_000;
const LOOPBACK: readonly Address[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** Searches the hosts file, then queries the name servers for IPv4 and IPv6 addresses, as the system does.
 *  @param options.timeoutMs for one look-up; at most 5 s
 *  @param options.servers name servers (`address:port`) instead of the system's, for tests */
export function createHostResolver(options: { timeoutMs?: number; servers?: readonly string[] } = {}): HostResolver {
  const { timeoutMs = LOOKUP_TIMEOUT_MS, servers } = options;
  const deadlineMs = Math.min(timeoutMs, LOOKUP_TIMEOUT_MS);
  const resolver = new Resolver({ timeout: Math.min(QUERY_TIMEOUT_MS, deadlineMs), tries: 2 });
  if (servers) resolver.setServers(servers);
  const search = servers ? { domains: [], ndots: 1 } : readSearch(read('/etc/resolv.conf'));
  const running = new Map<string, Promise<readonly Address[]>>();

  const ask = async (name: string): Promise<readonly Address[]> => {
    const [four, six] = await Promise.all([
      resolver.resolve4(name).catch(() => []),
      resolver.resolve6(name).catch(() => []),
    ]);
    return [...four.map((address) => ({ address, family: 4 })), ...six.map((address) => ({ address, family: 6 }))];
  };
  const lookUp = async (hostname: string): Promise<readonly Address[]> => {
    const known = inHosts(read('/etc/hosts'), hostname);
    if (known.length > 0) return known;
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return LOOPBACK;
    for (const name of namesToAsk(hostname, search)) {
      const found = await ask(name);
      if (found.length > 0) return found;
    }
    throw new HostNotFound();
  };

  return {
    resolve(host) {
      const hostname = host.toLowerCase();
      // A network deadline: it runs in real time, not by the service's clock.
      const lookup = running.get(hostname) ?? within(monotonicClock, deadlineMs, lookUp(hostname), notFound);
      running.set(hostname, lookup);
      const forget = () => void (running.get(hostname) === lookup && running.delete(hostname));
      lookup.then(forget, forget);
      return lookup;
    },
    close: () => resolver.cancel(),
  };
}

/** The addresses that a hosts file gives to a name. */
export function inHosts(text: string, hostname: string): readonly Address[] {
  const name = hostname.replace(/\.$/, '');
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!names.some((each) => each.toLowerCase() === name)) return [];
    return [{ address, family: address.includes(':') ? 6 : 4 }];
  });
}

interface Search {
  domains: readonly string[];
  /** A name with at least this many dots is first tried as given. */
  ndots: number;
}

/** Reads the last `search` or `domain` line of `resolv.conf`, and its option `ndots`. */
export function readSearch(text: string): Search {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/));
  const domains = lines.findLast(([key]) => key === 'search' || key === 'domain')?.slice(1) ?? [];
  const ndots = /^\s*options\b.*\bndots:(\d+)/m.exec(text)?.[1];
  return { domains, ndots: ndots === undefined ? 1 : Number(ndots) };
}

/** The names that a host may stand for, in query order. With a final dot it is taken literally. */
export function namesToAsk(hostname: string, { domains, ndots }: Search): readonly string[] {
  if (hostname.endsWith('.')) return [hostname];
  const within = domains.map((domain) => `${hostname}.${domain}`);
  return hostname.split('.').length - 1 >= ndots ? [hostname, ...within] : [...within, hostname];
}

/** Read synchronously, because asynchronous reads wait for the same threads as the system's look-ups. The files are small. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
