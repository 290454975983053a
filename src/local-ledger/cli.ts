/** `ledger …`: play the local ledger from a shell. Every command talks to a running ledger over HTTP and throws a one-line error. */
import { Memo } from '@stellar/stellar-sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { networkInfo } from '../../contracts/networks.js';
import { createLedgerClient, type LedgerClient } from './client.js';
import { type FaultInput, faultSchema } from './faults.js';

const MEMO_TYPES = ['text', 'id', 'hash', 'return'] as const;

interface MemoOptions {
  memo?: string;
  memoType: (typeof MEMO_TYPES)[number];
}

/** Adds `ledger` to the program; `deps` tells where the ledger is, and is asked only when a command runs. */
export function registerLedgerCommands(
  program: Command,
  deps: () => { url: string; passphrase?: string } | Promise<{ url: string; passphrase?: string }>,
): void {
  const ledger = program
    .command('ledger')
    .description('test accounts, assets and payments on the local ledger, and its faults on demand')
    .option('--url <url>', 'where the ledger is served; the configured one by default');

  const connect = async (): Promise<LedgerClient> => {
    const { url } = ledger.opts<{ url?: string }>();
    const found = url === undefined ? await deps() : { url };
    return createLedgerClient({ passphrase: networkInfo.LOCAL.passphrase, ...found });
  };
  const json = () => new Option('--json', 'print one line of JSON');

  ledger
    .command('fund')
    .argument('[address]', 'account to give 10,000 XLM; without it a new account is made')
    .description('make an account with 10,000 XLM, or give an account that much')
    .addOption(json())
    .action(async (address: string | undefined, options) => show(options, await (await connect()).fund(address)));

  ledger
    .command('issue')
    .description('issue a test asset, and pay some of it out to an account that trusts it')
    .requiredOption('--code <code>', 'asset code, 1-12 letters and digits')
    .option('--amount <amount>', 'how much to pay out', '10000')
    .option('--to <address>', 'receiver, who trusts the asset already')
    .option('--to-secret <secret>', 'secret key of the receiver: the trustline is made, too')
    .option('--name <name>', 'issuer name: several issuers may have the same code')
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).issue(options)));

  ledger
    .command('trust')
    .description('let an account hold an asset')
    .requiredOption('--secret <secret>', 'secret key of the account')
    .requiredOption('--asset <CODE:ISSUER>', 'asset', toAsset)
    .option('--limit <amount>', 'most that it may hold; 0 ends the trust')
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).trust({ ...options, ...options.asset })));

  ledger
    .command('pay')
    .description('pay from a test account, or from an account of yours')
    .requiredOption('--to <address>', 'receiver, G... or M...')
    .requiredOption('--amount <amount>', 'amount, at most 7 decimals')
    .option('--asset <CODE:ISSUER>', 'asset; XLM without it', toAsset)
    .option('--memo <memo>', 'memo')
    .addOption(
      new Option('--memo-type <type>', 'kind of memo; hash and return are hex').choices(MEMO_TYPES).default('text'),
    )
    .option('--from <secret>', 'secret key of the payer')
    .addOption(json())
    .action(async (options) => {
      const { to, amount, asset, from } = options;
      const payment = { to, amount, ...asset, memo: toMemo(options), fromSecret: from };
      show(options, await (await connect()).pay(payment));
    });

  ledger
    .command('merge')
    .description('end an account and give its lumens to another (create one first, or name yours)')
    .requiredOption('--into <address>', 'receiver')
    .option('--secret <secret>', 'secret key of the account that ends; a new test account without it')
    .option('--memo <memo>', 'memo')
    .addOption(new Option('--memo-type <type>', 'kind of memo').choices(MEMO_TYPES).default('text'))
    .addOption(json())
    .action(async (options) => {
      const { into, secret } = options;
      show(options, await (await connect()).merge({ into, secret, memo: toMemo(options) }));
    });

  ledger
    .command('status')
    .description('newest ledger, pace and faults in force')
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).status()));

  ledger
    .command('reset')
    .description('begin a new chain at ledger 1, as a test network does: accounts and history are gone')
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).reset()));

  const faults = ledger.command('faults').description('make the ledger misbehave');
  faults
    .command('add')
    .argument('<kind>', `one of ${FAULT_KINDS.join(', ')}`, toFaultKind)
    .description('let it misbehave, for all requests or some')
    .option('--path <prefix>', 'only requests whose path begins so')
    .option('--count <number>', 'so many requests', Number)
    .option('--duration-ms <milliseconds>', 'so long', Number)
    .option('--probability <share>', 'only this share of the requests, e.g. 0.1', Number)
    .option(
      '--set <name=value...>',
      'what the kind takes: retryAfterSeconds=5, ledgers=10, elderLedger=100, delayMs=500',
    )
    .addOption(json())
    .action(async (kind: FaultInput['kind'], options) => {
      const { path, count, durationMs, probability, set } = options;
      const fault = { kind, path, count, durationMs, probability, ...toSettings(set) };
      // What the kind takes is judged by the ledger.
      show(options, await (await connect()).faults.add(fault as FaultInput));
    });
  faults
    .command('list')
    .description('faults in force')
    .addOption(json())
    .action(async (options) => show(options, await (await connect()).faults.list()));
  faults
    .command('clear')
    .argument('[id]', 'one fault; all without it', Number)
    .description('let it behave again')
    .addOption(json())
    .action(async (id: number | undefined, options) => {
      const client = await connect();
      show(options, id === undefined ? await client.faults.clear() : await client.faults.remove(id));
    });
}

const FAULT_KINDS: string[] = faultSchema.options.map((option) => option.shape.kind.value);

function toFaultKind(text: string): string {
  if (FAULT_KINDS.includes(text)) return text;
  throw new InvalidArgumentError(`It is one of ${FAULT_KINDS.join(', ')}.`);
}

function toAsset(text: string): { assetCode: string; assetIssuer: string } {
  const [assetCode = '', assetIssuer = '', more] = text.split(':');
  if (assetCode !== '' && assetIssuer !== '' && more === undefined) return { assetCode, assetIssuer };
  throw new InvalidArgumentError('Give it as CODE:ISSUER.');
}

function toMemo({ memo, memoType }: MemoOptions): Memo | null {
  if (memo === undefined) return null;
  switch (memoType) {
    case 'text':
      return Memo.text(memo);
    case 'id':
      return Memo.id(memo);
    case 'hash':
      return Memo.hash(memo);
    case 'return':
      return Memo.return(memo);
  }
}

/** `retryAfterSeconds=5` → `{retryAfterSeconds: 5}`; what is no number or boolean stays text. */
function toSettings(pairs: string[] = []): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new Error(`${pair} is not name=value`);
      const value = pair.slice(at + 1);
      return [pair.slice(0, at), /^(\d+(\.\d+)?|true|false)$/.test(value) ? JSON.parse(value) : value];
    }),
  );
}

function show({ json }: { json?: true }, result: unknown): void {
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : toText(result));
}

/** One line a field, or for a list one line an item. */
function toText(result: unknown): string {
  const value = (of: unknown) => (typeof of === 'object' && of !== null ? JSON.stringify(of) : String(of));
  if (Array.isArray(result)) return result.length === 0 ? 'none\n' : result.map((item) => `${value(item)}\n`).join('');
  const fields = Object.entries(result as object).filter(([, field]) => field !== undefined);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, field]) => `${name.padEnd(width)}  ${value(field)}\n`).join('');
}
