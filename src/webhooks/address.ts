/** The address guard: while private targets are not allowed, a connection is opened only to an address that was checked and is public. */
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, HostNotFound, type Resolve } from './resolver.js';

/** Thrown for a forbidden address. The message does not reveal what is there. */
export class AddressNotAllowed extends Error {
  readonly code = 'ADDRESS_NOT_ALLOWED';
}

/** The global unicast block of IANA; everything of IPv6 outside of it (mapped, compatible, NAT64, …) is special. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
/** Looks public, but on Azure the host of the virtual machine answers with metadata and credentials. */
const AZURE_HOST = '168.63.129.16';

/** True only for global unicast: an address is refused unless it is known to be public. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text) || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv6' ? address.match(GLOBAL_UNICAST) : address.toString() !== AZURE_HOST;
}

export interface AddressGuard {
  /** Decides on a host given as an address, which needs no look-up. */
  allowsHost(hostname: string): boolean;
  /** For `net.connect`: resolves once and returns exactly the addresses that were checked, so that no second DNS answer can differ. */
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
