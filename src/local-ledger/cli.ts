/** `ledger …`: operates the local ledger from a shell. Every command talks to a running ledger over
 *  HTTP and throws a one-line error. */
import { Memo, StrKey } from '@stellar/stellar-sdk/base';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { createLedgerClient, type LedgerClient } from './client.js';
import { type FaultInput, faultSchema } from './faults.js';
import { parseMuxedContract } from './muxed-contract.js';
import { fromAmount, MAX_INT64, MAX_UINT64 } from './stroops.js';

const MEMO_TYPES = ['text', 'id', 'hash', 'return'] as const;

interface MemoOptions {
  memo?: string;
  memoId?: string;
  memoType: (typeof MEMO_TYPES)[number];
}

type Where = { url: string; passphrase?: string };
type Connect = () => Promise<LedgerClient>;

const json = () => new Option('--json', 'print one line of JSON');
const memoId = () =>
  new Option('--memo-id <id>', 'memo of type id, a whole number below 2^64').argParser(toMuxedId).conflicts('memo');
const memoType = () =>
  new Option('--memo-type <type>', 'kind of memo; hash and return are hex').choices(MEMO_TYPES).default('text');

/** Adds the commands to `ledger`. `deps` returns the ledger's address, and is called only when a
 *  command runs. */
export function registerLedgerCommands(ledger: Command, deps: () => Where | Promise<Where>): void {
  ledger
    .option('--url <url>', 'where the ledger is served; the configured one by default')
    .option('--rpc', 'read accounts and submit transactions by Stellar RPC instead of Horizon');

  const connect: Connect = async () => {
    const { url, rpc } = ledger.opts<{ url?: string; rpc?: true }>();
    const found = url === undefined ? await deps() : { url };
    return createLedgerClient({ ...found, api: rpc ? 'rpc' : 'horizon' });
  };
  addAccountCommands(ledger, connect);
  addPaymentCommands(ledger, connect);
  addLedgerCommands(ledger, connect);
  addFaultCommands(ledger, connect);
}

function addAccountCommands(ledger: Command, connect: Connect): void {
  ledger
    .command('fund')
    .argument('[address]', 'account to give 10,000 XLM; without it a new account is made', toAddress)
    .description('make an account with 10,000 XLM, or give an account that much')
    .addOption(json())
    .action(async (address: string | undefined, options) => show(options, await (await connect()).fund(address)));

  ledger
    .command('issue')
    .description('issue a test asset, and pay some of it out to an account that trusts it')
    .requiredOption('--code <code>', 'asset code, 1-12 letters and digits', toCode)
    .option('--amount <amount>', 'how much to pay out', toPositiveAmount, '10000')
    .option('--to <address>', 'receiver, who trusts the asset already', toDestination)
    .option('--to-secret <secret>', 'secret key of the receiver: the trustline is made, too', toSecret)
    .option('--name <name>', 'issuer name: several issuers may have the same code')
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).issue(options)));

  ledger
    .command('trust')
    .description('let an account hold an asset')
    .requiredOption('--secret <secret>', 'secret key of the account', toSecret)
    .requiredOption('--asset <CODE:ISSUER>', 'asset', toAsset)
    .option('--limit <amount>', 'most that it may hold; 0 ends the trust', toLimit)
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).trust({ ...options, ...options.asset })));
}

function addPaymentCommands(ledger: Command, connect: Connect): void {
  ledger
    .command('pay')
    .description('pay from a test account, or from an account of yours')
    .requiredOption('--to <address>', 'receiver, G... or M...', toDestination)
    .requiredOption('--amount <amount>', 'amount, at most 7 decimals', toPositiveAmount)
    .option('--asset <CODE:ISSUER>', 'asset; XLM without it', toAsset)
    .option('--memo <memo>', 'memo')
    .addOption(memoType())
    .addOption(memoId())
    .option('--muxed-id <id>', 'id to mux into the receiver (a G... address)', toMuxedId)
    .option('--from <secret>', 'secret key of the payer', toSecret)
    .addOption(json())
    .action(async (options) => {
      const { to, amount, asset, from, muxedId } = options;
      const payment = { to, muxedId, amount, ...asset, memo: toMemo(options), fromSecret: from };
      show(options, await (await connect()).pay(payment));
    });

  ledger
    .command('merge')
    .description('end an account and give its lumens to another (create one first, or name yours)')
    .requiredOption('--into <address>', 'receiver, G... or M...', toDestination)
    .option('--secret <secret>', 'secret key of the account that ends; a new test account without it', toSecret)
    .option('--memo <memo>', 'memo')
    .addOption(memoType())
    .addOption(memoId())
    .addOption(json())
    .action(async (options) => {
      const { into, secret } = options;
      show(options, await (await connect()).merge({ into, secret, memo: toMemo(options) }));
    });

  for (const [name, description] of Object.entries(CONTRACT_COMMANDS)) {
    ledger
      .command(name)
      .description(description)
      .requiredOption('--to <address>', 'receiver, G..., C... or W...', toContractDestination)
      .requiredOption('--amount <amount>', 'amount, at most 7 decimals', toPositiveAmount)
      .option('--asset <CODE:ISSUER>', 'asset; XLM without it', toAsset)
      .option('--muxed-id <id>', 'id of the receiver, as smart wallets send it', toMuxedId)
      .option('--from <address>', 'payer, G... or C...; a contract without it', toParty)
      .addOption(json())
      .action(async ({ asset, json, ...payment }) => {
        const client = await connect();
        const pay = name === 'forge' ? client.forge : client.payByContract;
        show({ json }, { id: await pay({ ...payment, ...asset }) });
      });
  }
}

const CONTRACT_COMMANDS = {
  'pay-by-contract': 'pay as a smart wallet does, by a (made-up) contract call',
  forge: 'emit a transfer event from a contract that is not the asset: no money moves',
};

function addLedgerCommands(ledger: Command, connect: Connect): void {
  ledger
    .command('status')
    .description('newest ledger, time between ledgers, and faults in force')
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).status()));

  ledger
    .command('reset')
    .description('begin a new chain at ledger 1, as a test network does: accounts and history are gone')
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).reset()));
}

function addFaultCommands(ledger: Command, connect: Connect): void {
  const faults = ledger.command('faults').description('make the ledger misbehave');
  faults
    .command('add')
    .argument('<kind>', `one of ${FAULT_KINDS.join(', ')}`, toFaultKind)
    .description('set a fault, for all requests or some')
    .addOption(new Option('--api <interface>', 'only requests to this interface').choices(['horizon', 'rpc']))
    .option(
      '--path <prefix>',
      'only requests whose path begins with this; an RPC call has /rpc/ and its method',
      toPath,
    )
    .option('--count <number>', 'for this many requests', toCount)
    .option('--duration-ms <milliseconds>', 'for this long', toCount)
    .option('--probability <share>', 'only this share of the requests, e.g. 0.1', toShare)
    .option(
      '--set <name=value...>',
      'what the kind takes: retryAfterSeconds=5, ledgers=10, elderLedger=100, delayMs=500, account=G...',
    )
    .addOption(json())
    .action(async (kind: FaultInput['kind'], options) => {
      const { api, path, count, durationMs, probability, set } = options;
      const fault = { kind, api, path, count, durationMs, probability, ...toSettings(set) };
      // The ledger checks the settings of the kind.
      show(options, await (await connect()).faults.add(fault as FaultInput));
    });
  faults
    .command('list')
    .description('faults in force')
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).faults.list()));
  faults
    .command('clear')
    .argument('[id]', 'one fault; all without it', toCount)
    .description('clear faults')
    .addOption(json())
    .action(async (id: number | undefined, options) => {
      const client = await connect();
      show(options, id === undefined ? await client.faults.clear() : await client.faults.remove(id));
    });
}

const FAULT_KINDS: string[] = faultSchema.options.map((option) => option.shape.kind.value);

function toFaultKind(text: string): string {
  if (FAULT_KINDS.includes(text)) return text;
  throw new InvalidArgumentError(`Must be one of ${FAULT_KINDS.join(', ')}.`);
}

function toAsset(text: string): { assetCode: string; assetIssuer: string } {
  const [assetCode = '', assetIssuer = '', more] = text.split(':');
  const isAsset = isCode(assetCode) && isAccount(assetIssuer) && more === undefined;
  if (isAsset) return { assetCode, assetIssuer };
  throw new InvalidArgumentError('Give it as CODE:ISSUER, the issuer as a G... address.');
}

const isCode = (text: string): boolean => /^[A-Za-z0-9]{1,12}$/.test(text);

/** A parser for commander: returns the text if it holds what the option needs. */
const textThat =
  (holds: (text: string) => boolean, need: string) =>
  (text: string): string => {
    if (holds(text)) return text;
    throw new InvalidArgumentError(need);
  };
const numberThat =
  (holds: (number: number) => boolean, need: string) =>
  (text: string): number => {
    if (/^\d+(\.\d+)?$/.test(text) && holds(Number(text))) return Number(text);
    throw new InvalidArgumentError(need);
  };

const isAmount = (text: string, least: bigint): boolean => {
  const stroops = fromAmount(text);
  return stroops !== null && stroops >= least && stroops <= MAX_INT64;
};
const toPositiveAmount = textThat(
  (text) => isAmount(text, 1n),
  'An amount is a decimal greater than 0 with at most 7 decimals, such as 10.5.',
);
const toLimit = textThat((text) => isAmount(text, 0n), 'A limit is a decimal with at most 7 decimals, such as 1000.');
const isAccount = StrKey.isValidEd25519PublicKey;
const toAddress = textThat(isAccount, 'An account is a G... address with a valid checksum.');
const toDestination = textThat(
  (text) => isAccount(text) || StrKey.isValidMed25519PublicKey(text),
  'A receiver is a G... or M... address with a valid checksum.',
);
const toParty = textThat(
  (text) => isAccount(text) || StrKey.isValidContract(text),
  'A party of a contract call is a G... or C... address with a valid checksum.',
);
const toContractDestination = textThat(
  (text) => isAccount(text) || StrKey.isValidContract(text) || parseMuxedContract(text) !== null,
  'A receiver of a contract call is a G..., C... or W... address with a valid checksum.',
);
const toMuxedId = textThat(
  (text) => /^\d{1,20}$/.test(text) && BigInt(text) <= MAX_UINT64,
  'An id is a whole number below 2^64.',
);
const toSecret = textThat(StrKey.isValidEd25519SecretSeed, 'A secret key is an S... key with a valid checksum.');
const toCode = textThat(isCode, 'An asset code has 1 to 12 letters and digits.');
const toPath = textThat((text) => text.startsWith('/'), 'A path begins with a slash, such as /payments.');
const toCount = numberThat((number) => Number.isSafeInteger(number) && number > 0, 'Must be a whole number from 1.');
const toShare = numberThat((number) => number > 0 && number <= 1, 'Must be a share above 0, at most 1.');

function toMemo({ memo, memoId, memoType }: MemoOptions): Memo | null {
  if (memoId !== undefined) return Memo.id(memoId);
  if (memo === undefined) return null;
  try {
    return Memo[memoType](memo);
  } catch {
    throw new Error(`option '--memo' value '${memo}' is no memo of type ${memoType}: ${MEMO_NEEDS[memoType]}`);
  }
}

const MEMO_NEEDS: Record<(typeof MEMO_TYPES)[number], string> = {
  text: 'it has at most 28 bytes.',
  id: 'it is a whole number below 2^64.',
  hash: 'it is 64 hexadecimal digits.',
  return: 'it is 64 hexadecimal digits.',
};

/** `retryAfterSeconds=5` → `{retryAfterSeconds: 5}`; anything but a boolean or a number that
 *  JavaScript holds exactly stays text. */
function toSettings(pairs: string[] = []): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new Error(`option '--set' value '${pair}' is not name=value.`);
      const value = pair.slice(at + 1);
      return [pair.slice(0, at), /^(\d{1,15}(\.\d{1,7})?|true|false)$/.test(value) ? JSON.parse(value) : value];
    }),
  );
}

function show({ json }: { json?: true }, result: unknown): void {
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : toText(result));
}

/** One line for each field, or for each item of a list. */
function toText(result: unknown): string {
  const value = (of: unknown) => (typeof of === 'object' && of !== null ? JSON.stringify(of) : String(of));
  if (Array.isArray(result)) return result.length === 0 ? 'none\n' : result.map((item) => `${value(item)}\n`).join('');
  const fields = Object.entries(result as object).filter(([, field]) => field !== undefined);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, field]) => `${name.padEnd(width)}  ${value(field)}\n`).join('');
}
