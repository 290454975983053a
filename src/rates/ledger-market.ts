/** The network's own market: what it pays now for an asset, in an asset that is pegged to the currency. */
import { z } from 'zod';
import type { Network } from '../../contracts/networks.js';
import { parseAmount } from '../domain/amount.js';
import type { Asset } from '../domain/asset.js';
import { toRate } from '../domain/rate.js';
import type { Peg } from '../domain/rate-settings.js';
import type { Clock } from '../kit/clock.js';
import type { RequestBudget } from '../ledger/budget.js';
import { BudgetUsedUp } from '../ledger/errors.js';
import { type Ask, decimalText, shaped } from './ask.js';
import { BadAnswer, type RateSource } from './source.js';

/** The hypothetical amount sent: one unit of a cheap asset would give too few digits. */
const SENT = '100';

const answerSchema = z.object({
  _embedded: z.object({
    records: z.array(z.object({ source_amount: decimalText, destination_amount: decimalText })),
  }),
});

export interface Market {
  baseUrl: string;
  /** The budgets that must grant each request. */
  allowances: readonly RequestBudget[];
}

export function createLedgerMarket(deps: {
  ask: Ask;
  /** Null if no server shows the network's market. */
  marketOf: (network: Network) => Market | null;
  pegs: readonly Peg[];
  clock: Clock;
}): RateSource {
  const { ask, marketOf, pegs, clock } = deps;
  return {
    name: 'ledger',
    async quote({ asset, currency, network }) {
      const market = marketOf(network);
      const pegged = pegs
        .filter((peg) => peg.currency === currency)
        .map(({ asset: { code, issuer } }) => `${code}:${issuer}`);
      if (!market || pegged.length === 0) return null;
      for (const allowance of market.allowances) {
        const waitMs = await allowance.take();
        if (waitMs > 0) throw new BudgetUsedUp(waitMs);
      }
      const query = new URLSearchParams({
        ...sourceOf(asset),
        source_amount: SENT,
        destination_assets: pegged.join(','),
      });
      const answer = await ask.json(`${market.baseUrl}/paths/strict-send?${query}`);
      const { records } = shaped(answerSchema, answer)._embedded;
      const rates = records.map(({ source_amount: sent, destination_amount: got }) => ({
        sent: parseAmount(sent),
        got: parseAmount(got),
      }));
      if (rates.length === 0) throw new BadAnswer('no way to a pegged asset');
      const best = rates.reduce((one, other) => ((other.got ?? 0n) > (one.got ?? 0n) ? other : one));
      const rate = best.sent && best.got ? toRate(best.got, best.sent) : null;
      if (!rate) throw new BadAnswer('no rate');
      return { rate, at: clock.now() };
    },
  };
}

const sourceOf = ({ code, issuer }: Asset): Record<string, string> =>
  issuer === null
    ? { source_asset_type: 'native' }
    : {
        source_asset_type: code.length <= 4 ? 'credit_alphanum4' : 'credit_alphanum12',
        source_asset_code: code,
        source_asset_issuer: issuer,
      };
