/** Reads the certificate of `webhook listen` from the data directory. The service trusts it for
 *  loopback targets while private ones are allowed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const DEVELOPMENT_CA_FILE = 'development-ca.pem';

/** PEM of the certificate alone: the file may hold its key as well. Null if `webhook listen`
 *  never ran. */
export function readDevelopmentCa(dataDir: string): string | null {
  try {
    const file = readFileSync(join(dataDir, DEVELOPMENT_CA_FILE), 'utf8');
    return /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(file)?.[0] ?? null;
  } catch {
    return null;
  }
}
