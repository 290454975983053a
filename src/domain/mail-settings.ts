/** Parses `SMTP_URL` and `MAIL_FROM`. */
import { isIP } from 'node:net';
import { emailInput } from '../../contracts/primitives.js';

export interface MailSettings {
  host: string;
  port: number;
  /** TLS from the first byte; otherwise the connection is encrypted if the server offers it. */
  secure: boolean;
  auth: { user: string; pass: string } | null;
  /** The server is this machine, so that mail does not leave it. */
  isLoopback: boolean;
  from: { name: string; address: string };
}

const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;
const PASSWORD = 'with %40 for an @, %2F for a / and %25 for a % in user and password';

/** @throws RangeError with one line that names the setting. The URL is not repeated: it may hold a password */
export function parseMailSettings(url: string, from: string): MailSettings {
  return { ...serverOf(url), from: senderOf(from) };
}

function serverOf(text: string): Omit<MailSettings, 'from'> {
  if (!/^smtps?:\/\/[^/?#\\\s]/i.test(text) || !URL.canParse(text))
    throw new RangeError(`SMTP_URL must be smtp://host:port or smtps://host:port, ${PASSWORD}.`);
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (host === '' || (isIP(host) === 0 && !/^[A-Za-z0-9._-]+$/.test(host)))
    throw new RangeError('SMTP_URL must name a host.');
  if (!['', '/'].includes(pathname) || search !== '' || hash !== '')
    throw new RangeError('SMTP_URL must be a server with optional user and password, without path, query or fragment.');
  if (port === '0') throw new RangeError('SMTP_URL must have a port from 1 to 65535.');
  if ((username === '') !== (password === ''))
    throw new RangeError('SMTP_URL must have both user and password, or neither.');
  return {
    host,
    port: port === '' ? PORTS[protocol as keyof typeof PORTS] : Number(port),
    secure: protocol === 'smtps:',
    auth: username === '' ? null : { user: decoded(username), pass: decoded(password) },
    isLoopback: /^(?:localhost|.*\.localhost|::1|127(?:\.\d+){3})$/.test(host),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new RangeError(`SMTP_URL has a broken percent-encoding: write it ${PASSWORD}.`);
  }
}

function senderOf(text: string): MailSettings['from'] {
  const named = /^([^<>]*)<([^<>]+)>$/.exec(text);
  const address = (named ? named[2]! : text).trim();
  const name = (named?.[1] ?? '').trim().replace(/^"(.*)"$/, '$1');
  if (!emailInput.safeParse(address).success || /[\p{Cc}"]/u.test(name))
    throw new RangeError('MAIL_FROM must be an address, or a name and an address: Bean & Leaf <shop@example.com>.');
  return { name, address };
}
