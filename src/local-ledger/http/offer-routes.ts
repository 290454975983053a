/** Offers, the books that they make, and paths through the books. */
import { type Request, Router } from 'express';
import { canonicalAsset, type LedgerAsset } from '../asset.js';
import { availableBalance, availableOnLine } from '../entries.js';
import type { Ledger } from '../ledger.js';
import { bookRecord, offerRecord, pathRecord } from '../offer-record.js';
import { type Path, pathsFrom, pathsTo } from '../offers/paths.js';
import type { OfferFilter } from '../state.js';
import { baseUrl, negotiate, sendHal } from './answer.js';
import { offerLinks } from './links.js';
import { answerList, type List } from './lists.js';
import {
  accountId,
  amountParameter,
  assetOf,
  assetsParameter,
  integerId,
  offerFilter,
  optionalAccount,
  pageLimit,
  toidCursor,
} from './parameters.js';
import { Problem } from './problem.js';

const BOOK_LEVELS = 20;

export function offerRoutes(ledger: Ledger): Router {
  const router = Router();
  addOffers(router, ledger);
  addBooks(router, ledger);
  return router;
}

const offerList = (ledger: Ledger, base: string, filter: OfferFilter): List => ({
  async read({ cursor, order, limit }) {
    const after = toidCursor(cursor);
    const found = await ledger.offers(filter);
    const inOrder = order === 'asc' ? found : found.reverse();
    return inOrder
      .filter(({ offerId }) => after === null || (order === 'asc' ? offerId > after : offerId < after))
      .slice(0, limit)
      .map((offer) => ({ _links: offerLinks(base, offer), ...offerRecord(offer) }));
  },
});

function addOffers(router: Router, ledger: Ledger): void {
  router.get('/offers', (req, res) =>
    answerList(ledger, req, res, (base) => offerList(ledger, base, offerFilter(req))),
  );
  router.get('/accounts/:account_id/offers', (req, res) =>
    answerList(ledger, req, res, (base) => offerList(ledger, base, { seller: accountId(req) })),
  );
  router.get('/offers/:offer_id', async (req, res) => {
    negotiate(req, false);
    const [offer] = await ledger.offers({ offerId: integerId(req, 'offer_id') });
    if (offer === undefined) throw new Problem('not_found');
    res.setHeader('Latest-Ledger', String(ledger.visible().latest));
    await sendHal(req, res, { _links: offerLinks(baseUrl(req), offer), ...offerRecord(offer) });
  });
}

function addBooks(router: Router, ledger: Ledger): void {
  router.get('/order_book', async (req, res) => {
    negotiate(req, false);
    const [selling, buying] = [assetOf(req, 'selling'), assetOf(req, 'buying')];
    const limit = pageLimit(req, BOOK_LEVELS);
    const asks = await ledger.offers({ selling, buying });
    const bids = await ledger.offers({ selling: buying, buying: selling });
    res.setHeader('Latest-Ledger', String(ledger.visible().latest));
    await sendHal(req, res, bookRecord([selling, buying], [asks, bids], limit));
  });

  for (const path of ['/paths', '/paths/strict-receive']) {
    router.get(path, async (req, res) => {
      negotiate(req, false);
      const destination = assetOf(req, 'destination');
      const amount = amountParameter(req, 'destination_amount');
      const ends = await readEnds(ledger, req, 'source');
      const offers = (await ledger.offers({})).filter(({ owner }) => owner !== ends.account);
      const found = pathsTo(offers, destination, amount).filter(({ assets, sent }) => ends.admits(assets[0]!, sent));
      await sendPaths(ledger, req, res, found, ({ assets }) => assets[0]!);
    });
  }

  router.get('/paths/strict-send', async (req, res) => {
    negotiate(req, false);
    const source = assetOf(req, 'source');
    const amount = amountParameter(req, 'source_amount');
    const ends = await readEnds(ledger, req, 'destination');
    const found = pathsFrom(await ledger.offers({}), source, amount);
    const admitted = found.filter(({ assets }) => ends.admits(assets.at(-1)!, 0n));
    await sendPaths(ledger, req, res, admitted, ({ assets }) => assets.at(-1)!);
  });
}

/** The requested other ends: the assets of an account that holds enough, or a list of assets. */
async function readEnds(ledger: Ledger, req: Request, end: 'source' | 'destination') {
  const account = optionalAccount(req, `${end}_account`);
  const assets = assetsParameter(req, `${end}_assets`);
  if ((account === null) === (assets.length === 0)) {
    const detail = `The request requires either a list of ${end} assets or a ${end} account. Both fields cannot be present.`;
    throw new Problem('bad_request', undefined, detail);
  }
  const balances = account === null ? null : await balancesOf(ledger, account);
  const names = new Set(assets.map(canonicalAsset));
  return {
    account,
    admits(asset: LedgerAsset, sent: bigint): boolean {
      const balance = balances?.get(canonicalAsset(asset));
      return balances === null ? names.has(canonicalAsset(asset)) : balance !== undefined && balance >= sent;
    },
  };
}

async function balancesOf(ledger: Ledger, id: string): Promise<Map<string, bigint>> {
  const found = await ledger.account(id);
  if (found === null) throw new Problem('not_found');
  const lines = found.owned.flatMap((entry): [string, bigint][] =>
    entry.kind === 'trustline' ? [[canonicalAsset(entry), availableOnLine(entry)]] : [],
  );
  return new Map([...lines, ['native', availableBalance(found.account)]]);
}

async function sendPaths(
  ledger: Ledger,
  req: Request,
  res: Parameters<typeof sendHal>[1],
  paths: Path[],
  end: (path: Path) => LedgerAsset,
): Promise<void> {
  const sorted = [...paths].sort((a, b) => (canonicalAsset(end(a)) < canonicalAsset(end(b)) ? -1 : 1));
  res.setHeader('Latest-Ledger', String(ledger.visible().latest));
  await sendHal(req, res, { _embedded: { records: sorted.map(pathRecord) } });
}
