/** Refuses requests that name a host which this ledger does not have. A web page can point its own
 *  name at this machine (DNS rebinding) and would then share the ledger's origin, faults included;
 *  its requests still carry that name. */
import { BlockList, isIP } from 'node:net';
import type { RequestHandler } from 'express';
import { sendProblem } from './answer.js';
import { Problem } from './problem.js';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** A server on all addresses is reached by any of them, and addresses cannot be rebound. */
const ALL_ADDRESSES = ['0.0.0.0', '::'];

/** @param listensOn the host given for listening, without brackets */
export function isOwnHost(header: string | undefined, listensOn: string): boolean {
  const host = hostOf(header);
  if (host === null) return false;
  if (host === listensOn || host === 'localhost' || host.endsWith('.localhost')) return true;
  const version = isIP(host);
  if (version === 0) return false;
  return ALL_ADDRESSES.includes(listensOn) || LOOPBACK.check(host, version === 4 ? 'ipv4' : 'ipv6');
}

/** The host of a `Host` header in lower case, without port and brackets; null for an
 *  invalid header. */
function hostOf(header: string | undefined): string | null {
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header ?? '') ?? [];
  return (bracketed ?? plain)?.toLowerCase() ?? null;
}

export function hostGuard(listensOn: () => string): RequestHandler {
  return (req, res, next) => {
    if (isOwnHost(req.headers.host, listensOn())) return next();
    sendProblem(res, new Problem('wrong_host'));
  };
}
