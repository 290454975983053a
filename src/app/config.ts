/** The only reader of `process.env`. Checks every setting at the start; an invalid one ends the
 *  start with one line that names it. */

import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { NETWORKS, type Network, networkInfo } from '../../contracts/networks.js';
import { parseAmount } from '../domain/amount.js';
import {
  type MailSettings,
  type Peg,
  parseMailSettings,
  parseRatePegs,
  parseRateSources,
  type RateSourceSetting,
} from '../domain/rate-settings.js';
import { StartupError } from '../kit/startup-error.js';
import { fileOf, LOG_LEVELS, type LogLevel, probablyMeant, SECRETS, type SETTINGS } from './settings.js';

export interface Config {
  host: string;
  port: number;
  /** Base of the links' URLs, without a trailing slash; null until the port is known when `port`
   *  is 0. */
  publicUrl: string | null;
  mongodbUri: string | null;
  /** Null: MongoDB's own server. */
  mongodbDownloads: string | null;
  dataDir: string;
  /** Folder of a downloaded mongod, shared by all services of this user. */
  cacheDir: string;
  networks: readonly Network[];
  /** Empty when only `rpcUrls` are set, and for LOCAL when the built-in ledger serves it. */
  horizonUrls: Readonly<Record<Network, readonly string[]>>;
  rpcUrls: Readonly<Record<Network, readonly string[]>>;
  /** History archives. For LOCAL empty when the built-in ledger's is used, or none. */
  archiveUrls: Readonly<Record<Network, readonly string[]>>;
  horizonRequestsPerHour: number;
  pollIntervalMs: number;
  localLedgerPort: number;
  localLedgerCloseMs: number;
  /** Keys of 32 bytes, the first of which seals; null: one is generated into `dataDir`. */
  secretsKeys: readonly Buffer[] | null;
  /** Null: one is generated into the database. */
  setupCode: string | null;
  webhookAllowPrivate: boolean;
  webhookTimeoutMs: number;
  webhookRetryBaseMs: number;
  webhookMaxAttempts: number;
  /** Requests of an account; 0 for no limit. */
  rateLimitPerMinute: number;
  /** Requests of a client address without a key; 0 for no limit. */
  publicRateLimitPerMinute: number;
  /** Concurrent exports in one process. */
  maxExportsPerAccount: number;
  maxWebhooksPerAccount: number;
  maxStreamsPerAccount: number;
  maxApiKeysPerAccount: number;
  maxUsersPerAccount: number;
  maxWalletsPerAccount: number;
  /** Express's `trust proxy`. */
  trustProxy: false | number | string;
  /** Null: metrics and details of readiness are served on `port`, to local addresses. */
  metricsPort: number | null;
  /** Null: no e-mail is sent. */
  mail: MailSettings | null;
  /** Per day and sort. */
  maxMailsPerAccount: number;
  /** From one planned audit of a wallet to the next; 0 for none. */
  auditIntervalHours: number;
  /** 0 keeps everything. */
  retentionDays: number;
  /** 0: receipts are shown for ever. */
  receiptDays: number;
  /** 0 keeps all unmatched payments. */
  dustStroops: bigint;
  rates: RateSettings;
  logLevel: LogLevel;
}

interface RateSettings {
  /** In the order of the setting. */
  sources: readonly RateSourceSetting[];
  pegs: readonly Peg[];
  /** Null when its source is not configured. */
  coingeckoApiKey: string | null;
  /** Between samples of a pair. */
  intervalMs: number;
  lockMs: number;
  maxAgeMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws StartupError naming the setting and its fault; for a secret in a file `NAME_FILE` */
export function readConfig(env: Environment = process.env): Config {
  const files = SECRETS.filter((name) => env[fileOf(name)]?.trim());
  const values = files.map((name) => [name, secretIn(env, name)]);
  try {
    return configOf({ ...env, ...Object.fromEntries(values) });
  } catch (error) {
    const name = error instanceof StartupError && files.find((each) => error.message.startsWith(`${each} `));
    if (!name) throw error;
    throw bad(fileOf(name), (error as StartupError).message.slice(`${name} `.length));
  }
}

/** More than any secret has. */
const MOST_BYTES = 65_536;

/** The secret in the file that `NAME_FILE` names. Its faults repeat neither the content nor the
 *  path, which may be the secret itself, set by mistake. */
function secretIn(env: Environment, name: string): string {
  const setting = fileOf(name);
  if (env[name]?.trim()) throw bad(setting, `and ${name} are both set: keep one of them.`);
  const content = contentOf(setting, env[setting]!.trim()).replace(/\r?\n$/, '');
  if (content.trim() === '') throw bad(setting, 'names an empty file.');
  if (/[\p{Cc}\uFFFD]/u.test(content)) throw bad(setting, 'names a file that does not hold one line of text.');
  return content;
}

function contentOf(setting: string, path: string): string {
  try {
    const stat = statSync(path);
    if (stat.isFile() && stat.size <= MOST_BYTES) return readFileSync(path, 'utf8');
  } catch (error) {
    throw bad(setting, `names a file that cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  throw bad(setting, `names something else than a file of at most ${MOST_BYTES} bytes.`);
}

function configOf(env: Environment): Config {
  const read = createReader(env);
  const { raw, integer, boolean, oneOf } = read;
  const networks = list(raw('NETWORKS') ?? 'LOCAL').map((name) => oneOf('NETWORKS', name, NETWORKS));
  if (networks.length === 0) throw bad('NETWORKS', `must name at least one of ${NETWORKS.join(', ')}.`);
  const urls = readLedgerUrls(read);
  const addresses = readAddresses(read, networks);
  const { mongodbUri } = addresses;
  return {
    ...addresses,
    ...urls,
    dataDir: raw('DATA_DIR') ?? './data',
    cacheDir: join(raw('XDG_CACHE_HOME') ?? join(homedir(), '.cache'), 'stellar-collect'),
    networks,
    horizonRequestsPerHour: integer('HORIZON_REQUESTS_PER_HOUR', 3600, 30, 1_000_000_000),
    pollIntervalMs: integer('POLL_INTERVAL_MS', 1000, 10, 3_600_000),
    localLedgerCloseMs: integer('LOCAL_LEDGER_CLOSE_MS', 1000, 10, 3_600_000),
    secretsKeys: secretsKeys(raw('SECRETS_KEY'), mongodbUri),
    setupCode: setupCode(raw('SETUP_CODE')),
    webhookAllowPrivate: boolean(
      'WEBHOOK_ALLOW_PRIVATE',
      networks.every((network) => network === 'LOCAL'),
    ),
    webhookTimeoutMs: integer('WEBHOOK_TIMEOUT_MS', 15_000, 10, 600_000),
    webhookRetryBaseMs: integer('WEBHOOK_RETRY_BASE_MS', 5000, 1, 86_400_000),
    webhookMaxAttempts: integer('WEBHOOK_MAX_ATTEMPTS', 11, 1, 100),
    rateLimitPerMinute: integer('RATE_LIMIT_PER_MINUTE', 1200, 0, 1_000_000_000),
    publicRateLimitPerMinute: integer('PUBLIC_RATE_LIMIT_PER_MINUTE', 600, 0, 1_000_000_000),
    maxStreamsPerAccount: integer('MAX_STREAMS_PER_ACCOUNT', 2000, 1, 20_000),
    maxExportsPerAccount: integer('MAX_EXPORTS_PER_ACCOUNT', 4, 1, 50),
    maxWebhooksPerAccount: integer('MAX_WEBHOOKS_PER_ACCOUNT', 50, 1, 1_000_000),
    maxApiKeysPerAccount: integer('MAX_API_KEYS_PER_ACCOUNT', 100, 1, 1_000_000),
    maxUsersPerAccount: integer('MAX_USERS_PER_ACCOUNT', 200, 1, 1_000_000),
    maxWalletsPerAccount: integer('MAX_WALLETS_PER_ACCOUNT', 10_000, 1, 1_000_000),
    trustProxy: trustProxy(raw('TRUST_PROXY')),
    mail: mail(raw('SMTP_URL'), raw('MAIL_FROM')),
    maxMailsPerAccount: integer('MAX_MAILS_PER_ACCOUNT', 1000, 1, 1_000_000),
    auditIntervalHours: integer('AUDIT_INTERVAL_HOURS', 24, 0, 8760),
    retentionDays: integer('RETENTION_DAYS', 0, 0, 36_500),
    receiptDays: integer('RECEIPT_DAYS', 90, 0, 36_500),
    dustStroops: dust(raw('DUST_AMOUNT')),
    rates: {
      ...rateSources(raw('RATE_SOURCES'), raw('COINGECKO_API_KEY')),
      pegs: listed('RATE_PEGS', raw('RATE_PEGS'), parseRatePegs),
      intervalMs: integer('RATE_INTERVAL_SECONDS', 60, 1, 86_400) * 1000,
      lockMs: integer('RATE_LOCK_MINUTES', 15, 1, 1440) * 60_000,
      maxAgeMs: integer('RATE_MAX_AGE_SECONDS', 600, 1, 86_400) * 1000,
    },
    logLevel: oneOf('LOG_LEVEL', raw('LOG_LEVEL') ?? 'info', LOG_LEVELS),
  };
}

/** A line for each variable that is no setting and nearly one: without it a service would start by
 *  defaults, and say nothing. */
export const misspeltIn = (env: Environment = process.env): string[] =>
  Object.keys(env).flatMap((name) => {
    const setting = probablyMeant(name);
    return setting ? [`Warning: ${name} is no setting and is ignored. Is ${setting} meant?`] : [];
  });

const bad = (name: string, what: string) => new StartupError(`${name} ${what}`);

const list = (value: string) => [...new Set(value.split(',').map((item) => item.trim()))].filter((item) => item !== '');

/** Readers of single settings. @throws StartupError from each reader */
function createReader(env: Environment) {
  // An empty variable counts as absent, because compose files and shells produce them.
  const raw = (name: keyof typeof SETTINGS & string) => env[name]?.trim() || undefined;

  const integer = (name: string, fallback: number, min: number, max: number) => {
    const value = raw(name);
    if (value === undefined) return fallback;
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max))
      throw bad(name, `must be a whole number from ${min} to ${max}, not "${value}".`);
    return number;
  };
  const boolean = (name: string, fallback: boolean) => {
    const value = raw(name);
    if (value === undefined) return fallback;
    if (value !== 'true' && value !== 'false') throw bad(name, `must be true or false, not "${value}".`);
    return value === 'true';
  };
  const oneOf = <T extends string>(name: string, value: string, allowed: readonly T[]): T => {
    const found = allowed.find((each) => each === value);
    if (found === undefined) throw bad(name, `must be one of ${allowed.join(', ')}, not "${value}".`);
    return found;
  };
  const httpUrl = (name: string, value: string) => {
    const url = URL.canParse(value) ? new URL(value) : null;
    // The message leaves out the value, which may contain an access key. The parser also accepts
    // `https:host` and `https:///host`, which other readers of the text do not.
    if (!url || !/^https?:\/\/[^/?#\\\s]/i.test(value))
      throw bad(name, 'must hold http or https URLs with a host only.');
    if (/%(?![0-9A-Fa-f]{2})/.test(value)) throw bad(name, 'holds a URL with a broken percent-encoding.');
    return value.replace(/\/+$/, '');
  };
  return { raw, integer, boolean, oneOf, httpUrl };
}

type Reader = ReturnType<typeof createReader>;

function readAddresses({ raw, integer, httpUrl }: Reader, networks: readonly Network[]) {
  const host = raw('HOST') ?? '127.0.0.1';
  if (/[\s/]/.test(host)) throw bad('HOST', `must be a host name or address, not "${host}".`);
  const port = integer('PORT', 3000, 0, 65_535);
  const localLedgerPort = integer('LOCAL_LEDGER_PORT', 8000, 0, 65_535);
  const metricsPort = raw('METRICS_PORT') === undefined ? null : integer('METRICS_PORT', 0, 1, 65_535);
  const ledgerPort = networks.includes('LOCAL') ? localLedgerPort : null;
  if (metricsPort === port) throw bad('METRICS_PORT', `is ${port}, the same as PORT: change one of them.`);
  if (ledgerPort !== null && ledgerPort !== 0 && [port, metricsPort].includes(ledgerPort)) {
    const other = ledgerPort === port ? 'PORT' : 'METRICS_PORT';
    throw bad('LOCAL_LEDGER_PORT', `is ${ledgerPort}, the same as ${other}: change one of them.`);
  }
  const publicUrl = raw('PUBLIC_URL');
  if (publicUrl !== undefined && /[?#@\\\s]/.test(publicUrl)) {
    throw bad('PUBLIC_URL', 'must be an address with an optional path, without credentials, query or fragment.');
  }
  const mongodbUri = raw('MONGODB_URI') ?? null;
  if (mongodbUri !== null && !/^mongodb(\+srv)?:\/\/./.test(mongodbUri)) {
    throw bad('MONGODB_URI', 'must begin with mongodb:// or mongodb+srv://.');
  }
  const downloads = raw('MONGODB_DOWNLOADS');
  const mongodbDownloads = downloads === undefined ? null : httpUrl('MONGODB_DOWNLOADS', downloads);
  if (mongodbDownloads !== null && !/^https:[^@?#]+$/i.test(mongodbDownloads)) {
    throw bad('MONGODB_DOWNLOADS', 'must be an https URL without credentials, query or fragment.');
  }
  return {
    ...{ host, port, localLedgerPort, metricsPort, mongodbUri, mongodbDownloads },
    publicUrl: publicUrl !== undefined ? httpUrl('PUBLIC_URL', publicUrl) : port === 0 ? null : originOf(host, port),
  };
}

/** RPC servers of a network replace its default Horizon servers. */
function readLedgerUrls({ raw, httpUrl }: Reader) {
  const urlsOf = (setting: string, defaults: (network: Network) => readonly string[]) =>
    Object.fromEntries(
      NETWORKS.map((network) => {
        const name = `${setting}_${network}`;
        const value = raw(name);
        return [network, value === undefined ? defaults(network) : list(value).map((url) => httpUrl(name, url))];
      }),
    ) as Record<Network, readonly string[]>;
  const rpcUrls = urlsOf('RPC_URLS', () => []);
  const horizonUrls = urlsOf('HORIZON_URLS', (network) =>
    rpcUrls[network].length > 0 ? [] : networkInfo[network].horizonUrls,
  );
  return { rpcUrls, horizonUrls, archiveUrls: checkedArchives(urlsOf('ARCHIVE_URLS', () => [])) };
}

/** What an archive says of PUBLIC and TESTNET goes over the internet. */
function checkedArchives(urls: Record<Network, readonly string[]>): Record<Network, readonly string[]> {
  for (const network of ['PUBLIC', 'TESTNET'] as const)
    for (const { protocol, hostname } of urls[network].map((url) => new URL(url)))
      if (protocol !== 'https:' && !isThisMachine(hostname))
        throw bad(`ARCHIVE_URLS_${network}`, 'must hold https URLs; http is for LOCAL, and for this machine.');
  return urls;
}

const isThisMachine = (hostname: string): boolean =>
  hostname === 'localhost' || /^127\.[\d.]+$|^\[::1\]$/.test(hostname);

/** Settings of programs that call a service, used when an option is missing.
 *  @throws StartupError naming the setting and its fault */
export function readClientSettings(env: Environment = process.env) {
  const url = env.STELLAR_COLLECT_URL?.trim() || null;
  if (url !== null && !(/^https?:\/\/[^/]/.test(url) && URL.canParse(url)))
    throw new StartupError('STELLAR_COLLECT_URL must begin with http:// or https://.');
  return { apiKey: env.STELLAR_COLLECT_API_KEY?.trim() || null, url };
}

function secretsKeys(value: string | undefined, mongodbUri: string | null): readonly Buffer[] | null {
  if (value === undefined) {
    if (mongodbUri === null) return null;
    throw new StartupError(
      'SECRETS_KEY is required with MONGODB_URI: 32 random bytes in base64, the same for every process (for example from `openssl rand -base64 32`).',
    );
  }
  return value.split(',').map((item) => {
    const text = item.trim();
    const key = Buffer.from(text, 'base64');
    // Buffer.from ignores invalid characters, so a mistyped key would silently be another one.
    if (key.length !== 32 || key.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')) {
      throw new StartupError(
        'SECRETS_KEY must be exactly 32 bytes in base64 (44 characters), or a comma list of such.',
      );
    }
    return key;
  });
}

function setupCode(value: string | undefined): string | null {
  if (value === undefined) return null;
  if (!/^[^\p{C}\p{Z}]{16,128}$/u.test(value)) throw bad('SETUP_CODE', 'must be 16 to 128 characters without blanks.');
  return value;
}

/** @param parse throws a RangeError whose message names the fault */
function listed<T>(name: string, value: string | undefined, parse: (value: string) => T[]): T[] {
  try {
    return parse(value ?? '');
  } catch (error) {
    if (error instanceof RangeError) throw new StartupError(`${name} ${error.message}`);
    throw error;
  }
}

function rateSources(value: string | undefined, apiKey: string | undefined) {
  const sources = listed('RATE_SOURCES', value, parseRateSources);
  const needsKey = sources.some(({ name }) => name === 'coingecko');
  if (needsKey && apiKey === undefined)
    throw new StartupError('COINGECKO_API_KEY is required with the source coingecko of RATE_SOURCES.');
  if (apiKey !== undefined && !/^[\x21-\x7e]{1,200}$/.test(apiKey))
    throw new StartupError('COINGECKO_API_KEY must be the key as CoinGecko shows it.');
  return { sources, coingeckoApiKey: needsKey ? apiKey! : null };
}

function mail(url: string | undefined, from: string | undefined): MailSettings | null {
  if (url === undefined && from === undefined) return null;
  if (url === undefined)
    throw new StartupError('SMTP_URL is required with MAIL_FROM: the mail server that takes e-mails.');
  if (from === undefined)
    throw new StartupError('MAIL_FROM is required with SMTP_URL: the address that e-mails are from.');
  try {
    return parseMailSettings(url, from);
  } catch (error) {
    if (error instanceof RangeError) throw new StartupError(error.message);
    throw error;
  }
}

function dust(value = '0'): bigint {
  const stroops = parseAmount(value);
  if (stroops === null) throw new StartupError(`DUST_AMOUNT must be an amount such as 0.01, not "${value}".`);
  return stroops;
}

/** Express's names for ranges of addresses. */
const PROXY_RANGES = ['loopback', 'linklocal', 'uniquelocal'];

function trustProxy(value: string | undefined): false | number | string {
  if (value === undefined || value === 'false') return false;
  if (value === 'true') {
    throw new StartupError(
      'TRUST_PROXY true would trust anything that a visitor sends: set it to the number of proxies, or to their addresses.',
    );
  }
  if (/^\d{1,2}$/.test(value)) return Number(value) === 0 ? false : Number(value);
  // `999` would be an address, in a form that nobody means.
  const isAddress = (item: string) => /[.:]/.test(item) && (ipaddr.isValid(item) || ipaddr.isValidCIDR(item));
  for (const item of value.split(',').map((each) => each.trim())) {
    if (PROXY_RANGES.includes(item) || isAddress(item)) continue;
    throw new StartupError(
      `TRUST_PROXY must be false, a number of proxies, or a comma list of addresses, networks, ${PROXY_RANGES.join(', ')}: "${item}" is none of them.`,
    );
  }
  return value;
}

export function originOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
