/** Transactions with every kind of payment, and what each of them pays. */
import {
  Account,
  Address,
  Asset,
  Contract,
  Keypair,
  Memo,
  MuxedAccount,
  nativeToScVal,
  Operation,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk/base';
import type { Claim } from '../index.js';
import { type Applied, PASSPHRASE, sha } from './ledgers.js';

export const payer = Keypair.random();
export const shop = Keypair.random();
export const issuer = Keypair.random();
export const usdc = new Asset('USDC', issuer.publicKey());
export const long = new Asset('LONGERCODE', issuer.publicKey());

export interface PaymentCase {
  name: string;
  applied: Applied;
  operationIndex: number;
  invocation?: Uint8Array<ArrayBuffer>;
  claim: Partial<Claim>;
}

type Op = ReturnType<typeof Operation.payment>;

export function transactionOf(operations: readonly Op[], memo: Memo = Memo.none(), source = payer.publicKey()) {
  const account = new Account(payer.publicKey(), '41');
  const from = source.startsWith('M') ? MuxedAccount.fromAddress(source, '41') : account;
  const builder = new TransactionBuilder(from, { fee: '100', networkPassphrase: PASSPHRASE, memo });
  for (const operation of operations) builder.addOperation(operation);
  const transaction = builder.setTimebounds(0, 2_000_000_000).build();
  transaction.sign(payer);
  return transaction;
}

const opInner = (result: xdr.OperationResultTr) => xdr.OperationResult.opInner(result);
export const paid = () => opInner(xdr.OperationResultTr.payment(xdr.PaymentResult.paymentSuccess()));

const muxed = new MuxedAccount(new Account(shop.publicKey(), '0'), '18446744073709551615');

const asset = { own: 'XLM' as const };
const xlm = { assetCode: asset.own, assetIssuer: null };
const usdcFields = { assetCode: 'USDC', assetIssuer: issuer.publicKey() };
const base: Partial<Claim> = {
  from: payer.publicKey(),
  to: shop.publicKey(),
  toMuxedId: null,
  memoType: 'none',
  memo: null,
};

function simple(
  name: string,
  operation: Op,
  result: xdr.OperationResult,
  claim: Partial<Claim>,
  memo: Memo = Memo.none(),
): PaymentCase {
  const applied = { transaction: transactionOf([operation], memo), results: [result] };
  return { name, applied, operationIndex: 0, claim: { ...base, ...claim } };
}

const last = (amount: bigint) =>
  new xdr.SimplePaymentResult({
    destination: shop.xdrPublicKey(),
    asset: usdc.toXdrObject(),
    amount,
  });
const trade = xdr.ClaimAtom.claimAtomTypeLiquidityPool(
  new xdr.ClaimLiquidityAtom({
    liquidityPoolId: xdr.PoolId.fromXdr(sha(Buffer.from('pool'))),
    assetSold: usdc.toXdrObject(),
    amountSold: 20_000_000n,
    assetBought: Asset.native().toXdrObject(),
    amountBought: 100_000_000n,
  }),
);
const pathResult = { offers: [trade], last: last(20_000_000n) };
const receive = Operation.pathPaymentStrictReceive({
  sendAsset: Asset.native(),
  sendMax: '11',
  destination: shop.publicKey(),
  destAsset: usdc,
  destAmount: '2',
  path: [long],
});
const send = Operation.pathPaymentStrictSend({
  sendAsset: Asset.native(),
  sendAmount: '10',
  destination: shop.publicKey(),
  destAsset: usdc,
  destMin: '1.5',
  path: [],
});

function contractCase(name: string, events: xdr.ContractEvent[], claim: Partial<Claim>): PaymentCase {
  const preImage = new xdr.InvokeHostFunctionSuccessPreImage({ returnValue: xdr.ScVal.scvVoid(), events });
  const invocation = new Uint8Array(preImage.toXdr());
  const call = new Contract(usdc.contractId(PASSPHRASE)).call('transfer', nativeToScVal(name));
  const success = xdr.InvokeHostFunctionResult.invokeHostFunctionSuccess(sha(invocation));
  const results = [opInner(xdr.OperationResultTr.invokeHostFunction(success))];
  const applied = { transaction: transactionOf([call as Op], Memo.text('order 7')), results };
  const text: Partial<Claim> = { kind: 'contract', memoType: 'text', memo: 'order 7' };
  return { name, applied, operationIndex: 0, invocation, claim: { ...base, ...text, ...claim } };
}

const address = (text: string) => Address.fromString(text).toScVal();
const symbol = (text: string) => nativeToScVal(text, { type: 'symbol' });
const i128 = (amount: bigint) => nativeToScVal(amount, { type: 'i128' });

/** @param contractId of who emits the event */
export function tokenEvent(contractId: string, topics: readonly xdr.ScVal[], data: xdr.ScVal): xdr.ContractEvent {
  return new xdr.ContractEvent({
    ext: xdr.ExtensionPoint.v0(),
    contractId: xdr.ContractId.fromXdr(Address.fromString(contractId).toBuffer()),
    type: xdr.ContractEventType.contract,
    body: xdr.ContractEventBody.v0(new xdr.ContractEventV0({ topics: [...topics], data })),
  });
}

const name = nativeToScVal(`USDC:${issuer.publicKey()}`);
const own = usdc.contractId(PASSPHRASE);
const foreign = Address.contract(sha(Buffer.from('a contract that lies'))).toString();
const transferTopics = [symbol('transfer'), address(payer.publicKey()), address(shop.publicKey()), name];
const withId = xdr.ScVal.scvMap([
  new xdr.ScMapEntry({ key: symbol('amount'), val: i128(70_000_000n) }),
  new xdr.ScMapEntry({ key: symbol('to_muxed_id'), val: nativeToScVal(7n, { type: 'u64' }) }),
]);
export const foreignTransfer = tokenEvent(foreign, transferTopics, i128(1_000_000_000n));

const feeBumped = () => {
  const inner = transactionOf([
    Operation.payment({ destination: shop.publicKey(), asset: Asset.native(), amount: '1' }),
    Operation.payment({ destination: shop.publicKey(), asset: usdc, amount: '0.0000001' }),
  ]);
  const bump = TransactionBuilder.buildFeeBumpTransaction(issuer, '400', inner, PASSPHRASE);
  bump.sign(issuer);
  return { transaction: bump, results: [paid(), paid()] };
};

/** Every kind of payment, each memo, muxed addresses and a fee bump. */
export const PAYMENTS: PaymentCase[] = [
  simple(
    'a payment of XLM with a text memo',
    Operation.payment({ destination: shop.publicKey(), asset: Asset.native(), amount: '12.5' }),
    paid(),
    { kind: 'payment', ...xlm, amount: '12.5', memoType: 'text', memo: 'zażółć' },
    Memo.text('zażółć'),
  ),
  simple(
    'a payment with a memo that begins with a mark of byte order',
    Operation.payment({ destination: shop.publicKey(), asset: Asset.native(), amount: '12.5' }),
    paid(),
    { kind: 'payment', ...xlm, amount: '12.5', memoType: 'text', memo: '\ufefforder' },
    Memo.text('\ufefforder'),
  ),
  simple(
    'a payment of an asset with a long code to a muxed address, with an id memo',
    Operation.payment({ destination: muxed.accountId(), asset: long, amount: '922337203685.4775807' }),
    paid(),
    {
      kind: 'payment',
      ...{ assetCode: 'LONGERCODE', assetIssuer: issuer.publicKey(), amount: '922337203685.4775807' },
      ...{ toMuxedId: '18446744073709551615', memoType: 'id', memo: '42' },
    },
    Memo.id('42'),
  ),
  simple(
    'a payment by a muxed account with a hash memo',
    Operation.payment({ destination: shop.publicKey(), asset: usdc, amount: '3' }),
    paid(),
    { kind: 'payment', ...usdcFields, amount: '3', memoType: 'hash', memo: Buffer.alloc(32, 5).toString('base64') },
    Memo.hash(Buffer.alloc(32, 5)),
  ),
  simple(
    'a new account with a return memo',
    Operation.createAccount({ destination: shop.publicKey(), startingBalance: '20' }),
    opInner(xdr.OperationResultTr.createAccount(xdr.CreateAccountResult.createAccountSuccess())),
    { kind: 'create_account', ...xlm, amount: '20', memoType: 'return', memo: Buffer.alloc(32, 6).toString('base64') },
    Memo.return(Buffer.alloc(32, 6)),
  ),
  simple(
    'a path payment of what is received',
    receive,
    opInner(
      xdr.OperationResultTr.pathPaymentStrictReceive(
        xdr.PathPaymentStrictReceiveResult.pathPaymentStrictReceiveSuccess(
          new xdr.PathPaymentStrictReceiveResultSuccess(pathResult),
        ),
      ),
    ),
    { kind: 'path_payment_strict_receive', ...usdcFields, amount: '2' },
  ),
  simple(
    'a path payment of what is sent',
    send,
    opInner(
      xdr.OperationResultTr.pathPaymentStrictSend(
        xdr.PathPaymentStrictSendResult.pathPaymentStrictSendSuccess(
          new xdr.PathPaymentStrictSendResultSuccess(pathResult),
        ),
      ),
    ),
    { kind: 'path_payment_strict_send', ...usdcFields, amount: '2' },
  ),
  simple(
    'an account that is merged',
    Operation.accountMerge({ destination: shop.publicKey(), source: issuer.publicKey() }),
    opInner(xdr.OperationResultTr.accountMerge(xdr.AccountMergeResult.accountMergeSuccess(123_456_789n))),
    { kind: 'account_merge', ...xlm, from: issuer.publicKey(), amount: '12.3456789' },
  ),
  {
    name: 'the second payment of a fee bump',
    applied: feeBumped(),
    operationIndex: 1,
    claim: { ...base, kind: 'payment', ...usdcFields, amount: '0.0000001' },
  },
  contractCase(
    'a transfer by a contract beside one of a contract that lies',
    [foreignTransfer, tokenEvent(own, transferTopics, withId)],
    {
      ...usdcFields,
      amount: '7',
      toMuxedId: '7',
    },
  ),
  contractCase(
    'a mint, which its issuer pays',
    [tokenEvent(own, [symbol('mint'), address(shop.publicKey()), name], i128(5n))],
    { ...usdcFields, from: issuer.publicKey(), amount: '0.0000005' },
  ),
  contractCase(
    'a burn, which is paid to the issuer',
    [tokenEvent(own, [symbol('burn'), address(payer.publicKey()), name], i128(10_000_000n))],
    { ...usdcFields, to: issuer.publicKey(), amount: '1' },
  ),
  contractCase(
    'XLM by a contract',
    [
      tokenEvent(
        Asset.native().contractId(PASSPHRASE),
        [symbol('transfer'), address(foreign), address(shop.publicKey()), nativeToScVal('native')],
        i128(10n),
      ),
    ],
    { ...xlm, from: foreign, amount: '0.000001' },
  ),
];
