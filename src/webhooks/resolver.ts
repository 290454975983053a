/** Resolves the hosts of webhooks outside the process's look-up threads, so that a silent name
 *  server delays neither other endpoints nor reads of Horizon. Each look-up has a deadline, and
 *  each host one look-up at a time. */

import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP, type LookupFunction } from 'node:net';
import { createSecureContext } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { monotonicClock, within } from '../kit/clock.js';
import { isUntrustedCertificate } from './poster.js';

// The address guard: while private targets are not allowed, a connection is opened only to an
// address that was checked and is public.

/** Thrown for a forbidden address. The message does not reveal what is there. */
class AddressNotAllowed extends Error {
  readonly code = 'ADDRESS_NOT_ALLOWED';
}

/** The global unicast block of IANA; everything of IPv6 outside of it (mapped, compatible, NAT64,
 *  …) is special. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
/** Looks public, but on Azure the host of the virtual machine answers with metadata
 *  and credentials. */
const AZURE_HOST = '168.63.129.16';

/** True only for global unicast: an address is refused unless it is known to be public. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text) || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv6' ? address.match(GLOBAL_UNICAST) : address.toString() !== AZURE_HOST;
}

interface AddressGuard {
  /** Decides on a host given as an address, which needs no look-up. */
  allowsHost(hostname: string): boolean;
  /** For `net.connect`: resolves once and returns exactly the addresses that were checked, so that
   *  no second DNS answer can differ. */
  lookup: LookupFunction;
}

/** @param isAllowed called for each address; one refused address refuses the whole answer */
export function createAddressGuard(isAllowed: (address: string) => boolean, resolve: Resolve): AddressGuard {
  return {
    allowsHost: (hostname) => isIP(hostname) === 0 || isAllowed(hostname),
    lookup: (hostname, options, callback) => {
      const answer = (addresses: readonly Address[]) => {
        const [first] = addresses;
        if (!first) return callback(new HostNotFound(), []);
        if (!addresses.every(({ address }) => isAllowed(address))) return callback(new AddressNotAllowed(), []);
        if (options.all) return callback(null, [...addresses]);
        callback(null, first.address, first.family);
      };
      resolve(hostname).then(answer, (error) => callback(error, []));
    },
  };
}

// Opens connections to endpoints. The address is always checked, and the certificate
// always verified.

type Connector = buildConnector.connector;

/**
 * @param options.developmentCa PEM trusted in addition for loopback hosts; read when needed
 */
export function createConnector(options: {
  guard: AddressGuard;
  timeoutMs: number;
  developmentCa: (() => string | null) | null;
}): Connector {
  const { guard, timeoutMs, developmentCa } = options;
  const connectorTrusting = (ca?: string) =>
    buildConnector({
      timeout: timeoutMs,
      // One context for all connections. Without `ca` it trusts Node's roots and what
      // NODE_EXTRA_CA_CERTS adds.
      secureContext: createSecureContext(ca === undefined ? {} : { ca }),
      lookup: guard.lookup,
    });
  const connect = connectorTrusting();
  const guarded: Connector = (target, callback) => {
    if (guard.allowsHost(target.hostname)) return connect(target, callback);
    process.nextTick(callback, new AddressNotAllowed(), null);
  };
  return developmentCa ? withDevelopmentCa(guarded, developmentCa, connectorTrusting) : guarded;
}

/** Retries a loopback host whose certificate is not trusted with the development authority, and
 *  from then on uses that alone. */
function withDevelopmentCa(
  connect: Connector,
  developmentCa: () => string | null,
  connectorTrusting: (ca: string) => Connector,
): Connector {
  const known = new Set<string>();
  let development: { ca: string; connect: Connector } | null = null;
  const trusting = (ca: string): Connector => {
    if (development?.ca !== ca) development = { ca, connect: connectorTrusting(ca) };
    return development.connect;
  };
  return (target, callback) => {
    const host = `${target.hostname}:${target.port}`;
    const ca = known.has(host) ? developmentCa() : null;
    if (ca !== null) return trusting(ca)(target, callback);
    connect(target, (...result) => {
      const [error] = result;
      const ca = error && isUntrustedCertificate(error) && isLoopback(target.hostname) ? developmentCa() : null;
      if (ca === null) return callback(...result);
      known.add(host);
      trusting(ca)(target, callback);
    });
  };
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '::1' || /^127\.[\d.]+$/.test(hostname);

interface Address {
  address: string;
  family: number;
}
/** Rejects with `HostNotFound` when there is no address. */
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

/** Unknown name, broken name server or deadline: tenants do not learn which. */
class HostNotFound extends Error {
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

/** Searches the hosts file, then queries the name servers for IPv4 and IPv6 addresses, as the
 *  system does.
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

/** Read synchronously, because asynchronous reads wait for the same threads as the system's
 *  look-ups. The files are small. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
