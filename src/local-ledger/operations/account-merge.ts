/** account_merge: the source account ends, and its lumens go to the destination. */
import { xdr } from '@stellar/stellar-sdk/base';
import { AUTH_IMMUTABLE, accountKey, roomOf } from '../entries.js';
import { partyFields, toParty } from '../party.js';
import { toAmount } from '../stroops.js';
import { ledgerStart } from '../toid.js';
import { effects, inner, type OperationKind } from './kind.js';
import { release } from './sponsorship.js';

const { AccountMergeResult } = xdr;
const result = (of: xdr.AccountMergeResult) => inner(xdr.OperationResultTr.accountMerge(of));

export const accountMerge: OperationKind<xdr.MuxedAccount> = {
  type: 'account_merge',
  typeIndex: 8,
  isPayment: true,
  level: () => 'high',
  keys: (body) => [accountKey(toParty(body).id)],
  participants: (body) => [toParty(body).id],
  counterparty: toParty,
  check: (body, source) => (toParty(body).id === source ? result(AccountMergeResult.accountMergeMalformed()) : null),
  apply(body, source, { view, ledger, effects: done, movements, sponsorships }) {
    const heir = view.account(toParty(body).id);
    if (heir === null) return result(AccountMergeResult.accountMergeNoAccount());
    const account = view.account(source)!;
    if ((account.flags & AUTH_IMMUTABLE) !== 0) return result(AccountMergeResult.accountMergeImmutableSet());
    if (account.subentries !== account.signers.length) {
      return result(AccountMergeResult.accountMergeHasSubEntries());
    }
    // Recreated in this ledger, the account would start with the same sequence number, and its
    // transactions could be replayed.
    if (account.sequence >= ledgerStart(ledger.sequence)) {
      return result(AccountMergeResult.accountMergeSeqnumTooFar());
    }
    const isSponsor = (account.sponsoring ?? 0) > 0 || [...sponsorships.values()].includes(source);
    if (isSponsor) return result(AccountMergeResult.accountMergeIsSponsor());
    const moved = account.balance;
    if (roomOf(heir) < moved) return result(AccountMergeResult.accountMergeDestFull());
    view.update(heir, (copy) => {
      copy.balance += moved;
    });
    view.remove(account._id);
    release(view, account.sponsor, 2);
    for (const { sponsor } of account.signers) release(view, sponsor, 1);
    const native = { asset_type: 'native' };
    done.push(
      effects.debited(source, native, toAmount(moved)),
      effects.credited(heir.owner, native, toAmount(moved)),
      effects.accountRemoved(source),
    );
    movements.push({
      kind: 'transfer',
      from: source,
      to: heir.owner,
      toMuxedId: toParty(body).muxed?.id ?? null,
      asset: null,
      amount: moved,
      showsMemo: true,
    });
    return result(AccountMergeResult.accountMergeSuccess(moved));
  },
  details: (body, source) => ({ ...partyFields('account', source), ...partyFields('into', toParty(body)) }),
};
