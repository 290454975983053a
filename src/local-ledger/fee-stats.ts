/** `/fee_stats`: bids and charges per operation in the last ledgers; every number is a string. */
import { MAX_OPERATIONS } from './headers.js';
import { BASE_FEE } from './stroops.js';

export interface RecentFee {
  charged: number;
  bid: number;
  operations: number;
  ledger: number;
}

const PERCENTILES = [10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99];

export function feeStats(latest: number, fees: RecentFee[]): Record<string, unknown> {
  const operations = fees.reduce((sum, fee) => sum + fee.operations, 0);
  return {
    last_ledger: String(latest),
    last_ledger_base_fee: String(BASE_FEE),
    ledger_capacity_usage: (operations / (5 * MAX_OPERATIONS)).toFixed(2),
    fee_charged: feeDistribution(fees.map(({ charged }) => charged)),
    max_fee: feeDistribution(fees.map(({ bid }) => bid)),
  };
}

export function feeDistribution(values: number[]): Record<string, string> {
  const sorted = (values.length === 0 ? [Number(BASE_FEE)] : values).toSorted((a, b) => a - b);
  const at = (percent: number) => String(sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)]);
  const counts = new Map<number, number>();
  for (const value of sorted) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [mode] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most));
  return {
    max: String(sorted.at(-1)),
    min: String(sorted[0]),
    mode: String(mode),
    ...Object.fromEntries(PERCENTILES.map((percent) => [`p${percent}`, at(percent)])),
  };
}
