/** Parses settings with a syntax of their own: `SMTP_URL` and `MAIL_FROM`, `RATE_SOURCES` and
 *  `RATE_PEGS`. */
import { isIP } from 'node:net';
import { isAccountAddress } from '../../contracts/address.js';
import { isCurrency } from '../../contracts/currencies.js';
import { emailInput } from '../../contracts/primitives.js';
import { type Asset, sameAsset } from './asset.js';

// The mail server and the sender.

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

/** @throws RangeError with one line that names the setting. The URL is not repeated: it may hold
 *  a password */
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

// Rate sources and pegs.

const RATE_SOURCES = ['kraken', 'coinbase', 'coingecko', 'ecb', 'ledger', 'custom'] as const;
type RateSourceName = (typeof RATE_SOURCES)[number];

export interface RateSourceSetting {
  name: RateSourceName;
  /** Without a trailing slash; null for the source's default. */
  baseUrl: string | null;
}

/** An asset that is worth exactly one unit of the currency. */
export interface Peg {
  asset: Asset;
  currency: string;
}

/** @throws RangeError that tells the fault, without the setting's name */
export function parseRateSources(value: string): RateSourceSetting[] {
  const settings = itemsOf(value).map((item): RateSourceSetting => {
    const [, given = '', baseUrl = null] = /^([^@]*)(?:@(.*))?$/s.exec(item) ?? [];
    const name = RATE_SOURCES.find((each) => each === given);
    if (!name)
      throw new RangeError(
        `must list some of ${RATE_SOURCES.join(', ')}, each with an optional @base-url, not "${given}".`,
      );
    if (baseUrl !== null && !isBase(baseUrl)) throw new RangeError(`has no http or https URL behind ${name}@.`);
    if (name === 'custom' && baseUrl === null)
      throw new RangeError('needs the URL of the custom source: custom@https://….');
    return { name, baseUrl: baseUrl?.replace(/\/+$/, '') ?? null };
  });
  const twice = settings.find(({ name }, index) => settings.findIndex((each) => each.name === name) < index);
  if (twice) throw new RangeError(`lists ${twice.name} twice.`);
  return settings;
}

/** A base URL may have a path, and that of a custom source a query. A key in it is
 *  never repeated. */
const isBase = (text: string): boolean =>
  URL.canParse(text) && /^https?:\/\/[^/?#\\\s@]+(?:[/?][^#\s\\]*)?$/i.test(text);

/** `USDC:G…=USD,EURC:G…=EUR`. @throws RangeError as `parseRateSources` */
export function parseRatePegs(value: string): Peg[] {
  const pegs = itemsOf(value).map((item): Peg => {
    const [, code, issuer = '', currency = ''] = /^([A-Za-z0-9]{1,12}):(\w+)=(\w+)$/.exec(item) ?? [];
    if (!code || !isAccountAddress(issuer) || !isCurrency(currency))
      throw new RangeError(`must list assets and currencies such as USDC:G…=USD, not "${item}".`);
    return { asset: { code, issuer }, currency };
  });
  const twice = pegs.find(({ asset }, index) => pegs.findIndex((each) => sameAsset(each.asset, asset)) < index);
  if (twice) throw new RangeError(`lists ${twice.asset.code} twice.`);
  return pegs;
}

const itemsOf = (value: string) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
