/** Opens connections to endpoints. The address is always checked, and the certificate always verified. */
import { createSecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { type AddressGuard, AddressNotAllowed } from './address.js';
import { isUntrustedCertificate } from './reason.js';

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
      // One context for all connections. Without `ca` it trusts Node's roots and those of NODE_EXTRA_CA_CERTS.
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

/** Retries a loopback host whose certificate is not trusted with the development authority, and from then on uses that alone. */
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
