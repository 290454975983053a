/** The transaction by which a payer's wallet pays a link or checkout: built unsigned, and checked
 *  once it is signed. Pure. */
import type { FeeBumpTransaction, Asset as StellarAsset, Transaction } from '@stellar/stellar-sdk/base';
import { formatAmount, MAX_STROOPS, parseAmount } from '../domain/amount.js';
import { type Asset, NATIVE, type Asset as PaidAsset, sameAsset } from '../domain/asset.js';
import { type CreditMemo, memosNamedBy } from '../domain/memo.js';
import { sdk } from '../domain/stellar-sdk.js';
import { accountOf, parseMuxed } from '../domain/strkey.js';

/** The payment that a link or checkout asks for. */
export interface Payable {
  /** G… */
  destination: string;
  /** In canonical form. */
  memo: string;
  asset: Asset;
  networkPassphrase: string;
}

type SignedTransaction = Transaction | FeeBumpTransaction;

interface TransactionFault {
  message: string;
  code: string;
}

/** A payment in another asset than the one asked for. Amounts are stroops. */
export interface Detour {
  asset: Asset;
  /** Its cost when the way was found. */
  cost: bigint;
  path: readonly Asset[];
}

/** By how many percent the cost may rise until the network applies the payment. */
const LEEWAY_PERCENT = 1n;

/** The most stroops that may leave the payer. */
export function sendMaxOf(cost: bigint): bigint {
  const most = cost + (cost * LEEWAY_PERCENT + 99n) / 100n;
  return most < MAX_STROOPS ? most : MAX_STROOPS;
}

/** The highest fee offered, in stroops. The network takes its minimum, and more only when it
 *  is crowded. */
const MAX_FEE = '10000';
const VALID_SECONDS = 300;
/** Wallets may change the time bounds. */
const LONGEST_VALID_SECONDS = 900;

/** @param payer G… @param sequence of the payer's newest transaction. @param amount decimal text.
 *  @param detour null to pay in the asset itself
 *  @returns the unsigned envelope in base64 */
export function buildPayment(
  { destination, memo, asset, networkPassphrase }: Payable,
  { payer, sequence, amount, detour }: { payer: string; sequence: string; amount: string; detour: Detour | null },
  now: Date,
): string {
  const { Account, Asset, Memo, Operation, TransactionBuilder } = sdk();
  const validUntil = Math.floor(now.getTime() / 1000) + VALID_SECONDS;
  const stellar = ({ code, issuer }: PaidAsset) => (issuer === null ? Asset.native() : new Asset(code, issuer));
  const operation =
    detour === null
      ? Operation.payment({ destination, asset: stellar(asset), amount })
      : Operation.pathPaymentStrictReceive({
          sendAsset: stellar(detour.asset),
          sendMax: formatAmount(sendMaxOf(detour.cost)),
          destination,
          destAsset: stellar(asset),
          destAmount: amount,
          path: detour.path.map(stellar),
        });
  return new TransactionBuilder(new Account(payer, sequence), {
    fee: MAX_FEE,
    networkPassphrase,
    memo: Memo.text(memo),
    timebounds: { minTime: 0, maxTime: validUntil },
  })
    .addOperation(operation)
    .build()
    .toXDR();
}

/** Null for text that is not a transaction. */
export function parseTransaction(text: string, networkPassphrase: string): SignedTransaction | null {
  try {
    return sdk().TransactionBuilder.fromXDR(text, networkPassphrase);
  } catch {
    return null;
  }
}

/** Why it is not the one payment that is asked for; null when it is. The amount is not looked at:
 *  what is due changes. */
export function faultOf(signed: SignedTransaction, payable: Payable, now: Date): TransactionFault | null {
  const fault = (message: string, code = 'not_allowed'): TransactionFault => ({ message, code });
  if ('innerTransaction' in signed) return fault('Send the payment itself, not a fee bump of it.');
  const [operation, ...others] = signed.operations;
  const isPayment = operation?.type === 'payment' || operation?.type === 'pathPaymentStrictReceive';
  if (!isPayment || others.length > 0) return fault('It must be one payment and nothing else.');
  if (accountOf(operation.destination) !== payable.destination) return fault('It does not pay this page’s wallet.');
  if (accountOf(operation.source ?? signed.source) === payable.destination) {
    return fault('It pays from this page’s wallet to itself.');
  }
  const destinationMuxedId = parseMuxed(operation.destination)?.id ?? null;
  const [named] = memosNamedBy({ memo: memoOf(signed), destinationMuxedId });
  if (named !== payable.memo) return fault('It does not carry this page’s memo.');
  // The asset that arrives counts, whatever the payer sends.
  const arriving = operation.type === 'payment' ? operation.asset : operation.destAsset;
  if (!sameAsset(assetOf(arriving), payable.asset)) return fault('It pays a different asset than the one asked for.');
  if (signed.signatures.length === 0) return fault('It is not signed.', 'required');
  const nowSeconds = now.getTime() / 1000;
  const validUntil = Number(signed.timeBounds?.maxTime ?? 0);
  if (validUntil === 0 || validUntil > nowSeconds + LONGEST_VALID_SECONDS) {
    return fault(`It must end within ${LONGEST_VALID_SECONDS / 60} minutes.`, 'too_big');
  }
  return validUntil < nowSeconds ? fault('It is no longer valid: start again.', 'too_small') : null;
}

/** The asset that leaves the payer; null for anything but a payment. */
export function assetSentBy(signed: SignedTransaction): Asset | null {
  const operation = operationIn(signed);
  if (operation?.type === 'payment') return assetOf(operation.asset);
  return operation?.type === 'pathPaymentStrictReceive' ? assetOf(operation.sendAsset) : null;
}

/** The stroops that a transaction without a fault brings. */
export function arrivingBy(signed: SignedTransaction): bigint {
  const operation = operationIn(signed);
  if (operation?.type === 'payment') return parseAmount(operation.amount)!;
  return operation?.type === 'pathPaymentStrictReceive' ? parseAmount(operation.destAmount)! : 0n;
}

const operationIn = (signed: SignedTransaction) => ('innerTransaction' in signed ? undefined : signed.operations[0]);

const assetOf = (asset: StellarAsset): Asset =>
  asset.isNative() ? NATIVE : { code: asset.getCode(), issuer: asset.getIssuer() ?? null };

/** The memo as a ledger source would show it. */
function memoOf({ memo }: Transaction): CreditMemo {
  const { type, value } = memo;
  if (type === 'none' || value === null) return { type: 'none', text: null };
  if (type === 'id') return { type, text: String(value) };
  // The SDK's bytes are not a Buffer, despite their type: their `toString` knows no encodings.
  const bytes = Buffer.from(value as string);
  if (type !== 'text') return { type, text: bytes.toString('base64') };
  const text = bytes.toString('utf8');
  return { type, text, valid: Buffer.from(text).equals(bytes) };
}
