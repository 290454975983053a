/** Describes why an attempt failed in a few stable words. Merchants see them, so they reveal nothing about addresses, certificates or code. */
import { errors } from 'undici';

/** One text for both, so as not to reveal which names exist in the operator's network. */
const NO_ADDRESS = 'host not found or not allowed';

const REASONS: Readonly<Record<string, string>> = {
  ADDRESS_NOT_ALLOWED: NO_ADDRESS,
  ENOTFOUND: NO_ADDRESS,
  EAI_AGAIN: NO_ADDRESS,
  EAI_FAIL: NO_ADDRESS,
  ENODATA: NO_ADDRESS,
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'host unreachable',
  EADDRNOTAVAIL: 'host unreachable',
  ETIMEDOUT: 'timed out',
  UND_ERR_CONNECT_TIMEOUT: 'timed out',
  UND_ERR_HEADERS_TIMEOUT: 'timed out',
  UND_ERR_BODY_TIMEOUT: 'timed out',
  ECONNRESET: 'connection closed',
  EPIPE: 'connection closed',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_HEADERS_OVERFLOW: 'invalid answer',
  CERT_HAS_EXPIRED: 'certificate expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate is for another host',
};

/** OpenSSL's verdicts on a chain without a trusted root. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

export const isUntrustedCertificate = (error: unknown): boolean => UNTRUSTED.has(codeOf(error));

export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (UNTRUSTED.has(code) || code.startsWith('CERT_')) return REASONS[code] ?? 'certificate not trusted';
  if (error instanceof errors.HTTPParserError) return 'invalid answer';
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_'))
    return REASONS[code] ?? 'TLS failed';
  return REASONS[code] ?? 'request failed';
}

/** @returns null for a success */
export function reasonOfStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect not followed' : `answered ${status}`;
}
