/** Which address a request counts for, and whether it comes from the operator's own network. */
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

const LOCAL_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal']);
/** One customer of a provider usually has a whole /64 of IPv6. */
const IPV6_GROUPS = 4;

/** @param ip as express tells it; IPv6 addresses are cut to their /64 */
export function toClientAddress(ip: string | undefined): string {
  const address = parse(ip);
  if (address === null) return 'unknown';
  if (address.kind() === 'ipv4') return address.toString();
  return `${(address as ipaddr.IPv6).parts
    .slice(0, IPV6_GROUPS)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

export const clientAddressOf = (req: Request): string => toClientAddress(req.ip);

/** True for loopback and private addresses. A forwarded request whose proxy is not trusted may come from anywhere, so it is not local. */
export function isLocalRequest(req: Request, trustsProxy: boolean): boolean {
  if (!trustsProxy && isForwarded(req)) return false;
  const address = parse(req.ip);
  return address !== null && LOCAL_RANGES.has(address.range());
}

export const isForwarded = (req: Request): boolean =>
  req.headers['x-forwarded-for'] !== undefined || req.headers.forwarded !== undefined;

function parse(ip: string | undefined): ipaddr.IPv4 | ipaddr.IPv6 | null {
  // A zone names the interface of a link-local address.
  const text = ip?.replace(/%.*$/, '') ?? '';
  return ipaddr.isValid(text) ? ipaddr.process(text) : null;
}
