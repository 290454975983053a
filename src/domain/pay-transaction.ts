/** The transaction by which a payer's wallet pays a link or checkout: made unsigned, and checked once it is signed. Pure. */
import type { FeeBumpTransaction, Asset as StellarAsset, Transaction } from '@stellar/stellar-sdk/base';
import { type Asset, NATIVE, sameAsset } from './asset.js';
import { type CreditMemo, memosNamedBy } from './memo.js';
import { parseMuxed } from './muxed.js';
import { sdk } from './stellar-sdk.js';

/** What a link or checkout asks for. */
export interface Payable {
  /** G… */
  destination: string;
  /** In canonical form. */
  memo: string;
  asset: Asset;
  networkPassphrase: string;
}

export type SignedTransaction = Transaction | FeeBumpTransaction;

export interface TransactionFault {
  message: string;
  code: string;
}

/** What is offered at most, in stroops. The network takes what it needs, and more only when it is crowded. */
const MAX_FEE = '10000';
const VALID_SECONDS = 300;
/** A wallet may have set the end anew. */
const LONGEST_VALID_SECONDS = 900;

/** @param payer G… @param sequence of the payer's newest transaction. @param amount decimal text. @returns base64 of the envelope, unsigned */
export function buildPayment(
  { destination, memo, asset, networkPassphrase }: Payable,
  { payer, sequence, amount }: { payer: string; sequence: string; amount: string },
  now: Date,
): string {
  const { Account, Asset, Memo, Operation, TransactionBuilder } = sdk();
  const validUntil = Math.floor(now.getTime() / 1000) + VALID_SECONDS;
  const paid = asset.issuer === null ? Asset.native() : new Asset(asset.code, asset.issuer);
  return new TransactionBuilder(new Account(payer, sequence), {
    fee: MAX_FEE,
    networkPassphrase,
    memo: Memo.text(memo),
    timebounds: { minTime: 0, maxTime: validUntil },
  })
    .addOperation(Operation.payment({ destination, asset: paid, amount }))
    .build()
    .toXDR();
}

/** Null for a text that is no transaction. */
export function parseTransaction(text: string, networkPassphrase: string): SignedTransaction | null {
  try {
    return sdk().TransactionBuilder.fromXDR(text, networkPassphrase);
  } catch {
    return null;
  }
}

/** Why it is not the one payment that is asked for; null when it is. The amount is the payer's affair: it is judged like any other payment's. */
export function faultOf(signed: SignedTransaction, payable: Payable, now: Date): TransactionFault | null {
  const fault = (message: string, code = 'not_allowed'): TransactionFault => ({ message, code });
  if ('innerTransaction' in signed) return fault('Send the payment itself, not a fee bump of it.');
  const [operation, ...others] = signed.operations;
  if (operation?.type !== 'payment' || others.length > 0) return fault('It must be one payment and nothing else.');
  const muxed = parseMuxed(operation.destination);
  if ((muxed?.account ?? operation.destination) !== payable.destination) {
    return fault('It does not pay this page’s wallet.');
  }
  const [named] = memosNamedBy({ memo: memoOf(signed), destinationMuxedId: muxed?.id ?? null });
  if (named !== payable.memo) return fault('It does not carry this page’s memo.');
  if (!sameAsset(assetOf(operation.asset), payable.asset))
    return fault('It pays another asset than the one asked for.');
  if (signed.signatures.length === 0) return fault('It is not signed.', 'required');
  const nowSeconds = now.getTime() / 1000;
  const validUntil = Number(signed.timeBounds?.maxTime ?? 0);
  if (validUntil === 0 || validUntil > nowSeconds + LONGEST_VALID_SECONDS) {
    return fault(`It must end within ${LONGEST_VALID_SECONDS / 60} minutes.`, 'too_big');
  }
  return validUntil < nowSeconds ? fault('It is no longer valid: begin anew.', 'too_small') : null;
}

const assetOf = (asset: StellarAsset): Asset =>
  asset.isNative() ? NATIVE : { code: asset.getCode(), issuer: asset.getIssuer() ?? null };

/** As a source of the ledger would show it. */
function memoOf({ memo }: Transaction): CreditMemo {
  const { type, value } = memo;
  if (type === 'none' || value === null) return { type: 'none', text: null };
  if (type === 'id') return { type, text: String(value) };
  // The SDK's bytes are no Buffer, whatever its types say: their `toString` knows no encodings.
  const bytes = Buffer.from(value as string);
  if (type !== 'text') return { type, text: bytes.toString('base64') };
  const text = bytes.toString('utf8');
  return { type, text, valid: Buffer.from(text).equals(bytes) };
}
