/** What the API does with wallets. */
import type { Contract } from '../../contracts/index.js';
import type { Network } from '../../contracts/networks.js';
import { walletFieldErrors } from '../../contracts/wallets.js';
import type { Clock } from '../clock.js';
import { ApiError, badRequest, conflict, invalid, notFound, rateLimited } from '../domain/api-error.js';
import type { NewId } from '../domain/ids.js';
import type { StatementRead, StatementRefusal } from '../domain/statement.js';
import { toAudit } from '../resources/audit.js';
import { toGap, toWallet } from '../resources/index.js';
import { toStatement } from '../resources/statement.js';
import type { ForAccount } from '../stores/index.js';
import type { WalletDoc } from '../stores/wallets.js';
import type { ServiceOf } from './caller.js';
import type { LedgerStamper } from './ledger-stamper.js';
import type { Quota } from './quota.js';
import type { ReadSync } from './wallet-sync.js';

/** A wallet as it begins: active, and nothing of it read yet. */
export const newWallet = (
  fields: Pick<WalletDoc, '_id' | 'accountId' | 'name' | 'address' | 'network' | 'windows' | 'createdAt'>,
): WalletDoc => ({
  ...fields,
  active: true,
  watchStarted: false,
  watching: true,
  readTo: null,
  gap: null,
  productCount: 0,
  hasPayments: false,
});

/** Reads what a wallet missed. @param horizonUrl in place of the configured sources */
export type MendGaps = (
  wallet: WalletDoc,
  horizonUrl: string | null,
) => Promise<{ mended: number; open: number } | keyof typeof MEND_REFUSALS>;

/** Reads what moved a wallet. @param from included. @param to not included; null for all */
export type ReadStatement = (
  wallet: WalletDoc,
  from: Date,
  to: Date | null,
) => Promise<StatementRead | StatementRefusal>;

const STATEMENT_REFUSALS = {
  no_histories: 'No Horizon is configured for this network, and Stellar RPC shows no histories of accounts.',
  not_kept: 'The Horizon that answers no longer has the ledgers since `from`: ask for a later time.',
  too_long: 'There are more than 10,000 movements since `from`: ask for a later time.',
} as const;

const MEND_REFUSALS = {
  no_source: 'No source has these ledgers: name a Horizon that keeps more of the history.',
  away: 'A source that may have these ledgers does not answer, serves another network, or cannot be understood: try again later, or name another one.',
  busy: 'The gaps of this wallet are being mended already.',
} as const;

/** Each watch window is kept in the wallet's document, which is read with every payment. */
const MAX_WINDOWS = 1000;

export function createWalletService(deps: {
  forAccount: ForAccount<'wallets' | 'gaps' | 'audits' | 'checkouts'>;
  readSync: ReadSync;
  stamper: LedgerStamper;
  networks: readonly Network[];
  clock: Clock;
  newId: NewId;
  quota: Quota;
  mendGaps: MendGaps;
  readStatement: ReadStatement;
  /** Plain http and private addresses are allowed as sources that a caller names. */
  allowPrivate: boolean;
  /** Counts a look at the ledger for an account. @returns the seconds to wait, 0 when it may look */
  ledgerLimit: (accountId: string) => number;
}): ServiceOf<Contract['wallets']> {
  const { forAccount, readSync, stamper, networks, clock, newId, quota } = deps;
  const { mendGaps, readStatement, allowPrivate, ledgerLimit } = deps;
  const show = async (wallet: WalletDoc) => toWallet(wallet, (await readSync([wallet])).get(wallet._id)!);

  return {
    async create({ accountId, reservedId }, { name, address, network }) {
      const { wallets } = forAccount(accountId);
      const [fault] = walletFieldErrors({ network }, { networks });
      if (fault) throw invalid(fault);
      const _id = reservedId?.('wallet') ?? newId('wallet');
      const made = reservedId && (await wallets.byId(_id));
      if (made) return show(made);
      const from = await stamper.stamp(network);
      const windows = [{ from, until: null }];
      const wallet = newWallet({ _id, accountId, name, address, network, windows, createdAt: clock.now() });
      await quota(accountId, async (session) => {
        if (!(await wallets.insert(wallet, session))) {
          throw conflict(`This address is registered on ${network} already.`);
        }
      });
      return show(wallet);
    },

    async list({ accountId }, request) {
      const { wallets } = forAccount(accountId);
      const { items, meta } = await wallets.list(request);
      const syncs = await readSync(items);
      return { items: items.map((wallet) => toWallet(wallet, syncs.get(wallet._id)!)), meta };
    },

    async get({ accountId }, { id }) {
      const { wallets } = forAccount(accountId);
      const wallet = await wallets.byId(id);
      if (!wallet) throw notFound('wallet');
      return show(wallet);
    },

    async update({ accountId }, { id, name, active }) {
      const { wallets, checkouts } = forAccount(accountId);
      const before = await wallets.byId(id);
      if (!before) throw notFound('wallet');
      if (active !== undefined && active !== before.active) {
        const stamp = await stamper.stamp(before.network);
        if (active && before.windows.length >= MAX_WINDOWS) {
          throw conflict(`This wallet was made active ${MAX_WINDOWS} times already, which is the most.`);
        }
        if (active) await wallets.activate(id, stamp);
        else {
          const refusing = await wallets.refuseCheckouts(id);
          const isWaitedFor = await checkouts.existsOfWallet(id, 'OPEN');
          const stopped = refusing && !isWaitedFor ? await wallets.deactivate(refusing, stamp) : null;
          // Null too when somebody else was quicker, or a checkout was made just now.
          if (!stopped && (await wallets.byId(id))?.active) {
            throw conflict('An OPEN checkout uses this wallet: wait for its end, or cancel it first.');
          }
        }
      }
      const after = name === undefined ? await wallets.byId(id) : await wallets.rename(id, name);
      if (!after) throw notFound('wallet');
      return show(after);
    },

    async gaps({ accountId }, { id, ...request }) {
      const { wallets, gaps } = forAccount(accountId);
      if (!(await wallets.byId(id))) throw notFound('wallet');
      const { items, meta } = await gaps.list(id, request);
      return { items: items.map(toGap), meta };
    },

    async mendGaps({ accountId }, { id, horizonUrl }) {
      const url = horizonUrl ?? null;
      if (url?.startsWith('http:') && !allowPrivate) {
        throw invalid({ path: 'horizonUrl', message: 'Must be an https URL.', code: 'invalid_format' });
      }
      const wallet = await forAccount(accountId).wallets.byId(id);
      if (!wallet) throw notFound('wallet');
      const waitSeconds = ledgerLimit(accountId);
      if (waitSeconds > 0) throw rateLimited(waitSeconds);
      const outcome = await mendGaps(wallet, url);
      if (typeof outcome === 'string') throw conflict(MEND_REFUSALS[outcome]);
      return { mended: outcome.mended, open: outcome.open };
    },

    async audits({ accountId }, { id, ...request }) {
      const { wallets, audits } = forAccount(accountId);
      if (!(await wallets.byId(id))) throw notFound('wallet');
      const { items, meta } = await audits.list(id, request);
      return { items: items.map(toAudit), meta };
    },

    async startAudit({ accountId, reservedId }, { id }) {
      const { wallets, audits } = forAccount(accountId);
      const wallet = await wallets.byId(id);
      if (!wallet) throw notFound('wallet');
      const _id = reservedId?.('aud') ?? newId('aud');
      const audit = await audits.start({ _id, walletId: id, network: wallet.network, createdAt: clock.now() });
      if (!audit) throw conflict('An audit of this wallet is running already.');
      return toAudit(audit);
    },

    async statement({ accountId }, { id, from, to }) {
      const wallet = await forAccount(accountId).wallets.byId(id);
      if (!wallet) throw notFound('wallet');
      const begin = from ? new Date(from) : wallet.createdAt;
      const end = to ? new Date(to) : null;
      if (end && end < begin) throw badRequest('`to` must not be before `from`.');
      const waitSeconds = ledgerLimit(accountId);
      if (waitSeconds > 0) throw rateLimited(waitSeconds);
      const rows = await readStatement(wallet, begin, end);
      if (rows === 'away') throw new ApiError('unavailable', 'The ledger cannot be asked now: try again later.');
      if (typeof rows === 'string') throw conflict(STATEMENT_REFUSALS[rows]);
      return toStatement(id, begin, end ?? clock.now(), rows);
    },

    async delete({ accountId }, { id }) {
      const { wallets, checkouts, audits } = forAccount(accountId);
      const refusing = await wallets.refuseCheckouts(id);
      const isUsed = await checkouts.existsOfWallet(id);
      if (refusing && !isUsed && (await wallets.removeUnused(refusing))) {
        await audits.removeOf(id);
        return { id, deleted: true };
      }
      const wallet = await wallets.byId(id);
      if (!wallet) throw notFound('wallet');
      if (wallet.productCount === 0 && !wallet.hasPayments) {
        throw conflict('A checkout uses this wallet: make the wallet inactive instead.');
      }
      throw conflict(
        wallet.productCount > 0
          ? 'A product uses this wallet: delete the product or give it another wallet first.'
          : 'This wallet has payments: make it inactive instead.',
      );
    },
  };
}
