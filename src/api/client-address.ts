/** Which address a request counts for, and whether it comes from the operator's own network. */
import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

const LOCAL_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal']);
/** One customer of a provider usually has a whole /64 of IPv6. */
const IPV6_GROUPS = 4;

/** @param ip from express; IPv6 addresses are cut to their /64 */
function toClientAddress(ip: string | undefined): string {
  const address = parse(ip);
  if (address === null) return 'unknown';
  if (address.kind() === 'ipv4') return address.toString();
  return `${(address as ipaddr.IPv6).parts
    .slice(0, IPV6_GROUPS)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

export const clientAddressOf = (req: Request): string => toClientAddress(req.ip);

/** True for a connection from a loopback or private address without proxy headers. A proxy's
 *  statement about its client does not count here. */
export function isDirectLocalRequest(req: IncomingMessage): boolean {
  const address = parse(req.socket.remoteAddress);
  return !isForwarded(req) && address !== null && LOCAL_RANGES.has(address.range());
}

/** Some proxies and networks name the client in a header of their own,
 *  without `X-Forwarded-For`. */
const FORWARDING = /forwarded|client-?ip$|^(?:via|x-real-ip|cf-connecting-ip|x-envoy-external-address)$/;

export const isForwarded = (req: IncomingMessage): boolean =>
  Object.keys(req.headers).some((name) => FORWARDING.test(name));

/** Takes the ports off the entries of `X-Forwarded-For`, some of which are `IP:port` or
 *  `[v6]:port`: Express knows addresses only. */
export function dropForwardedPorts(req: IncomingMessage): void {
  const entries = req.headers['x-forwarded-for'];
  if (entries === undefined) return;
  req.headers['x-forwarded-for'] = String(entries)
    .split(',')
    .map((entry) =>
      entry
        .trim()
        .replace(/^\[([^\]]*)\](:\d+)?$/, '$1')
        .replace(/^([\d.]+):\d+$/, '$1'),
    )
    .join(', ');
}

function parse(ip: string | undefined): ipaddr.IPv4 | ipaddr.IPv6 | null {
  // A zone names the interface of a link-local address.
  const text = ip?.replace(/%.*$/, '') ?? '';
  return ipaddr.isValid(text) ? ipaddr.process(text) : null;
}
