/** Wallets in the API. */
import type { Contract } from '../../contracts/index.js';
import { KNOWN_ASSETS, knownAsset } from '../../contracts/known-assets.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { Commit, Quota } from '../accounts/index.js';
import type { LedgerStamper, ReadWalletAssets } from '../asking/index.js';
import { type StatementRead, type StatementRefusal, toAudit, toStatement } from '../audit/index.js';
import { formatAmount } from '../domain/amount.js';
import { type Asset, assetName, assetOf } from '../domain/asset.js';
import { badRequest, conflict, notFound, unavailable } from '../kit/api-error.js';
import { calendarNamed, momentIn } from '../kit/calendar.js';
import type { ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import type { NewId } from '../kit/ids.js';
import { pageOf } from '../kit/paging.js';
import type { ForAccount } from '../stores.js';
import type { GapDoc } from './gap-store.js';
import type { WalletDoc } from './wallet-store.js';
import type { ReadSync } from './watched-wallets.js';

// Wallets as the API and the events show them.

export type Wallet = OutputOf<Contract['wallets']['get']>;
type Gap = OutputOf<Contract['wallets']['gaps']>['items'][number];

const toWallet = (wallet: WalletDoc, sync: Wallet['sync']): Wallet => ({
  ...toWalletSummary(wallet),
  active: wallet.active,
  sync,
  createdAt: wallet.createdAt.toISOString(),
});

const toGap = ({ fromLedger, toLedger, at, mendedAt }: GapDoc): Gap => ({
  fromLedger,
  toLedger,
  at: at.toISOString(),
  mendedAt: mendedAt?.toISOString() ?? null,
});

/** Lumens first, then by code. */
const toWalletAssets = (
  held: readonly { asset: Asset; stroops: bigint; authorized: boolean }[],
): OutputOf<Contract['wallets']['assets']> =>
  held
    .toSorted((a, b) => orderOf(a.asset).localeCompare(orderOf(b.asset), 'en'))
    .map(({ asset: { code, issuer }, stroops, authorized }) => {
      const known = knownAsset(code, issuer);
      return {
        ...{ assetCode: code, assetIssuer: issuer, balance: formatAmount(stroops), authorized },
        known: known && { name: known.name, domain: known.domain },
      };
    });

const orderOf = (asset: Asset) => (asset.issuer === null ? '' : assetName(asset));

export const toWalletSummary = ({
  _id,
  name,
  address,
  network,
}: WalletDoc): OutputOf<Contract['products']['get']>['wallet'] => ({
  id: _id,
  name,
  address,
  network,
});

/** A new wallet: active and unread. */
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

/** Reads what a wallet missed. @param horizonUrl replaces the configured sources. @param onBegin
 *  called before anything is recorded */
export type MendGaps = (
  wallet: WalletDoc,
  horizonUrl: string | null,
  onBegin: () => Promise<void>,
) => Promise<{ mended: number; open: number } | keyof typeof MEND_REFUSALS>;

/** Reads a wallet's movements. @param from inclusive. @param to exclusive; null for all */
type ReadStatement = (wallet: WalletDoc, from: Date, to: Date | null) => Promise<StatementRead | StatementRefusal>;

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

/** Bounds the size of the wallet's document, which is read with every payment. */
const MAX_WINDOWS = 1000;

type Service = ServiceOf<Contract['wallets']>;

interface WalletServiceDeps {
  forAccount: ForAccount<'wallets' | 'gaps' | 'audits' | 'checkouts' | 'products'>;
  readSync: ReadSync;
  stamper: LedgerStamper;
  clock: Clock;
  newId: NewId;
  commit: Commit;
  quota: Quota;
  mendGaps: MendGaps;
  readStatement: ReadStatement;
  readAssets: ReadWalletAssets;
}

export function createWalletService(deps: WalletServiceDeps): Service {
  return {
    create: create(deps),
    list: list(deps),
    get: get(deps),
    assets: assets(deps),
    update: update(deps),
    gaps: gaps(deps),
    mendGaps: mendGaps(deps),
    audits: audits(deps),
    startAudit: startAudit(deps),
    statement: statement(deps),
    delete: remove(deps),
  };
}

const show = async ({ readSync }: WalletServiceDeps, wallet: WalletDoc) =>
  toWallet(wallet, (await readSync([wallet])).get(wallet._id)!);

const create =
  (deps: WalletServiceDeps): Service['create'] =>
  async (caller, { name, address, network }) => {
    const { forAccount, newId, stamper, clock, quota } = deps;
    const { accountId, reservedId } = caller;
    const { wallets } = forAccount(accountId);
    const _id = reservedId?.('wallet') ?? newId('wallet');
    const made = reservedId && (await wallets.byId(_id));
    if (made) return show(deps, made);
    const from = await stamper.stamp(network);
    const windows = [{ from, until: null }];
    const wallet = newWallet({ _id, accountId, name, address, network, windows, createdAt: clock.now() });
    await quota({ caller, subjectId: _id }, async (session) => {
      if (!(await wallets.insert(wallet, session))) {
        throw conflict(`This address is registered on ${network} already.`);
      }
    });
    return show(deps, wallet);
  };

const list =
  ({ forAccount, readSync }: WalletServiceDeps): Service['list'] =>
  async (caller, { search, ...request }) => {
    const { wallets } = forAccount(caller.accountId);
    const { items, meta } = await wallets.list({ search, ...pageOf(caller, request) });
    const syncs = await readSync(items);
    return { items: items.map((wallet) => toWallet(wallet, syncs.get(wallet._id)!)), meta };
  };

const get =
  (deps: WalletServiceDeps): Service['get'] =>
  async ({ accountId }, { id }) => {
    const { wallets } = deps.forAccount(accountId);
    const wallet = await wallets.byId(id);
    if (!wallet) throw notFound('wallet');
    return show(deps, wallet);
  };

const assets =
  ({ forAccount, readAssets }: WalletServiceDeps): Service['assets'] =>
  async ({ accountId }, { id }) => {
    const { wallets, products } = forAccount(accountId);
    const wallet = await wallets.byId(id);
    if (!wallet) throw notFound('wallet');
    const known = KNOWN_ASSETS.filter(({ network }) => network === wallet.network);
    const likely = [...known, ...(await products.assetsOfWallet(id))].map(assetOf).filter(({ issuer }) => issuer);
    return toWalletAssets(await readAssets(wallet, likely));
  };

const update =
  (deps: WalletServiceDeps): Service['update'] =>
  async (caller, { id, name, active }) => {
    const { forAccount, stamper, commit } = deps;
    const { wallets, checkouts } = forAccount(caller.accountId);
    const before = await wallets.byId(id);
    if (!before) throw notFound('wallet');
    const isSwitched = active !== undefined && active !== before.active;
    const stamp = isSwitched ? await stamper.stamp(before.network) : null;
    if (isSwitched && active && before.windows.length >= MAX_WINDOWS) {
      throw conflict(`This wallet was made active ${MAX_WINDOWS} times already, the maximum.`);
    }
    const after = await commit({ caller, subjectId: id }, async (session) => {
      if (stamp && active) await wallets.activate(id, stamp, session);
      if (stamp && !active) {
        if (await checkouts.existsOfWallet(id, session, 'OPEN')) {
          throw conflict('An OPEN checkout uses this wallet: wait for its end, or cancel it first.');
        }
        await wallets.deactivate(id, stamp, session);
      }
      return name === undefined ? wallets.byId(id, session) : wallets.rename(id, name, session);
    });
    if (!after) throw notFound('wallet');
    return show(deps, after);
  };

const gaps =
  ({ forAccount }: WalletServiceDeps): Service['gaps'] =>
  async (caller, { id, ...request }) => {
    const { wallets, gaps } = forAccount(caller.accountId);
    if (!(await wallets.byId(id))) throw notFound('wallet');
    const { items, meta } = await gaps.list(id, pageOf(caller, request));
    return { items: items.map(toGap), meta };
  };

const mendGaps =
  ({ forAccount, commit, mendGaps }: WalletServiceDeps): Service['mendGaps'] =>
  async (caller, { id, horizonUrl }) => {
    const wallet = await forAccount(caller.accountId).wallets.byId(id);
    if (!wallet) throw notFound('wallet');
    // Mending records payments bit by bit: record the activity before the first.
    const tell = () => commit({ caller, subjectId: id }, async () => undefined);
    const outcome = await mendGaps(wallet, horizonUrl ?? null, tell);
    if (typeof outcome === 'string') throw conflict(MEND_REFUSALS[outcome]);
    return { mended: outcome.mended, open: outcome.open };
  };

const audits =
  ({ forAccount }: WalletServiceDeps): Service['audits'] =>
  async (caller, { id, ...request }) => {
    const { wallets, audits } = forAccount(caller.accountId);
    if (!(await wallets.byId(id))) throw notFound('wallet');
    const { items, meta } = await audits.list(id, pageOf(caller, request));
    return { items: items.map(toAudit), meta };
  };

const startAudit =
  ({ forAccount, newId, clock, commit }: WalletServiceDeps): Service['startAudit'] =>
  async (caller, { id }) => {
    const { accountId, reservedId } = caller;
    const { wallets, audits } = forAccount(accountId);
    const wallet = await wallets.byId(id);
    if (!wallet) throw notFound('wallet');
    const _id = reservedId?.('aud') ?? newId('aud');
    const made = reservedId && (await audits.byId(_id));
    if (made) return toAudit(made);
    const asked = { _id, walletId: id, network: wallet.network, createdAt: clock.now(), isAskedFor: true } as const;
    await commit({ caller, subjectId: id }, async (session) => {
      if (!(await audits.start(asked, session))) throw conflict('An audit of this wallet is running already.');
    });
    return toAudit((await audits.byId(_id))!);
  };

const statement =
  ({ forAccount, clock, readStatement }: WalletServiceDeps): Service['statement'] =>
  async ({ accountId }, { id, from, to, timeZone }) => {
    const calendar = calendarNamed('timeZone', timeZone);
    const wallet = await forAccount(accountId).wallets.byId(id);
    if (!wallet) throw notFound('wallet');
    const begin = from ? momentIn(calendar, from) : wallet.createdAt;
    const end = to ? momentIn(calendar, to) : null;
    if (begin > clock.now()) throw badRequest('`from` must not be after now.');
    if (end && end < begin) throw badRequest('`to` must not be before `from`.');
    // Ledgers close on whole seconds: one that closes after the wallet's creation may carry the
    // same second.
    const first = from ? begin : new Date(Math.floor(begin.getTime() / 1000) * 1000);
    const rows = await readStatement(wallet, first, end);
    if (rows === 'away') throw unavailable('The ledger cannot be reached now: try again later.');
    if (typeof rows === 'string') throw conflict(STATEMENT_REFUSALS[rows]);
    return toStatement(id, begin, end ?? clock.now(), rows);
  };

const remove =
  ({ forAccount, commit }: WalletServiceDeps): Service['delete'] =>
  async (caller, { id }) => {
    const { wallets, checkouts, audits } = forAccount(caller.accountId);
    const isRemoved = await commit({ caller, subjectId: id }, async (session) => {
      if (await checkouts.existsOfWallet(id, session)) return false;
      if (!(await wallets.removeUnused(id, session))) return false;
      await audits.removeOf(id, session);
      return true;
    });
    if (isRemoved) return { id, deleted: true };
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
  };
