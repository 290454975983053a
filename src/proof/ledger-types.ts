/** The types of the ledger that a proof needs, up to protocol 30: transactions with all their
 *  operations, and results with all their codes. An operation that is not understood hides those
 *  after it, so all are here. Source: stellar-xdr, `Stellar-transaction.x`,
 *  `Stellar-ledger-entries.x`, `Stellar-contract.x`. */
import {
  bytes,
  hash,
  i32,
  i64,
  lazy,
  list,
  nothing,
  opaque,
  option,
  type Reader,
  sliced,
  struct,
  type Type,
  type Union,
  u32,
  u64,
  union,
} from './xdr.js';

/** An enumeration whose only arm is Ed25519. */
export const publicKey = union({ 0: hash });
const muxedAccount = union({ 0: hash, 256: struct({ id: u64, key: hash }) });
const alphaNum4 = struct({ code: opaque(4), issuer: publicKey });
const alphaNum12 = struct({ code: opaque(12), issuer: publicKey });
const asset = union({ 0: nothing, 1: alphaNum4, 2: alphaNum12 });
const price = struct({ n: i32, d: i32 });
const extension = union({ 0: nothing });
const claimableBalanceId = union({ 0: hash });

// Contract values.
/** An address of a protocol to come. */
const muxedContract = struct({ id: u64, contract: hash });
const address = union({
  0: publicKey,
  1: hash,
  2: struct({ id: u64, key: hash }),
  3: claimableBalanceId,
  4: hash,
  5: muxedContract,
});
const bool: Type<boolean> = (reader) => reader.u32() === 1;
const parts128 = struct({ hi: i64, lo: u64 });
const parts256 = opaque(32);
const executable = union({ 0: hash, 1: nothing, 2: struct({ owner: address, tag: bytes }) });
export const scVal: Type<Union> = lazy(() => scValUnion);
const scVals = list(scVal);
const scMap = list(struct({ key: scVal, value: scVal }));
const scValUnion = union({
  0: bool,
  1: nothing,
  2: struct({ type: u32, code: u32 }),
  3: u32,
  4: i32,
  5: u64,
  6: i64,
  7: u64,
  8: u64,
  9: parts128,
  10: parts128,
  11: parts256,
  12: parts256,
  13: bytes,
  14: bytes,
  15: bytes,
  16: option(scVals),
  17: option(scMap),
  18: address,
  19: struct({ executable, storage: option(scMap) }),
  20: nothing,
  21: i64,
  22: bytes,
});
const contractEvent = struct({
  ext: extension,
  contractId: option(hash),
  type: u32,
  body: union({ 0: struct({ topics: scVals, data: scVal }) }),
});
/** What a contract call's success hash covers. */
export const invocation = struct({ returnValue: scVal, events: list(contractEvent) });

// Operations.
const signerKey = union({ 0: hash, 1: hash, 2: hash, 3: struct({ key: hash, payload: bytes }) });
const poolParameters = union({ 0: struct({ a: asset, b: asset, fee: i32 }) });
const trustLineAsset = union({ 0: nothing, 1: alphaNum4, 2: alphaNum12, 3: hash });
const predicate: Type<Union> = lazy(() => predicateUnion);
const predicateUnion = union({
  0: nothing,
  1: list(predicate),
  2: list(predicate),
  3: option(predicate),
  4: i64,
  5: i64,
});
const ledgerKey = union({
  0: publicKey,
  1: struct({ account: publicKey, asset: trustLineAsset }),
  2: struct({ seller: publicKey, offer: i64 }),
  3: struct({ account: publicKey, name: bytes }),
  4: claimableBalanceId,
  5: hash,
  6: struct({ contract: address, key: scVal, durability: u32 }),
  7: hash,
  8: u32,
  9: hash,
});
const invokeArguments = struct({ contract: address, name: bytes, arguments: scVals });
const contractIdFrom = union({ 0: struct({ address, salt: hash }), 1: asset });
const creation = struct({ from: contractIdFrom, executable });
const creationV2 = struct({ from: contractIdFrom, executable, arguments: scVals });
const authorizedCall: Type<unknown> = lazy(() => authorizedCallStruct);
const authorizedCallStruct = struct({
  function: union({ 0: invokeArguments, 1: creation, 2: creationV2 }),
  calls: list(authorizedCall),
});
const delegate: Type<unknown> = lazy(() => delegateStruct);
const delegateStruct = struct({ address, signature: scVal, nested: list(delegate) });
const addressCredentials = struct({ address, nonce: i64, until: u32, signature: scVal });
const authorization = struct({
  credentials: union({
    0: nothing,
    1: addressCredentials,
    2: addressCredentials,
    3: struct({ credentials: addressCredentials, delegates: list(delegate) }),
  }),
  call: authorizedCall,
});
const offerTerms = { selling: asset, buying: asset, amount: i64, price };

/** Kinds of operations that move money to an account, by their number. */
export const OPERATION = {
  createAccount: 0,
  payment: 1,
  pathStrictReceive: 2,
  accountMerge: 8,
  pathStrictSend: 13,
  invokeContract: 24,
} as const;

export const createAccount = struct({ destination: publicKey, amount: i64 });
export const payment = struct({ destination: muxedAccount, asset, amount: i64 });
/** The two amounts of a path payment are its limit and its own. */
export const pathPayment = struct({
  sendAsset: asset,
  sendAmount: i64,
  destination: muxedAccount,
  asset,
  amount: i64,
  path: list(asset),
});

const operationBody = union({
  0: createAccount,
  1: payment,
  2: pathPayment,
  3: struct({ ...offerTerms, offer: i64 }),
  4: struct(offerTerms),
  5: struct({
    inflation: option(publicKey),
    clear: option(u32),
    set: option(u32),
    weight: option(u32),
    low: option(u32),
    medium: option(u32),
    high: option(u32),
    domain: option(bytes),
    signer: option(struct({ key: signerKey, weight: u32 })),
  }),
  6: struct({ line: union({ 0: nothing, 1: alphaNum4, 2: alphaNum12, 3: poolParameters }), limit: i64 }),
  7: struct({ trustor: publicKey, code: union({ 1: opaque(4), 2: opaque(12) }), authorize: u32 }),
  8: muxedAccount,
  9: nothing,
  10: struct({ name: bytes, value: option(bytes) }),
  11: i64,
  12: struct({ ...offerTerms, offer: i64 }),
  13: pathPayment,
  14: struct({ asset, amount: i64, claimants: list(union({ 0: struct({ destination: publicKey, predicate }) })) }),
  15: claimableBalanceId,
  16: publicKey,
  17: nothing,
  18: union({ 0: ledgerKey, 1: struct({ account: publicKey, signer: signerKey }) }),
  19: struct({ asset, from: muxedAccount, amount: i64 }),
  20: claimableBalanceId,
  21: struct({ trustor: publicKey, asset, clear: u32, set: u32 }),
  22: struct({ pool: hash, maxA: i64, maxB: i64, minPrice: price, maxPrice: price }),
  23: struct({ pool: hash, amount: i64, minA: i64, minB: i64 }),
  24: struct({
    function: union({ 0: invokeArguments, 1: creation, 2: bytes, 3: creationV2 }),
    authorizations: list(authorization),
  }),
  25: struct({ ext: extension, extendTo: u32 }),
  26: extension,
});

// Transactions.
const timeBounds = struct({ min: u64, max: u64 });
const preconditions = union({
  0: nothing,
  1: timeBounds,
  2: struct({
    time: option(timeBounds),
    ledgers: option(struct({ min: u32, max: u32 })),
    sequence: option(i64),
    age: u64,
    gap: u32,
    signers: list(signerKey),
  }),
});
const memo = union({ 0: nothing, 1: bytes, 2: u64, 3: hash, 4: hash });
const operation = struct({ source: option(muxedAccount), body: operationBody });
const resources = struct({
  ext: union({ 0: nothing, 1: list(u32) }),
  readOnly: list(ledgerKey),
  readWrite: list(ledgerKey),
  instructions: u32,
  read: u32,
  write: u32,
  fee: i64,
});
const transactionTail = {
  fee: u32,
  sequence: i64,
  conditions: preconditions,
  memo,
  operations: list(operation),
  ext: union({ 0: nothing, 1: resources }),
};
export const transaction = struct({ source: muxedAccount, ...transactionTail });
const signatures = list(struct({ hint: opaque(4), signature: bytes }));
/** The form of protocol 12 and before. The flag of its time bounds reads like the kind of
 *  today's preconditions. */
const transactionV0 = struct({ source: hash, ...transactionTail });
const innerEnvelope = union({ 2: struct({ transaction: sliced(transaction), signatures }) });
export const feeBump = struct({ source: muxedAccount, fee: i64, inner: innerEnvelope, ext: extension });
/** What a transaction's hash covers, after the network's id. */
export const taggedTransaction = union({ 2: sliced(transaction), 5: sliced(feeBump) });
export const envelope = union({
  0: struct({ transaction: sliced(transactionV0), signatures }),
  2: struct({ transaction: sliced(transaction), signatures }),
  5: struct({ transaction: sliced(feeBump), signatures }),
});
const envelopes = list(envelope);
/** A set of today: classic phases of components, and parallel ones of stages of clusters. */
export const generalizedSet = union({
  1: struct({
    previous: hash,
    phases: list(
      union({
        0: list(union({ 0: struct({ baseFee: option(i64), transactions: envelopes }) })),
        1: struct({ baseFee: option(i64), stages: list(list(envelopes)) }),
      }),
    ),
  }),
});
/** A set before protocol 20. */
export const oldSet = struct({ previous: hash, transactions: envelopes });

// Results.
const offerEntry = struct({
  seller: publicKey,
  offer: i64,
  ...offerTerms,
  flags: u32,
  ext: extension,
});
const trade = { sold: asset, amountSold: i64, bought: asset, amountBought: i64 };
const trades = list(
  union({
    0: struct({ seller: hash, offer: i64, ...trade }),
    1: struct({ seller: publicKey, offer: i64, ...trade }),
    2: struct({ pool: hash, ...trade }),
  }),
);
const isFailure = (code: number): boolean => code < 0 && code >= -32;
/** A result whose failures carry nothing. */
const outcome = (success: Type, failures: Readonly<Record<number, Type>> = {}): Type<Union> =>
  union({ 0: success, ...failures }, isFailure);
export const pathResult = struct({ trades, destination: publicKey, asset, amount: i64 });
const pathOutcome = outcome(pathResult, { [-9]: asset });
const offerOutcome = outcome(struct({ trades, offer: union({ 0: offerEntry, 1: offerEntry, 2: nothing }) }));
const plain = outcome(nothing);
const operationOutcome = union({
  0: plain,
  1: plain,
  2: pathOutcome,
  3: offerOutcome,
  4: offerOutcome,
  5: plain,
  6: plain,
  7: plain,
  8: outcome(i64),
  9: outcome(list(struct({ destination: publicKey, amount: i64 }))),
  10: plain,
  11: plain,
  12: offerOutcome,
  13: pathOutcome,
  14: outcome(claimableBalanceId),
  15: plain,
  16: plain,
  17: plain,
  18: plain,
  19: plain,
  20: plain,
  21: plain,
  22: plain,
  23: plain,
  24: outcome(hash),
  25: plain,
  26: plain,
});
/** Arm 0 is an operation that was tried; the others say why it was not. */
const operationResult = union({ 0: operationOutcome }, isFailure);
const operationResults = list(operationResult);
const innerResult = struct({
  transactionHash: hash,
  fee: i64,
  result: union({ 0: operationResults, [-1]: operationResults }, isFailure),
  ext: extension,
});
export const resultPair = struct({
  transactionHash: hash,
  fee: i64,
  result: union({ 0: operationResults, [-1]: operationResults, 1: innerResult, [-13]: innerResult }, isFailure),
  ext: extension,
});

export type ValueOf<T> = T extends (reader: Reader) => infer V ? V : never;
export type Transaction = ValueOf<typeof transaction>;
export type ResultPair = ValueOf<typeof resultPair>;
