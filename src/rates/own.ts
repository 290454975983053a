/** An account's own rates: in the API and in the database. */
import mongoose from 'mongoose';
import type { Contract } from '../../contracts/index.js';
import type { Network } from '../../contracts/networks.js';
import type { Commit } from '../accounts/index.js';
import type { LedgerStamper } from '../asking/index.js';
import { parseAmount } from '../domain/amount.js';
import { formatRate, MAX_PAIRS_PER_ACCOUNT, type Pair, pairKey, parseRate } from '../domain/rate.js';
import type { Span } from '../domain/shown-rates.js';
import { beginAfter, type LedgerStamp } from '../domain/terms.js';
import { conflict, notFound, rateLimited } from '../kit/api-error.js';
import type { Caller, ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, nullable, openCollection, shape, text } from '../kit/collection.js';
import { removeSome, type Session } from '../kit/database.js';
import { heldWithin, NEWEST_FIRST } from '../kit/held.js';
import { createSharedRead } from '../kit/tick-loader.js';
import { noQuote } from '../selling/index.js';
import type { ForAccount } from '../stores.js';
import { quoteOf, type RateBook } from './book.js';
import type { NeedRate } from './sampler.js';
import type { RateNeeds } from './take.js';

// Rates that accounts set themselves. They are only ever added: one that ends another says so,
// because payments are judged by what held before.

const OWN_RATES = define(
  'ownRates',
  {
    _id: String,
    accountId: String,
    /** Key of the pair. */
    pair: String,
    currency: String,
    assetCode: String,
    assetIssuer: nullable(String),
    network: text<Network>(),
    /** Canonical decimal text; null ends the one before. */
    rate: nullable(String),
    /** By the clock of the process. */
    at: Date,
    /** Since when it is shown, as the ledger sees it. */
    from: shape<LedgerStamp>(),
    /** Null without an end. */
    until: nullable(Date),
  },
  [{ key: { accountId: 1, pair: 1, 'from.at': 1, _id: 1 } }],
);

export interface OwnRateDoc extends DocOf<typeof OWN_RATES> {}

export type OwnRateStore = ReturnType<typeof createOwnRateStore>['system'];
export function createOwnRateStore(connection: mongoose.Connection) {
  const collection = openCollection<OwnRateDoc>(connection, OWN_RATES);
  const read = createSharedRead(
    ({ accountId, pair }) => `${accountId} ${pair}`,
    ({ accountId, pair }: Pick<OwnRateDoc, 'accountId' | 'pair'>) =>
      collection.findOne({ accountId, pair }, { sort: NEWEST_FIRST }),
  );
  /** With a session as it is in its transaction. */
  const newest = (accountId: string, pair: string, session?: Session) =>
    session ? collection.findOne({ accountId, pair }, { session, sort: NEWEST_FIRST }) : read({ accountId, pair });
  return {
    forAccount: (accountId: string) => ({
      /** Removes what ended so long ago that no payment is judged by it any more. @param keptSince
       *  what held then stays */
      async add(rate: Omit<OwnRateDoc, '_id' | 'accountId'>, keptSince: Date, session?: Session): Promise<void> {
        const _id = new mongoose.Types.ObjectId().toString();
        await collection.insertOne({ ...rate, _id, accountId }, { session });
        const { pair } = rate;
        const held = { accountId, pair, 'from.at': { $lte: keptSince } };
        const oldest = await collection.findOne(held, { session, sort: NEWEST_FIRST });
        if (!oldest) return;
        // Some each time: there may be very many after a long pause, and each addition adds
        // but one.
        const ended = { accountId, pair, 'from.at': { $lt: oldest.from.at } };
        await removeSome(collection, ended, session, (ids) =>
          collection.deleteMany({ _id: { $in: [...ids] }, accountId }, { session }),
        );
      },
      /** Counts no further than `most`. */
      countSince: (pair: string, since: Date, most: number) =>
        collection.countDocuments({ accountId, pair, 'from.at': { $gt: since } }, { limit: most }),
      countPairs: async () => (await collection.distinct('pair', { accountId })).length,
      newest: (pair: string, session?: Session) => newest(accountId, pair, session),
      /** The newest of each pair, of which there are few; each may have a long history. */
      newestOfAll: async (): Promise<OwnRateDoc[]> => {
        const pairs = await collection.distinct('pair', { accountId });
        const found = await Promise.all(pairs.sort().map((pair) => newest(accountId, pair)));
        return found.flatMap((rate) => rate ?? []);
      },
    }),

    system: {
      newest: (accountId: string, pair: string) => newest(accountId, pair),
      /** Rates that held at some time of the span, oldest first. */
      held: ({ accountId, pair }: Pick<OwnRateDoc, 'accountId' | 'pair'>, span: Span, session?: Session) =>
        heldWithin(collection, { accountId, pair }, span, session),
    },
  };
}

const HOUR_MS = 3_600_000;
/** Changes of one pair. */
const MAX_OWN_CHANGES_PER_HOUR = 1000;
const RETRY_SECONDS = 60;
/** A checkout lives for 90 days. */
const OWN_RATES_KEPT_MS = 100 * 24 * HOUR_MS;

type GivenPair = Pick<Pair, 'currency' | 'network'> & { assetCode: string; assetIssuer?: string | null | undefined };

const pairOf = ({ currency, assetCode, assetIssuer = null, network }: GivenPair): Pair => ({
  currency,
  asset: { code: assetCode, issuer: assetIssuer },
  network,
});

type Service = ServiceOf<Contract['rates']>;

interface RateServiceDeps {
  forAccount: ForAccount<'account' | 'ownRates' | 'products' | 'checkouts' | 'wallets'>;
  commit: Commit;
  rateNeeds: Pick<RateNeeds, 'pairsOfBooks'>;
  rateBook: Pick<RateBook, 'current'>;
  need: NeedRate;
  stamper: LedgerStamper;
  clock: Clock;
}

export function createRateService(deps: RateServiceDeps): Service {
  return {
    list: list(deps),
    set: set(deps),
    delete: remove(deps),
    quote: quote(deps),
  };
}

async function show({ rateBook }: RateServiceDeps, accountId: string, pair: Pair) {
  const current = await rateBook.current(accountId, pair);
  return {
    currency: pair.currency,
    assetCode: pair.asset.code,
    assetIssuer: pair.asset.issuer,
    network: pair.network,
    rate: current && formatRate(current.rate),
    source: current?.source ?? null,
    at: current?.at.toISOString() ?? null,
    stale: current?.stale ?? true,
  };
}

/** Pairs of its products and open checkouts, and those of its books. */
async function pairsInUse({ forAccount, rateNeeds }: RateServiceDeps, accountId: string): Promise<Pair[]> {
  const { account, products, checkouts, wallets } = forAccount(accountId);
  const books = (await account.get())?.booksCurrency;
  const priced = [...(await products.priced()), ...(await checkouts.priced())];
  const paidTo = await wallets.byIds([...new Set(priced.map(({ walletId }) => walletId))]);
  const networks = new Map(paidTo.map(({ _id, network }) => [_id, network]));
  const asked = priced.flatMap(({ walletId, ...each }) => {
    const network = networks.get(walletId);
    return network ? [pairOf({ ...each, network })] : [];
  });
  return books ? [...asked, ...(await rateNeeds.pairsOfBooks(accountId, books))] : asked;
}

/** In force from now on. @throws ApiError `rate_limited` */
async function add(
  { forAccount, clock, stamper, commit }: RateServiceDeps,
  caller: Caller,
  rate: Omit<OwnRateDoc, '_id' | 'accountId' | 'at' | 'from'>,
): Promise<void> {
  const { ownRates } = forAccount(caller.accountId);
  const at = clock.now();
  const before = (ms: number) => new Date(at.getTime() - ms);
  // Every payment within the lock reads each of them.
  if ((await ownRates.countSince(rate.pair, before(HOUR_MS), MAX_OWN_CHANGES_PER_HOUR)) >= MAX_OWN_CHANGES_PER_HOUR)
    throw rateLimited(RETRY_SECONDS);
  const from = beginAfter(await ownRates.newest(rate.pair), await stamper.stamp(rate.network));
  await commit({ caller, subjectId: rate.pair }, (session) =>
    ownRates.add({ ...rate, at, from }, before(OWN_RATES_KEPT_MS), session),
  );
}

const list =
  (deps: RateServiceDeps): Service['list'] =>
  async ({ accountId }) => {
    const now = deps.clock.now();
    const own = (await deps.forAccount(accountId).ownRates.newestOfAll()).filter(
      ({ rate, until }) => rate !== null && (until === null || until > now),
    );
    const pairs = [...(await pairsInUse(deps, accountId)), ...own.map(pairOf)];
    const byKey = new Map(pairs.map((pair) => [pairKey(pair), pair]));
    return Promise.all([...byKey.keys()].sort().map((key) => show(deps, accountId, byKey.get(key)!)));
  };

const set =
  (deps: RateServiceDeps): Service['set'] =>
  async (caller, { rate, expiresAt, ...given }) => {
    const { accountId } = caller;
    const pair = pairOf(given);
    const { asset, ...rest } = pair;
    const { ownRates } = deps.forAccount(accountId);
    const key = pairKey(pair);
    if (!(await ownRates.newest(key)) && (await ownRates.countPairs()) >= MAX_PAIRS_PER_ACCOUNT)
      throw conflict(`This account has its own rates for ${MAX_PAIRS_PER_ACCOUNT} pairs already, the maximum.`);
    await add(deps, caller, {
      ...rest,
      ...{ assetCode: asset.code, assetIssuer: asset.issuer, pair: key },
      rate: formatRate(parseRate(rate)!),
      until: expiresAt == null ? null : new Date(expiresAt),
    });
    return show(deps, accountId, pair);
  };

const remove =
  (deps: RateServiceDeps): Service['delete'] =>
  async (caller, given) => {
    const pair = pairOf(given);
    const { ownRates } = deps.forAccount(caller.accountId);
    const last = await ownRates.newest(pairKey(pair));
    if (!last?.rate || (last.until && last.until <= deps.clock.now())) throw notFound('rate of your own');
    const { _id: _, accountId: __, at: ___, from: ____, ...held } = last;
    await add(deps, caller, { ...held, rate: null, until: null });
    return { deleted: true };
  };

const quote =
  ({ rateBook, need }: RateServiceDeps): Service['quote'] =>
  async ({ accountId }, { price, ...given }) => {
    const pair = pairOf(given);
    let current = await rateBook.current(accountId, pair);
    let isSampled = true;
    if (!current || current.stale) {
      isSampled = await need(pair, accountId);
      current = await rateBook.current(accountId, pair);
    }
    const quote = current && quoteOf(current, parseAmount(price)!);
    if (!quote) throw conflict(noQuote(current, isSampled));
    return quote;
  };
