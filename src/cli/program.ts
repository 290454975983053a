/** What all commands share: how arguments are checked, how results are printed, and that whatever
 *  fails is one line on stderr and exit code 1. */

import { createRequire } from 'node:module';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import type { Contract } from '../../contracts/index.js';
import { isSecretSeed, SEED_REFUSED } from '../../contracts/secret-seed.js';
import type { AccountStore, ApiKeyStore, Commit, SetupCode } from '../accounts/index.js';
import type { Audit } from '../audit/index.js';
import { ApiError } from '../kit/api-error.js';
import type { ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import type { NewId } from '../kit/ids.js';
import type { Page, PageRequest } from '../kit/paging.js';
import type { ExportService } from '../selling/index.js';
import type { ParkedRecordDoc, ParkedRecordStore, ParkedRetry } from '../watching/index.js';
import type { Keyring } from '../webhooks/index.js';
import type { JobReport, MendReport } from './service.js';

/** The parts that commands use. */
export interface Administration {
  accounts: AccountStore;
  apiKeys: ApiKeyStore;
  parkedRecords: ParkedRecordStore;
  retryParked: (record: ParkedRecordDoc) => Promise<ParkedRetry>;
  apiKeyService: ServiceOf<Contract['apiKeys']>;
  userService: ServiceOf<Contract['users']>;
  commit: Commit;
  exports: ExportService;
  /** Audits one wallet, or with null every active one, and gives each audit when it has ended. */
  audit: (walletId: string | null) => AsyncIterable<Audit>;
  /** Mends gaps with the Horizon at the URL. @param walletId null for every wallet of
   *  its network */
  mendGaps: (url: string, walletId: string | null) => Promise<MendReport[]>;
  /** How the jobs stand, of the networks that are configured. */
  jobReports: () => Promise<JobReport[]>;
  setupCode: () => Promise<SetupCode>;
  /** The keys that sign deliveries. */
  keyring: () => Promise<Keyring>;
  rotateWebhookKey: () => ReturnType<Keyring['rotate']>;
  /** Null when there is no such open record. */
  dismissParked: (id: string, why: string) => Promise<{ at: Date; why: string } | null>;
  /** The numbers of values resealed with the first key, and of those that already were. */
  resealSecrets: () => Promise<{ resealed: number; kept: number }>;
  clock: Clock;
  newId: NewId;
  close(): Promise<void>;
}
/** To those parts that a group of commands needs. */
export type Connect<Part extends keyof Administration> = () => Promise<Pick<Administration, Part | 'close'>>;

/** Commands are registered on it, then `runProgram` runs it. */
export function createProgram(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride()
    .version(packageVersion())
    .configureOutput({ writeErr: () => undefined });
}

/** That of the package.json. */
export function packageVersion(): string {
  const { version } = createRequire(import.meta.url)('stellar-collect/package.json') as { version: string };
  return version;
}

/** @param args without node and script. @returns the exit code */
export async function runProgram(program: Command, args: readonly string[]): Promise<0 | 1> {
  try {
    // The local ledger's commands take secrets, of test money alone.
    if (args[0] !== 'ledger' && args.some((arg) => isSecretSeed(arg.slice(arg.indexOf('=') + 1))))
      throw new Error(SEED_REFUSED);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    process.stderr.write(`${oneLine(reasonOf(error))}\n`);
    return 1;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof CommanderError && error.code === 'commander.help') return 'error: no command; --help lists all.';
  if (error instanceof ApiError && error.details?.[0]) return `${error.details[0].path}: ${error.details[0].message}`;
  return error instanceof Error ? error.message : String(error);
}

/** Runs a command on a connection of its own. */
export async function connected<A extends Pick<Administration, 'close'>>(
  connect: () => Promise<A>,
  command: (admin: A) => Promise<void>,
): Promise<void> {
  const admin = await connect();
  try {
    await command(admin);
  } finally {
    await admin.close();
  }
}

/** For commander: the value of an option, checked as the API would check it. */
export const checkedBy =
  <T>(schema: z.ZodType<T>) =>
  (text: string): T => {
    const result = schema.safeParse(text);
    if (result.success) return result.data;
    throw new InvalidArgumentError(result.error.issues[0]?.message ?? '');
  };

export const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** An empty one is `none`: a command that says nothing leaves one wondering. */
export function printTable(rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) print('none');
  const texts = rows.map((row) => row.map(oneLine));
  const widths = texts[0]?.map((_, column) => Math.max(...texts.map((row) => row[column]!.length))) ?? [];
  for (const row of texts)
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    );
}

/** Names are chosen by others; a terminal must not take them for commands. */
const oneLine = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').trim();

export async function allOf<Doc>(list: (request: PageRequest) => Promise<Page<Doc>>): Promise<Doc[]> {
  const items: Doc[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await list({ page, pageSize: 100 });
    items.push(...answer.items);
    if (page >= answer.meta.totalPages) return items;
  }
}
