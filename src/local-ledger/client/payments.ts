/** Payments of all forms, by transaction or contract call. */
import { Account, Asset, Keypair, Memo, MuxedAccount, Operation, StrKey } from '@stellar/stellar-sdk/base';
import { assetFields } from '../asset.js';
import { type Credentials, madeUpContract } from '../contract-call.js';
import { CONTRACT_CALL, type Injection } from '../injection.js';
import { parseMuxedContract } from '../muxed-contract.js';
import { LedgerRefusedError } from '../refusal.js';
import { fromAmount, STROOPS_PER_UNIT, toAmount } from '../stroops.js';
import type { Submitted } from './access.js';
import type { Submitter } from './submitter.js';
import type { TestAccounts } from './test-accounts.js';

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
  /** Pays from this account, otherwise from a funded test account. */
  fromSecret?: string;
}

export interface ContractPayment {
  /** G…, C… or W… */
  to: string;
  from?: string;
  /** Decimal text. */
  amount: string;
  assetCode?: string;
  assetIssuer?: string | null;
  /** Muxed id of the destination, a decimal below 2^64. */
  muxedId?: string;
  /** Its authorization in newer protocols. */
  signedBy?: Credentials;
}

/** What a test account keeps for its fees and reserves. */
const PAYER_KEEPS = 100n * STROOPS_PER_UNIT;

/** Pays in a transaction of its own: from the account of `fromSecret`, otherwise from a test
 *  account that is funded first. */
export function createPay({ submit }: Submitter, accounts: TestAccounts, root: Keypair) {
  return async (request: PayRequest): Promise<Submitted> => {
    const { amount, assetIssuer = null, assetCode = 'XLM', fromSecret, fromMuxedId } = request;
    const asset = assetIssuer === null ? Asset.native() : new Asset(assetCode, assetIssuer);
    const memo = request.memoId === undefined ? request.memo : Memo.id(request.memoId);
    const destination = request.muxedId === undefined ? request.to : muxedAddress(request.to, request.muxedId);
    const paymentFrom = (payer: Keypair) => {
      const source = fromMuxedId === undefined ? undefined : muxedAddress(payer.publicKey(), fromMuxedId);
      return Operation.payment({ destination, asset, amount, source });
    };
    const giftFrom = (giver: Keypair, payer: Keypair) =>
      Operation.payment({ source: giver.publicKey(), destination: payer.publicKey(), asset, amount });
    if (fromSecret !== undefined) {
      const from = Keypair.fromSecret(fromSecret);
      return await submit({ from, operations: [paymentFrom(from)], memo });
    }
    const stroops = stroopsOf(amount);
    if (assetIssuer === null) {
      return await accounts.withPayer((payer, lumens) => {
        const isPoor = lumens < stroops + PAYER_KEEPS;
        const operations = isPoor ? [giftFrom(root, payer), paymentFrom(payer)] : [paymentFrom(payer)];
        return submit({ from: payer, operations, memo, signers: isPoor ? [root] : [] });
      });
    }
    const issuer = await accounts.knownIssuer(assetCode, assetIssuer);
    if (issuer === null) {
      throw new LedgerRefusedError(`no test account can pay ${assetCode} of ${assetIssuer}: it was not issued here`);
    }
    return await accounts.withPayer((payer) => {
      const operations = [Operation.changeTrust({ asset }), giftFrom(issuer, payer), paymentFrom(payer)];
      return submit({ from: payer, operations, memo, signers: [issuer] });
    });
  };
}

function stroopsOf(amount: string): bigint {
  const stroops = fromAmount(amount);
  if (stroops === null) throw new LedgerRefusedError(`${amount} is no amount`);
  return stroops;
}

/** The record of a paying contract call. @param source pays its fee */
export function contractPayment(request: ContractPayment, source: string): Injection {
  const { from = madeUpContract('wallet'), amount, assetCode = 'XLM', assetIssuer, signedBy } = request;
  // The asset's contract names a muxed contract separately from its id.
  const muxed = parseMuxedContract(request.to);
  const [to, muxedId] = muxed === null ? [request.to, request.muxedId] : [muxed.contract, muxed.id];
  const type = assetIssuer === from ? 'mint' : assetIssuer === to ? 'burn' : 'transfer';
  const asset = assetIssuer ? { code: assetCode, issuer: assetIssuer } : null;
  const change = {
    ...assetFields(asset),
    type,
    ...(type === 'mint' ? {} : { from }),
    ...(type === 'burn' ? {} : { to }),
    amount: toAmount(stroopsOf(amount)),
    ...(muxedId === undefined || type === 'burn' ? {} : { destination_muxed_id: muxedId }),
  };
  return {
    accounts: [from, to].filter(StrKey.isValidEd25519PublicKey),
    moves: true,
    ...(signedBy === undefined ? {} : { signedBy }),
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
