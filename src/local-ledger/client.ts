/** Uses a local ledger from outside, over HTTP with the official SDK: test accounts, test assets, real signed payments, faults.
 *  Test keys are derived or made on the spot, so any process can pay with any asset that was issued here. */
import { createHash } from 'node:crypto';
import {
  Account,
  Asset,
  Horizon,
  Keypair,
  Memo,
  MuxedAccount,
  NotFoundError,
  Operation,
  StrKey,
  TimeoutInfinite,
  TransactionBuilder,
  type xdr,
} from '@stellar/stellar-sdk';
import { systemClock } from '../clock.js';
import { assetFields } from './asset.js';
import { madeUpContract } from './contract-call.js';
import type { ActiveFault, FaultInput } from './faults.js';
import { CONTRACT_CALL, type Injection } from './injection.js';
import { LedgerRefusedError, toRefusal } from './refusal.js';
import { BASE_FEE, fromAmount, STROOPS_PER_UNIT, toAmount } from './stroops.js';

export interface PayRequest {
  /** G… or M… */
  to: string;
  /** Muxes this id, a decimal below 2^64, into `to`, which is then a G address. */
  muxedId?: string;
  /** Decimal text, at most 7 decimals. */
  amount: string;
  /** XLM (the default) or the code of an asset. */
  assetCode?: string;
  assetIssuer?: string | null;
  /** Text, or any memo of the SDK. */
  memo?: string | Memo | null;
  /** A memo of type id, instead of `memo`. */
  memoId?: string;
  /** Shows the payer as a muxed address with this id. */
  fromMuxedId?: string;
  /** Pays from this account; else from a test account that gets what it needs. */
  fromSecret?: string;
}

export interface ContractPayment {
  /** G… or C… */
  to: string;
  from?: string;
  /** Decimal text. */
  amount: string;
  assetCode?: string;
  assetIssuer?: string | null;
  /** Of the destination, a decimal below 2^64. */
  muxedId?: string;
}

export interface Submitted {
  hash: string;
  ledger: number;
}

export interface TestAccount {
  address: string;
  secret: string;
}

export interface LedgerStatus {
  databaseId: string;
  sequence: number;
  closeMs: number;
  passphrase: string;
  isClosing: boolean;
  faults: ActiveFault[];
}

/** What a test account keeps for its fees and reserves. */
const PAYER_KEEPS = 100n * STROOPS_PER_UNIT;
/** A little more than the ledger itself waits. */
const TIMEOUT_MS = 35_000;
const RETRY_MS = 250;
/** Where a local ledger, whatever its faults, tells who it is. */
const STATUS_PATH = '/local-ledger';
const WHAT_TO_DO =
  'start the service (npm start) or the ledger alone (npm run ledger), or say with --url where it is served';

export type LedgerClient = ReturnType<typeof createLedgerClient>;

export function createLedgerClient({ url, passphrase }: { url: string; passphrase: string }) {
  const server = new Horizon.Server(url, { allowHttp: true });
  server.httpClient.defaults.timeout = TIMEOUT_MS;
  const root = Keypair.master(passphrase);
  /** Test accounts that pay for nobody at the moment: one payment at a time each, or their sequence numbers would clash. */
  const idlePayers: Keypair[] = [];
  /** The end of the line of those who use an account's sequence numbers. */
  const lines = new Map<string, Promise<unknown>>();

  async function control<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(new URL(path, url), {
      method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    }).catch((error: unknown) => {
      throw new LedgerRefusedError(`no local ledger answers at ${url} (${reasonOf(error)}): ${WHAT_TO_DO}`);
    });
    const answer = (await response.json().catch(() => null)) as (T & { title?: string; detail?: string }) | null;
    if (answer === null || (response.ok && path === STATUS_PATH && !('databaseId' in (answer as object)))) {
      throw new LedgerRefusedError(`what answers at ${url} is no local ledger: ${WHAT_TO_DO}`);
    }
    if (response.ok) return answer;
    throw new LedgerRefusedError(`the ledger refused: ${answer.detail ?? answer.title ?? response.statusText}`);
  }

  function inLine<T>(account: string, use: () => Promise<T>): Promise<T> {
    const before = lines.get(account) ?? Promise.resolve();
    const mine = before.then(use, use);
    const end = mine.catch(() => undefined);
    lines.set(account, end);
    void end.then(() => {
      if (lines.get(account) === end) lines.delete(account);
    });
    return mine;
  }

  /** Throws what went wrong, in the ledger's words where it has any. */
  async function explain(error: unknown): Promise<never> {
    const refusal = toRefusal(error);
    if (refusal !== null) throw refusal;
    // Throws by itself if nobody is there.
    await control('GET', STATUS_PATH);
    throw error;
  }

  /** Null where there is no such account. */
  async function find(address: string): Promise<Horizon.AccountResponse | null> {
    try {
      return await server.loadAccount(address);
    } catch (error) {
      return error instanceof NotFoundError ? null : await explain(error);
    }
  }

  /** Makes an account with 10,000 lumens, or gives the address that much. */
  async function fund(): Promise<TestAccount>;
  async function fund(address: string): Promise<{ address: string; secret?: undefined }>;
  async function fund(address?: string): Promise<{ address: string; secret?: string }>;
  async function fund(address?: string) {
    const fresh = address === undefined ? Keypair.random() : null;
    const to = address ?? fresh!.publicKey();
    await control('GET', `/friendbot?addr=${encodeURIComponent(to)}`);
    return fresh === null ? { address: to } : { address: to, secret: fresh.secret() };
  }

  /** Signs and submits, and resolves once it is in a ledger. Waits for its turn where the account is in use. */
  function submit(request: {
    from: Keypair;
    operations: xdr.Operation[];
    memo?: string | Memo | null;
    /** Who must sign besides `from`. */
    signers?: Keypair[];
  }): Promise<Submitted> {
    const { from, operations, memo, signers = [] } = request;
    const attempt = async (): Promise<Submitted> => {
      const account = await find(from.publicKey());
      if (account === null) {
        const address = from.publicKey();
        throw new LedgerRefusedError(`there is no account ${address} on the ledger: ledger fund ${address} makes it`);
      }
      try {
        const builder = new TransactionBuilder(account, {
          fee: BASE_FEE.toString(),
          networkPassphrase: passphrase,
          memo: typeof memo === 'string' ? Memo.text(memo) : (memo ?? Memo.none()),
        });
        for (const operation of operations) builder.addOperation(operation);
        const transaction = builder.setTimeout(TimeoutInfinite).build();
        transaction.sign(from, ...signers.filter((signer) => signer.publicKey() !== from.publicKey()));
        const record = await server.submitTransaction(transaction, { skipMemoRequiredCheck: true });
        return { hash: record.hash, ledger: record.ledger };
      } catch (error) {
        return await explain(error);
      }
    };
    return inLine(from.publicKey(), async () => {
      const giveUpAtMs = systemClock.nowMs() + TIMEOUT_MS;
      for (;;) {
        try {
          return await attempt();
        } catch (error) {
          // A ledger that lags shows a sequence number that is used already.
          const isStale = error instanceof LedgerRefusedError && error.codes[0] === 'tx_bad_seq';
          if (!isStale || systemClock.nowMs() > giveUpAtMs) throw error;
          await systemClock.sleep(RETRY_MS);
        }
      }
    });
  }

  /** The issuer of a test asset: everybody who knows its code and name knows its key. */
  const issuerKey = (code: string, name: string): Keypair =>
    Keypair.fromRawEd25519Seed(createHash('sha256').update(`${passphrase}:issuer:${code}:${name}`).digest());

  async function knownIssuer(code: string, address: string): Promise<Keypair | null> {
    const issuer = await find(address);
    const name = Buffer.from(issuer?.data_attr[ISSUER_NAME] ?? '', 'base64').toString();
    const key = issuerKey(code, name);
    return key.publicKey() === address ? key : null;
  }

  /** Runs `pay` with a test account of its own and what that has. After a failure the account is not used again. */
  async function withPayer<T>(pay: (payer: Keypair, lumens: bigint) => Promise<T>): Promise<T> {
    let payer = idlePayers.pop();
    let account = payer === undefined ? null : await find(payer.publicKey());
    // The ledger may have been reset since the last payment.
    if (payer === undefined || account === null) {
      payer = Keypair.fromSecret((await fund()).secret);
      account = await server.loadAccount(payer.publicKey());
    }
    const result = await pay(payer, fromAmount(account.balances.at(-1)!.balance)!);
    idlePayers.push(payer);
    return result;
  }

  return {
    url,
    passphrase,
    server,
    root,
    fund,
    submit,

    /** Creates the issuer of `code` (one an issuer name), and pays `amount` out to an account that trusts it: to the account of
     *  `toSecret`, to `to` where it trusts the asset already, else to a new account. */
    async issue(request: { code: string; amount: string; to?: string; toSecret?: string; name?: string }) {
      const { code, amount, name = '' } = request;
      const issuer = issuerKey(code, name);
      const asset = new Asset(code, issuer.publicKey());
      if ((await find(issuer.publicKey())) === null) {
        await fund(issuer.publicKey());
        if (name !== '') {
          await submit({ from: issuer, operations: [Operation.manageData({ name: ISSUER_NAME, value: name })] });
        }
      }
      const issued = { assetCode: code, assetIssuer: issuer.publicKey(), issuerSecret: issuer.secret() };
      const pays = (to: string) => Operation.payment({ source: issuer.publicKey(), destination: to, asset, amount });
      if (request.to !== undefined && request.toSecret === undefined) {
        const done = await submit({ from: issuer, operations: [pays(request.to)] });
        return { ...issued, ...done, address: request.to };
      }
      const holder = Keypair.fromSecret(request.toSecret ?? (await fund()).secret);
      if ((await find(holder.publicKey())) === null) await fund(holder.publicKey());
      const done = await submit({
        from: holder,
        operations: [Operation.changeTrust({ asset }), pays(holder.publicKey())],
        signers: [issuer],
      });
      return { ...issued, ...done, address: holder.publicKey(), secret: holder.secret() };
    },

    /** Lets the account of `secret` hold the asset; `limit` 0 ends that. */
    trust(request: { secret: string; assetCode: string; assetIssuer: string; limit?: string }): Promise<Submitted> {
      const { secret, assetCode, assetIssuer, limit } = request;
      const operation = Operation.changeTrust({ asset: new Asset(assetCode, assetIssuer), limit });
      return submit({ from: Keypair.fromSecret(secret), operations: [operation] });
    },

    /** One payment in a transaction of its own. */
    async pay(request: PayRequest): Promise<Submitted> {
      const { amount, assetIssuer = null, assetCode = 'XLM', fromSecret, fromMuxedId } = request;
      const asset = assetIssuer === null ? Asset.native() : new Asset(assetCode, assetIssuer);
      const memo = request.memoId === undefined ? request.memo : Memo.id(request.memoId);
      const destination = request.muxedId === undefined ? request.to : muxedAddress(request.to, request.muxedId);
      const paymentFrom = (payer: Keypair) => {
        const source = fromMuxedId === undefined ? undefined : muxedAddress(payer.publicKey(), fromMuxedId);
        return Operation.payment({ destination, asset, amount, source });
      };
      if (fromSecret !== undefined) {
        const from = Keypair.fromSecret(fromSecret);
        return await submit({ from, operations: [paymentFrom(from)], memo });
      }
      const stroops = fromAmount(amount);
      if (stroops === null) throw new LedgerRefusedError(`${amount} is no amount`);
      if (assetIssuer === null) {
        return await withPayer((payer, lumens) => {
          const isPoor = lumens < stroops + PAYER_KEEPS;
          const gift = { source: root.publicKey(), destination: payer.publicKey(), asset, amount };
          const operations = isPoor ? [Operation.payment(gift), paymentFrom(payer)] : [paymentFrom(payer)];
          return submit({ from: payer, operations, memo, signers: isPoor ? [root] : [] });
        });
      }
      const issuer = await knownIssuer(assetCode, assetIssuer);
      if (issuer === null) {
        throw new LedgerRefusedError(`no test account can pay ${assetCode} of ${assetIssuer}: it was not issued here`);
      }
      return await withPayer((payer) => {
        const gift = { source: issuer.publicKey(), destination: payer.publicKey(), asset, amount };
        const operations = [Operation.changeTrust({ asset }), Operation.payment(gift), paymentFrom(payer)];
        return submit({ from: payer, operations, memo, signers: [issuer] });
      });
    },

    /** Ends the account of `secret` (or a new test account) and gives all of its lumens to `into`. */
    async merge(request: { into: string; secret?: string; memo?: string | Memo | null }): Promise<Submitted> {
      const from = Keypair.fromSecret(request.secret ?? (await fund()).secret);
      const operations = [Operation.accountMerge({ destination: request.into })];
      return await submit({ from, operations, memo: request.memo });
    },

    /** A payment by a contract call: into the account's balance, from `from` (G… or C…, a wallet contract of nobody's without it). */
    async payByContract(request: ContractPayment): Promise<string> {
      return await control<{ id: string }>('POST', '/records', contractPayment(request, root.publicKey())).then(
        ({ id }) => id,
      );
    },

    /** Emits a transfer event from a contract that is not the asset's; resolves with Horizon's operation id. */
    forge: async (forgery: ContractPayment) =>
      (await control<{ id: string }>('POST', '/faults', { kind: 'forge', ...forgery })).id,

    status: () => control<LedgerStatus>('GET', STATUS_PATH),
    faults: {
      add: (fault: FaultInput) => control<ActiveFault>('POST', '/faults', fault),
      list: async () => (await control<{ faults: ActiveFault[] }>('GET', '/faults')).faults,
      remove: (id: number) => control<unknown>('DELETE', `/faults/${id}`),
      clear: () => control<unknown>('DELETE', '/faults'),
    },
    /** Begins a new chain at ledger 1. */
    reset: () => control<unknown>('POST', '/faults', { kind: 'reset' }),
    /** Puts a made-up record into the next ledger; resolves with its operation id. */
    inject: async (injection: Injection) => (await control<{ id: string }>('POST', '/records', injection)).id,
  };
}

function contractPayment(request: ContractPayment, source: string): Injection {
  const { to, from = madeUpContract('wallet'), amount, assetCode = 'XLM', assetIssuer, muxedId } = request;
  const type = assetIssuer === from ? 'mint' : assetIssuer === to ? 'burn' : 'transfer';
  const asset = assetIssuer ? { code: assetCode, issuer: assetIssuer } : null;
  const stroops = fromAmount(amount);
  if (stroops === null) throw new LedgerRefusedError(`${amount} is no amount`);
  const change = {
    ...assetFields(asset),
    type,
    ...(type === 'mint' ? {} : { from }),
    ...(type === 'burn' ? {} : { to }),
    amount: toAmount(stroops),
    ...(muxedId === undefined || type === 'burn' ? {} : { destination_muxed_id: muxedId }),
  };
  return {
    accounts: [from, to].filter(StrKey.isValidEd25519PublicKey),
    moves: true,
    record: { ...CONTRACT_CALL, source_account: source, asset_balance_changes: [change] },
  };
}

/** The M address of an account and an id, a decimal below 2^64. */
export function muxedAddress(account: string, id: string): string {
  if (!StrKey.isValidEd25519PublicKey(account)) {
    throw new LedgerRefusedError(`${account} cannot take a muxed id: only a G... address can`);
  }
  return new MuxedAccount(new Account(account, '0'), id).accountId();
}

/** Why a request had no answer. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
  if (name === 'TimeoutError') return `nothing came for ${TIMEOUT_MS / 1000} s`;
  if (cause?.code === 'ECONNREFUSED') return 'nobody listens there';
  return cause?.message || cause?.code || message;
}

/** The data entry that tells which of a code's test issuers an account is. */
const ISSUER_NAME = 'issuer_name';
