/** A client of a local ledger, over HTTP with the official SDK: test accounts, test assets, real
 *  signed payments, faults. */
import { Asset, Horizon, Keypair, type Memo, Operation, rpc } from '@stellar/stellar-sdk';
import type { LedgerAsset } from './asset.js';
import { horizonAccess, rpcAccess, type Submitted } from './client/access.js';
import { createControl, TIMEOUT_MS } from './client/control.js';
import { type ContractPayment, contractPayment, createPay } from './client/payments.js';
import { createSubmitter } from './client/submitter.js';
import { createTestAccounts } from './client/test-accounts.js';
import type { ActiveFault, Api, FaultInput } from './faults.js';
import type { Injection } from './injection.js';
import { PASSPHRASE } from './passphrase.js';

export type { Submitted } from './client/access.js';
export type { LedgerStatus } from './client/control.js';
export { type ContractPayment, muxedAddress, type PayRequest } from './client/payments.js';
export type { TestAccount } from './client/test-accounts.js';

export type LedgerClient = ReturnType<typeof createLedgerClient>;

export interface OfferRequest {
  secret: string;
  selling: LedgerAsset;
  buying: LedgerAsset;
  /** Decimal text, as the price. */
  amount: string;
  price: string;
}

export interface LedgerClientOptions {
  /** The ledger's URL. */
  url: string;
  passphrase?: string;
  /** The interface for reading accounts and submitting transactions: Horizon by default. */
  api?: Api;
}

export function createLedgerClient({ url, passphrase = PASSPHRASE, api = 'horizon' }: LedgerClientOptions) {
  const server = new Horizon.Server(url, { allowHttp: true });
  server.httpClient.defaults.timeout = TIMEOUT_MS;
  const rpcUrl = `${url}/rpc`;
  const rpcServer = new rpc.Server(rpcUrl, { allowHttp: true, timeout: TIMEOUT_MS });
  const root = Keypair.master(passphrase);
  const control = createControl(url);
  const access = api === 'rpc' ? rpcAccess(rpcServer) : horizonAccess(server);
  const submitter = createSubmitter(access, control, passphrase);
  const accounts = createTestAccounts(access, control, submitter, passphrase);
  const { submit } = submitter;
  const postForId = async (path: string, body: unknown) =>
    (await control.request<{ id: string }>('POST', path, body)).id;

  return {
    url,
    rpcUrl,
    passphrase,
    server,
    rpcServer,
    root,
    fund: accounts.fund,
    issue: accounts.issue,
    submit,
    pay: createPay(submitter, accounts, root),

    /** Opens a trustline of the account of `secret`; `limit` 0 closes it. */
    trust(request: { secret: string; assetCode: string; assetIssuer: string; limit?: string }): Promise<Submitted> {
      const { secret, assetCode, assetIssuer, limit } = request;
      const operation = Operation.changeTrust({ asset: new Asset(assetCode, assetIssuer), limit });
      return submit({ from: Keypair.fromSecret(secret), operations: [operation] });
    },

    /** Offers `amount` of an asset from the account of `secret` at `price`: units bought for each
     *  unit sold. Null means lumens. */
    offer(request: OfferRequest): Promise<Submitted> {
      const { secret, selling, buying, amount, price } = request;
      const assetOf = (asset: LedgerAsset) => (asset === null ? Asset.native() : new Asset(asset.code, asset.issuer));
      const assets = { selling: assetOf(selling), buying: assetOf(buying) };
      const operation = Operation.manageSellOffer({ ...assets, amount, price });
      return submit({ from: Keypair.fromSecret(secret), operations: [operation] });
    },

    /** Merges the account of `secret` (or a new test account) into `into`, with all of
     *  its lumens. */
    async merge(request: { into: string; secret?: string; memo?: string | Memo | null }): Promise<Submitted> {
      const from = Keypair.fromSecret(request.secret ?? (await accounts.fund()).secret);
      const operations = [Operation.accountMerge({ destination: request.into })];
      return await submit({ from, operations, memo: request.memo });
    },

    /** Pays by a contract call: balances move, and Horizon and RPC show it. Resolves with Horizon's
     *  operation id. */
    payByContract: (payment: ContractPayment) => postForId('/records', contractPayment(payment, root.publicKey())),
    /** Emits a transfer event from a contract other than the asset's. Resolves with Horizon's
     *  operation id. */
    forge: (payment: ContractPayment) => postForId('/faults', { kind: 'forge', ...payment }),
    /** Puts a made-up record into the next ledger. Resolves with its operation id. */
    inject: (injection: Omit<Injection, 'forgery'>) => postForId('/records', injection),

    status: control.status,
    faults: {
      add: (fault: FaultInput) => control.request<ActiveFault>('POST', '/faults', fault),
      list: async () => (await control.request<{ faults: ActiveFault[] }>('GET', '/faults')).faults,
      remove: (id: number) => control.request<unknown>('DELETE', `/faults/${id}`),
      clear: () => control.request<unknown>('DELETE', '/faults'),
    },
    /** Starts a new chain at ledger 1. */
    reset: () => control.request<unknown>('POST', '/faults', { kind: 'reset' }),
  };
}
