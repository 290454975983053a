/** How a connection to an endpoint is opened: the address is checked, the certificate is verified, always. */
import { createSecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { type AddressGuard, AddressNotAllowed } from './address.js';
import { isUntrustedCertificate } from './reason.js';

type Connector = buildConnector.connector;

/**
 * @param options.guard null: every address is allowed
 * @param options.developmentCa PEM that is trusted in addition for hosts on the loopback interface; asked when needed
 */
export function createConnector(options: {
  guard: AddressGuard | null;
  timeoutMs: number;
  developmentCa: (() => string | null) | null;
}): Connector {
  const { guard, timeoutMs, developmentCa } = options;
  // One context for all connections. Without `ca` it trusts Node's roots and those of NODE_EXTRA_CA_CERTS.
  const base = { timeout: timeoutMs, ...(guard ? { lookup: guard.lookup } : {}) };
  const connect = buildConnector({ ...base, secureContext: createSecureContext() });

  const guarded: Connector = (target, callback) => {
    if (!guard || guard.allowsHost(target.hostname)) return connect(target, callback);
    process.nextTick(callback, new AddressNotAllowed(), null);
  };
  if (!developmentCa) return guarded;

  return (target, callback) => {
    guarded(target, (...result) => {
      const [error] = result;
      const ca = error && isUntrustedCertificate(error) && isLoopbackHost(target.hostname) ? developmentCa() : null;
      if (ca === null) return callback(...result);
      buildConnector({ ...base, secureContext: createSecureContext({ ca }) })(target, callback);
    });
  };
}

const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '::1' || /^127\.[\d.]+$/.test(hostname);
