/** Horizon's records, made with the official SDK: real transactions, hashes and results. */
import {
  Account,
  Asset,
  BASE_FEE,
  Keypair,
  Memo,
  MuxedAccount,
  Operation,
  StrKey,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk';

export const PASSPHRASE = 'Standalone Network ; February 2017';
export const keypair = (n: number) => Keypair.fromRawEd25519Seed(Buffer.alloc(32, n));
export const PAYER = keypair(1).publicKey();
export const SHOP = keypair(2).publicKey();
export const ISSUER = keypair(3).publicKey();
export const CONTRACT = StrKey.encodeContract(Buffer.alloc(32, 4));
export const POOL = StrKey.encodeLiquidityPool(Buffer.alloc(32, 5));
export const muxed = (address: string, id: string): string =>
  new MuxedAccount(new Account(address, '0'), id).accountId();

export const NATIVE_TRIPLE = { asset_type: 'native' };
export const USDC_TRIPLE = { asset_type: 'credit_alphanum4', asset_code: 'USDC', asset_issuer: ISSUER };

export type Json = Record<string, unknown>;

export const toid = (ledger: number, transaction = 1, operation = 1): string =>
  ((BigInt(ledger) << 32n) | (BigInt(transaction) << 12n) | BigInt(operation)).toString();

/** Results of a transaction. @param merged the merged amount of each operation, null for
 *  a payment */
const operationResults = (merged: readonly (string | null)[]) =>
  merged.map((stroops) =>
    xdr.OperationResult.opInner(
      stroops === null
        ? xdr.OperationResultTr.payment(xdr.PaymentResult.paymentSuccess())
        : xdr.OperationResultTr.accountMerge(xdr.AccountMergeResult.accountMergeSuccess(xdr.Int64.fromString(stroops))),
    ),
  );

const result = (result: xdr.TransactionResultResult): string =>
  new xdr.TransactionResult({
    feeCharged: xdr.Int64.fromString('100'),
    result,
    ext: xdr.TransactionResultExt.v0(),
  }).toXdr('base64');

export interface TransactionOptions {
  memo?: Memo;
  /** Merged amounts of the operations; by default one payment. */
  merged?: readonly (string | null)[];
  feeBump?: boolean;
}

/** A transaction record of Horizon. */
export function transactionRecord({
  memo = Memo.none(),
  merged = [null],
  feeBump = false,
}: TransactionOptions = {}): Json {
  const builder = new TransactionBuilder(new Account(PAYER, '41'), {
    fee: BASE_FEE,
    networkPassphrase: PASSPHRASE,
    memo,
  });
  for (const stroops of merged) {
    builder.addOperation(
      stroops === null
        ? Operation.payment({ destination: SHOP, asset: Asset.native(), amount: '10' })
        : Operation.accountMerge({ destination: SHOP }),
    );
  }
  const inner = builder.setTimeout(0).build();
  inner.sign(keypair(1));
  const outer = feeBump ? TransactionBuilder.buildFeeBumpTransaction(keypair(3), '200', inner, PASSPHRASE) : inner;
  const results = operationResults(merged);
  const hash = Buffer.from(outer.hash()).toString('hex');
  return {
    ...memoFields(memo),
    id: hash,
    hash,
    successful: true,
    source_account: PAYER,
    fee_charged: '100',
    operation_count: merged.length,
    envelope_xdr: outer.toXdr(),
    result_xdr: feeBump
      ? result(
          xdr.TransactionResultResult.txFeeBumpInnerSuccess(
            new xdr.InnerTransactionResultPair({
              transactionHash: inner.hash(),
              result: new xdr.InnerTransactionResult({
                feeCharged: xdr.Int64.fromString('100'),
                result: xdr.InnerTransactionResultResult.txSuccess(results),
                ext: xdr.InnerTransactionResultExt.v0(),
              }),
            }),
          ),
        )
      : result(xdr.TransactionResultResult.txSuccess(results)),
  };
}

/** Memo fields of Horizon: text loses its NUL bytes, and each invalid UTF-8 byte becomes U+FFFD. */
function memoFields(memo: Memo): Json {
  if (memo.type === 'none') return { memo_type: 'none' };
  if (memo.type === 'id') return { memo_type: 'id', memo: memo.value as string };
  const bytes = Buffer.from(memo.value as Buffer | string);
  if (memo.type !== 'text') return { memo_type: memo.type, memo: bytes.toString('base64') };
  const shown = bytes.toString('utf8').replaceAll('\0', '');
  return { memo_type: 'text', memo: shown, memo_bytes: bytes.toString('base64') };
}

export interface RecordOptions extends TransactionOptions {
  ledger?: number;
  /** Index within its transaction, from 1. */
  order?: number;
  /** False for a record without `join=transactions`. */
  joined?: boolean;
}

/** An operation record: the common fields, with those of its type. */
export function operationRecord(type: string, fields: Json, options: RecordOptions = {}): Json {
  const { ledger = 1_000, order = 1, joined = true } = options;
  const transaction = transactionRecord(options);
  const id = toid(ledger, 1, order);
  return {
    _links: { self: { href: `http://horizon.test/operations/${id}` } },
    id,
    paging_token: id,
    transaction_successful: true,
    source_account: PAYER,
    type,
    created_at: '2026-01-02T03:04:05Z',
    transaction_hash: transaction.hash,
    ...fields,
    ...(joined ? { transaction } : {}),
  };
}

export const payment = (fields: Json = {}, options?: RecordOptions): Json =>
  operationRecord('payment', { ...NATIVE_TRIPLE, from: PAYER, to: SHOP, amount: '10.0000000', ...fields }, options);

export const pathPayment = (type: string, fields: Json = {}, options?: RecordOptions): Json =>
  operationRecord(
    type,
    {
      ...USDC_TRIPLE,
      from: PAYER,
      to: SHOP,
      amount: '10.0000000',
      path: [],
      source_amount: '99.0000000',
      source_asset_type: 'native',
      ...fields,
    },
    options,
  );

export const createAccount = (fields: Json = {}, options?: RecordOptions): Json =>
  operationRecord(
    'create_account',
    { starting_balance: '5.0000000', funder: PAYER, account: SHOP, ...fields },
    options,
  );

export const accountMerge = (fields: Json = {}, options: RecordOptions = {}): Json =>
  operationRecord('account_merge', { account: PAYER, into: SHOP, ...fields }, { merged: ['9999999900'], ...options });

export const hostFunction = (changes: unknown, options?: RecordOptions): Json =>
  operationRecord(
    'invoke_host_function',
    {
      function: 'HostFunctionTypeHostFunctionTypeInvokeContract',
      parameters: [],
      address: '',
      salt: '',
      asset_balance_changes: changes,
    },
    options,
  );

export const change = (fields: Json = {}): Json => {
  return { ...USDC_TRIPLE, type: 'transfer', from: PAYER, to: SHOP, amount: '1.0000000', ...fields };
};

export const effectsOf = (into: string, amount: string): Json => ({
  _links: {},
  _embedded: {
    records: [
      { type: 'account_debited', account: PAYER, asset_type: 'native', amount },
      { type: 'account_credited', account: into, asset_type: 'native', amount },
      { type: 'account_removed', account: PAYER },
    ],
  },
});

export const page = (records: readonly unknown[], nextCursor = ''): Json => ({
  _links: { next: { href: `http://horizon.test/payments?cursor=${nextCursor}&limit=200&order=asc` } },
  _embedded: { records },
});
