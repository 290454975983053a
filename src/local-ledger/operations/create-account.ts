/** create_account: a new account, paid for by the operation's source. */
import { xdr } from '@stellar/stellar-sdk/base';
import { type AccountEntry, accountKey, availableBalance } from '../entries.js';
import { partyFields, toAddress } from '../party.js';
import { BASE_RESERVE, toAmount } from '../stroops.js';
import { ledgerStart } from '../toid.js';
import { effects, inner, type OperationKind } from './kind.js';
import { reserve } from './sponsorship.js';

/** An account itself counts as two entries. */
const ACCOUNT_RESERVES = 2;

const { CreateAccountResult } = xdr;
const result = (of: xdr.CreateAccountResult) => inner(xdr.OperationResultTr.createAccount(of));

export const createAccount: OperationKind<xdr.CreateAccountOp> = {
  type: 'create_account',
  typeIndex: 0,
  isPayment: true,
  level: () => 'medium',
  keys: (body) => [accountKey(toAddress(body.destination))],
  participants: (body) => [toAddress(body.destination)],
  check(body, source) {
    const isSound = body.startingBalance >= 0n && toAddress(body.destination) !== source;
    return isSound ? null : result(CreateAccountResult.createAccountMalformed());
  },
  apply(body, source, context) {
    const { view, ledger, effects: done, movements, sponsorships } = context;
    const id = toAddress(body.destination);
    const amount = body.startingBalance;
    if (view.account(id) !== null) return result(CreateAccountResult.createAccountAlreadyExist());
    const isSponsored = sponsorships.has(id);
    const sponsor = isSponsored ? reserve(context, id, ACCOUNT_RESERVES) : null;
    if (sponsor === undefined || (!isSponsored && amount < BigInt(ACCOUNT_RESERVES) * BASE_RESERVE)) {
      return result(CreateAccountResult.createAccountLowReserve());
    }
    const payer = view.account(source)!;
    if (availableBalance(payer) < amount) return result(CreateAccountResult.createAccountUnderfunded());
    view.update(payer, (copy) => {
      copy.balance -= amount;
    });
    view.put({ ...newAccount(id, amount, ledger), ...(sponsor && { sponsor, sponsored: ACCOUNT_RESERVES }) });
    done.push(
      effects.accountCreated(id, toAmount(amount)),
      effects.debited(source, { asset_type: 'native' }, toAmount(amount)),
      {
        type: 'signer_created',
        type_i: 10,
        account: id,
        weight: 1,
        public_key: id,
        key: '',
      },
    );
    movements.push({ kind: 'transfer', from: source, to: id, toMuxedId: null, asset: null, amount, showsMemo: true });
    return result(CreateAccountResult.createAccountSuccess());
  },
  details: (body, source) => ({
    starting_balance: toAmount(body.startingBalance),
    ...partyFields('funder', source),
    account: toAddress(body.destination),
  }),
};

export function newAccount(id: string, balance: bigint, ledger: { sequence: number; closeTime: number }): AccountEntry {
  return {
    _id: accountKey(id),
    kind: 'account',
    owner: id,
    balance,
    sequence: ledgerStart(ledger.sequence),
    sequenceLedger: null,
    sequenceTime: null,
    subentries: 0,
    flags: 0,
    homeDomain: '',
    inflationDestination: null,
    thresholds: { master: 1, low: 0, medium: 0, high: 0 },
    signers: [],
    modified: { ledger: ledger.sequence, time: ledger.closeTime },
  };
}
