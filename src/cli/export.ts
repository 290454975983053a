/** `export payments`: an account's payments as a file, written beside the service. */

import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { downloads } from '../../contracts/exports.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import { hashApiKey } from '../accounts/api-key.js';
import type { Clock } from '../kit/clock.js';
import type { Download } from '../selling/index.js';
import { type Administration, type Connect, connected, print } from './program.js';

const operation = downloads.payments.export;
const PROGRESS_EVERY_MS = 1000;

/** The list's filters, by the names that they have on a command line. */
const FILTERS = {
  'product-id': 'productId',
  'payment-link-id': 'paymentLinkId',
  'checkout-id': 'checkoutId',
  'wallet-id': 'walletId',
  'asset-code': 'assetCode',
  'sender-address': 'senderAddress',
  'transaction-hash': 'transactionHash',
  'created-from': 'createdFrom',
  'created-to': 'createdTo',
} as const;

interface Options extends Record<string, unknown> {
  account?: string;
  key?: string;
  out: string;
  format: string;
  status?: string[];
  timeZone: string;
  separator: string;
  bom?: true;
}

type Part = 'accounts' | 'apiKeys' | 'exports' | 'clock';

export function registerExportCommands(program: Command, connect: Connect<Part>): void {
  const command = program
    .command('export')
    .description('lists as files')
    .command('payments')
    .description("write an account's payments to a file, oldest first, as they are when it begins")
    .option('--account <id>', 'account whose payments to write')
    .option('--key <key>', 'in place of --account: an API key of the account')
    .option('--format <format>', 'csv or jsonl', 'csv')
    .option('--time-zone <zone>', 'of the times in csv, such as Europe/Berlin, and of dates', 'UTC')
    .option('--separator <separator>', 'between the cells of csv: , or ;', ',')
    .option('--bom', 'begin csv with a byte order mark, by which spreadsheets know UTF-8')
    .requiredOption('--out <file>', 'file to write; it appears once it is complete')
    .option('--status <status...>', 'only these; UNMATCHED payments are written only when asked for');
  for (const name of Object.keys(FILTERS)) command.option(`--${name} <value>`, 'only these');
  command.action((options: Options) => {
    const input = inputOf(options);
    return connected(connect, async (admin) => {
      const accountId = await accountOf(admin, options);
      const rows = await write(admin.exports.payments.export({ accountId }, input), options.out, admin.clock);
      print(`${rows} payments in ${options.out}`);
    });
  });
}

/** Checked as the API checks it. */
function inputOf(options: Options): ParsedInputOf<typeof operation> {
  const given = Object.values(FILTERS).flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]));
  const { format, status, timeZone, separator, bom } = options;
  const { data, error } = operation.input.safeParse({
    ...Object.fromEntries(given),
    ...{ format, timeZone, separator, bom },
    ...(status && { status }),
  });
  if (data) return data as ParsedInputOf<typeof operation>;
  const issue = error.issues[0];
  throw new Error(`--${optionOf(String(issue?.path[0]))}: ${issue?.message}`);
}

const optionOf = (field: string) =>
  Object.entries({ ...FILTERS, 'time-zone': 'timeZone' }).find(([, name]) => name === field)?.[0] ?? field;

async function accountOf(
  { accounts, apiKeys, clock }: Pick<Administration, 'accounts' | 'apiKeys' | 'clock'>,
  { account, key }: Options,
): Promise<string> {
  if ((account === undefined) === (key === undefined)) throw new Error('Give exactly one of --account and --key.');
  if (account !== undefined) {
    if (!(await accounts.byId(account))) throw new Error(`There is no account ${account}.`);
    return account;
  }
  const grant = await apiKeys.grantOf(hashApiKey(key!));
  if (!grant || (grant.expiresAt !== null && grant.expiresAt <= clock.now())) {
    throw new Error('The API key is unknown, revoked or expired.');
  }
  return grant.accountId;
}

/** Under another name until it is whole. @returns how many rows it has */
async function write(download: Download, file: string, clock: Clock): Promise<number> {
  // Another export of this name may be under way.
  const unfinished = `${file}.${clock.randomBytes(6).toString('hex')}.part`;
  let rows = 0;
  let shownMs = performance.now();
  const texts = async function* () {
    for await (const chunk of download.chunks) {
      rows += chunk.rows;
      if (performance.now() - shownMs >= PROGRESS_EVERY_MS) {
        shownMs = performance.now();
        process.stderr.write(`${rows} payments\n`);
      }
      yield chunk.text;
    }
  };
  try {
    const written = createWriteStream(unfinished, { flags: 'wx', mode: 0o600 });
    await pipeline(Readable.from(texts(), { highWaterMark: 1 }), written);
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw error;
  }
  return rows;
}
