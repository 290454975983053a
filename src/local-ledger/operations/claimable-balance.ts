/** create_claimable_balance and claim_claimable_balance: money outside of any account that waits
 *  for one of its claimants. */
import { createHash } from 'node:crypto';
import { Keypair, StrKey, xdr } from '@stellar/stellar-sdk/base';
import { assetFields, canonicalAsset, fromXdrAsset, type LedgerAsset } from '../asset.js';
import {
  accountKey,
  availableBalance,
  type ClaimableBalanceEntry,
  claimableBalanceKey,
  LINE_CLAWBACK,
  trustlineKey,
} from '../entries.js';
import { creditTo, debitFrom } from '../offers/holdings.js';
import { partyFields, toAddress } from '../party.js';
import { BASE_RESERVE, toAmount } from '../stroops.js';
import { holds, isSoundPredicate, predicateRecord, toAbsolute } from './claim-predicate.js';
import { type Context, effects, inner, type OperationKind, valid } from './kind.js';
import { release } from './sponsorship.js';

const { CreateClaimableBalanceResult: Create, ClaimClaimableBalanceResult: Claim } = xdr;
const createResult = (of: xdr.CreateClaimableBalanceResult) => inner(xdr.OperationResultTr.createClaimableBalance(of));
const claimResult = (of: xdr.ClaimClaimableBalanceResult) => inner(xdr.OperationResultTr.claimClaimableBalance(of));

const assetOf = (body: xdr.CreateClaimableBalanceOp): LedgerAsset => valid(fromXdrAsset(body.asset));

const destinationOf = (claimant: xdr.Claimant): string => toAddress(claimant.v0.destination);

/** The id as Horizon writes it: XDR in hexadecimal. */
const balanceIdOf = (body: xdr.ClaimClaimableBalanceOp): string => body.balanceId.toXdr('hex');

/** The B address of a claimable balance. */
export const claimableBalanceAddress = (id: string): string =>
  // A strkey has one byte for the type, XDR four.
  StrKey.encodeClaimableBalance(Buffer.from(id.slice(6), 'hex'));

function newBalanceId({ origin }: Context): string {
  const preimage = xdr.HashIdPreimage.envelopeTypeOpId(
    new xdr.HashIdPreimageOperationId({
      sourceAccount: Keypair.fromPublicKey(origin.source).xdrAccountId(),
      seqNum: origin.sequence,
      opNum: origin.index,
    }),
  );
  const hash = createHash('sha256').update(preimage.toXdr()).digest();
  return xdr.ClaimableBalanceId.claimableBalanceIdTypeV0(hash).toXdr('hex');
}

const withdrawals = {
  srcNoTrust: Create.createClaimableBalanceNoTrust,
  srcNotAuthorized: Create.createClaimableBalanceNotAuthorized,
  underfunded: Create.createClaimableBalanceUnderfunded,
};

/** Takes the amount from its owner, or returns the reason for not doing so. Also returns whether
 *  the asset may be clawed back. */
function withdraw(
  { view }: Context,
  from: string,
  asset: LedgerAsset,
  amount: bigint,
): { isClawbackEnabled: boolean } | xdr.CreateClaimableBalanceResult {
  const failure = debitFrom(view, from, asset, amount);
  if (failure !== null) return withdrawals[failure]();
  if (asset === null || asset.issuer === from) return { isClawbackEnabled: false };
  return { isClawbackEnabled: (view.trustline(from, asset)!.flags & LINE_CLAWBACK) !== 0 };
}

/** A claimable balance has no owner, so a sponsor always pays its reserve. Null if the
 *  sponsor cannot. */
function sponsorClaimants({ view, sponsorships }: Context, source: string, claimants: number): string | null {
  const sponsor = view.account(sponsorships.get(source) ?? source)!;
  if (availableBalance(sponsor) < BigInt(claimants) * BASE_RESERVE) return null;
  view.update(sponsor, (copy) => {
    copy.sponsoring = (copy.sponsoring ?? 0) + claimants;
  });
  return sponsor.owner;
}

export const createClaimableBalance: OperationKind<xdr.CreateClaimableBalanceOp> = {
  type: 'create_claimable_balance',
  typeIndex: 14,
  isPayment: false,
  level: () => 'medium',
  keys(body, source) {
    const asset = assetOf(body);
    if (asset === null) return [];
    // A claim may follow in the same ledger, when the balance is not in the store yet.
    return [source, ...body.claimants.map(destinationOf)].map((owner) => trustlineKey(owner, asset));
  },
  participants: (body) => body.claimants.map(destinationOf),
  check(body) {
    const claimants = body.claimants;
    const isSound =
      body.amount > 0n &&
      fromXdrAsset(body.asset) !== undefined &&
      claimants.length > 0 &&
      new Set(claimants.map(destinationOf)).size === claimants.length &&
      claimants.every((claimant) => isSoundPredicate(claimant.v0.predicate));
    return isSound ? null : createResult(Create.createClaimableBalanceMalformed());
  },
  apply(body, source, context) {
    const { view, ledger, effects: done, movements } = context;
    const [asset, amount] = [assetOf(body), body.amount];
    const withdrawn = withdraw(context, source, asset, amount);
    if (!('isClawbackEnabled' in withdrawn)) return createResult(withdrawn);
    const sponsor = sponsorClaimants(context, source, body.claimants.length);
    if (sponsor === null) return createResult(Create.createClaimableBalanceLowReserve());
    const id = newBalanceId(context);
    const claimants = body.claimants.map((claimant) => ({
      destination: destinationOf(claimant),
      predicate: toAbsolute(claimant.v0.predicate, ledger.closeTime).toXdr('base64'),
    }));
    view.put({
      _id: claimableBalanceKey(id),
      kind: 'claimable_balance',
      owner: id,
      asset,
      amount,
      claimants,
      isClawbackEnabled: withdrawn.isClawbackEnabled,
      sponsor,
      modified: { ledger: ledger.sequence, time: ledger.closeTime },
    });
    const about = { balance_id: id, amount: toAmount(amount), asset: canonicalAsset(asset) };
    done.push(
      { type: 'claimable_balance_created', type_i: 50, account: source, ...about },
      ...claimants.map(({ destination, predicate }) => ({
        type: 'claimable_balance_claimant_created',
        type_i: 51,
        account: destination,
        ...about,
        predicate: predicateRecord(xdr.ClaimPredicate.fromXdr(predicate, 'base64')),
      })),
      effects.debited(source, assetFields(asset), toAmount(amount)),
    );
    const to = claimableBalanceAddress(id);
    movements.push({ kind: 'transfer', from: source, to, toMuxedId: null, asset, amount, showsMemo: false });
    return createResult(Create.createClaimableBalanceSuccess(xdr.ClaimableBalanceId.fromXdr(id, 'hex')));
  },
  details: (body, source) => ({
    sponsor: source.id,
    asset: canonicalAsset(assetOf(body)),
    amount: toAmount(body.amount),
    claimants: body.claimants.map((claimant) => ({
      destination: destinationOf(claimant),
      predicate: predicateRecord(claimant.v0.predicate),
    })),
  }),
};

export const claimClaimableBalance: OperationKind<xdr.ClaimClaimableBalanceOp> = {
  type: 'claim_claimable_balance',
  typeIndex: 15,
  isPayment: false,
  level: () => 'medium',
  // The claimant's trustline is loaded with the balance, which alone knows its asset.
  keys: (body) => [claimableBalanceKey(balanceIdOf(body))],
  participants: () => [],
  check: () => null,
  apply(body, source, context) {
    const { view, ledger, effects: done, movements } = context;
    const id = balanceIdOf(body);
    const balance = view.claimableBalance(id);
    if (balance === null) return claimResult(Claim.claimClaimableBalanceDoesNotExist());
    const claimant = balance.claimants.find(({ destination }) => destination === source);
    if (!claimant || !holds(xdr.ClaimPredicate.fromXdr(claimant.predicate, 'base64'), ledger.closeTime)) {
      return claimResult(Claim.claimClaimableBalanceCannotClaim());
    }
    const failure = deposit(context, source, balance);
    if (failure !== null) return claimResult(failure);
    view.remove(balance._id);
    release(view, balance.sponsor, balance.claimants.length);
    const { asset, amount } = balance;
    done.push(
      {
        type: 'claimable_balance_claimed',
        type_i: 52,
        account: source,
        balance_id: id,
        amount: toAmount(amount),
        asset: canonicalAsset(asset),
      },
      effects.credited(source, assetFields(asset), toAmount(amount)),
    );
    const from = claimableBalanceAddress(id);
    movements.push({ kind: 'transfer', from, to: source, toMuxedId: null, asset, amount, showsMemo: true });
    return claimResult(Claim.claimClaimableBalanceSuccess());
  },
  details: (body, source) => ({ balance_id: balanceIdOf(body), ...partyFields('claimant', source) }),
};

const deposits = {
  noTrust: Claim.claimClaimableBalanceNoTrust,
  notAuthorized: Claim.claimClaimableBalanceNotAuthorized,
  lineFull: Claim.claimClaimableBalanceLineFull,
};

function deposit(
  { view }: Context,
  to: string,
  { asset, amount }: Readonly<ClaimableBalanceEntry>,
): xdr.ClaimClaimableBalanceResult | null {
  const failure = creditTo(view, to, asset, amount);
  return failure && deposits[failure]();
}

/** Entries that a claim may touch, besides the balance itself. */
export const keysOfClaim = ({ asset, claimants, sponsor }: Readonly<ClaimableBalanceEntry>): string[] => [
  ...(sponsor ? [accountKey(sponsor)] : []),
  ...(asset === null ? [] : claimants.map(({ destination }) => trustlineKey(destination, asset))),
];
