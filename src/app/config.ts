/** The only reader of `process.env`. Checks every setting at the start; an invalid one ends the
 *  start with one line that names it. */

import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Network, networkInfo } from '../../contracts/networks.js';
import { type MailSettings, parseMailSettings } from '../domain/parsed-settings.js';
import { StartupError } from '../kit/startup-error.js';
import { bad, fileOf, type Group, isSetting, SECRETS, SETTINGS, type Setting, TABLE } from './settings.js';

export type Config = Readonly<ReturnType<typeof configOf>>;

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

/** What a group's settings are read to. */
type Values<G> = {
  readonly [Field in keyof G]: G[Field] extends Setting<infer Value> ? Value : Values<G[Field]>;
};

/** @param given the text of a setting, undefined when it is absent */
function readAll<G extends Group>(group: G, given: (name: string) => string | undefined): Values<G> {
  const valueIn = (each: Setting | Group) => (isSetting(each) ? each.read(given(each.name)) : readAll(each, given));
  return Object.fromEntries(Object.entries(group).map(([field, each]) => [field, valueIn(each)])) as Values<G>;
}

type Given = Values<typeof TABLE>;

/** What the settings say together. */
function configOf(env: Environment) {
  // An empty variable counts as absent, because compose files and shells produce them.
  const textOf = (name: string) => env[name]?.trim() || undefined;
  const given = readAll(TABLE, textOf);
  checkPorts(given);
  const { host, port, networks, rates } = given;
  if (given.secretsKeys === null && given.mongodbUri !== null)
    throw new StartupError(
      'SECRETS_KEY is required with MONGODB_URI: 32 random bytes in base64, the same for every process (for example from `openssl rand -base64 32`).',
    );
  if (given.publicUrl === null && !URL.canParse(originOf(host, port)))
    throw bad('HOST', `${host} makes no address that a browser opens: mend it, or set PUBLIC_URL.`);
  const needsKey = rates.sources?.some(({ name }) => name === 'coingecko') ?? false;
  if (needsKey && rates.coingeckoApiKey === null)
    throw new StartupError('COINGECKO_API_KEY is required with the source coingecko of RATE_SOURCES.');
  return {
    ...given,
    ...ledgerUrls(given),
    /** Base of the links' URLs, without a trailing slash; null until the port is known when `port`
     *  is 0. */
    publicUrl: given.publicUrl ?? (port === 0 ? null : originOf(host, port)),
    /** Folder of a downloaded mongod, shared by all services of this user. */
    cacheDir: join(textOf('XDG_CACHE_HOME') ?? join(homedir(), '.cache'), 'stellar-collect'),
    webhookAllowPrivate: given.webhookAllowPrivate ?? networks.every((network) => network === 'LOCAL'),
    mail: mailOf(given.mail),
    rates: {
      ...rates,
      sources: rates.sources ?? [],
      pegs: rates.pegs ?? [],
      coingeckoApiKey: needsKey ? rates.coingeckoApiKey : null,
    },
  };
}

function checkPorts({ port, metricsPort, localLedgerPort, networks }: Given): void {
  const ledgerPort = networks.includes('LOCAL') ? localLedgerPort : null;
  if (metricsPort === port) throw bad('METRICS_PORT', `is ${port}, the same as PORT: change one of them.`);
  if (ledgerPort !== null && ledgerPort !== 0 && [port, metricsPort].includes(ledgerPort)) {
    const other = ledgerPort === port ? 'PORT' : 'METRICS_PORT';
    throw bad('LOCAL_LEDGER_PORT', `is ${ledgerPort}, the same as ${other}: change one of them.`);
  }
}

/** RPC servers of a network replace its default Horizon servers. */
function ledgerUrls({ horizonUrls, rpcUrls, archiveUrls }: Given) {
  const urlsOf = (urls: Given['rpcUrls'], defaults: (network: Network) => readonly string[]) => ({
    LOCAL: urls.LOCAL ?? defaults('LOCAL'),
    TESTNET: urls.TESTNET ?? defaults('TESTNET'),
    PUBLIC: urls.PUBLIC ?? defaults('PUBLIC'),
  });
  return {
    rpcUrls: urlsOf(rpcUrls, () => []),
    /** Empty when only `rpcUrls` are set, and for LOCAL when the built-in ledger serves it. */
    horizonUrls: urlsOf(horizonUrls, (network) => (rpcUrls[network]?.length ? [] : networkInfo[network].horizonUrls)),
    /** For LOCAL empty when the built-in ledger's is used, or none. */
    archiveUrls: urlsOf(archiveUrls, () => []),
  };
}

/** Null: no e-mail is sent. */
function mailOf({ url, from }: Given['mail']): MailSettings | null {
  if (url === null && from === null) return null;
  if (url === null) throw new StartupError('SMTP_URL is required with MAIL_FROM: the mail server that takes e-mails.');
  if (from === null) throw new StartupError('MAIL_FROM is required with SMTP_URL: the address that e-mails are from.');
  try {
    return parseMailSettings(url, from);
  } catch (error) {
    if (error instanceof RangeError) throw new StartupError(error.message);
    throw error;
  }
}

/** Settings of programs that call a service, used when an option is missing.
 *  @throws StartupError naming the setting and its fault */
export function readClientSettings(env: Environment = process.env) {
  const url = env.STELLAR_COLLECT_URL?.trim() || null;
  if (url !== null && !(/^https?:\/\/[^/]/.test(url) && URL.canParse(url)))
    throw new StartupError('STELLAR_COLLECT_URL must begin with http:// or https://.');
  return { apiKey: env.STELLAR_COLLECT_API_KEY?.trim() || null, url };
}

export function originOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A line for each variable that is no setting and nearly one: without it a service would start by
 *  defaults, and say nothing. */
export const misspeltIn = (env: Environment = process.env): string[] =>
  Object.keys(env).flatMap((name) => {
    const setting = probablyMeant(name);
    return setting ? [`Warning: ${name} is no setting and is ignored. Is ${setting} meant?`] : [];
  });

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
function probablyMeant(variable: string): string | null {
  const settings = [...Object.keys(SETTINGS), ...SECRETS.map(fileOf)];
  if (settings.includes(variable)) return null;
  const name = variable.toUpperCase();
  const near = settings.find((setting) => isOneLetterOff(name, setting));
  return near ?? settings.find((setting) => skeletonOf(setting) === skeletonOf(name)) ?? null;
}
