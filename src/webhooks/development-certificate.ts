/** The certificate of `webhook listen`: self-signed, for loopback names only, made once per data directory, where the service reads it. */
import { X509Certificate } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { generate } from 'selfsigned';
import type { Clock } from '../kit/clock.js';

const DAY_MS = 86_400_000;
const VALID_MS = 365 * DAY_MS;
/** A certificate that ends sooner is replaced. */
const LEAST_LEFT_MS = DAY_MS;

export interface Certificate {
  /** PEM. */
  cert: string;
  /** PEM. */
  key: string;
}

/** @param path of the file for both, readable by its owner only; rewritten when missing, unusable or about to expire */
export async function openDevelopmentCertificate(path: string, clock: Clock): Promise<Certificate> {
  const found = await readFile(path, 'utf8').catch(() => '');
  const cert = found.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/)?.[0];
  const key = found.match(/-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/)?.[0];
  if (cert && key && Date.parse(new X509Certificate(cert).validTo) - clock.nowMs() > LEAST_LEFT_MS)
    return { cert, key };

  const now = clock.nowMs();
  const made = await generate([{ name: 'commonName', value: 'stellar-collect webhook listen' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + VALID_MS),
    extensions: [
      // Not an authority: the service trusts nothing that this key signs.
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  });
  const aside = `${path}.${process.pid}`;
  await writeFile(aside, `${made.cert.trim()}\n${made.private.trim()}\n`, { mode: 0o600 });
  await rename(aside, path);
  return { cert: made.cert, key: made.private };
}
