/** A statement as the API shows it, and as a file. */
import type { Statement } from '../../contracts/statements.js';
import { formatSigned } from '../domain/amount.js';
import { type CsvForm, csvWriter } from '../kit/csv.js';
import type { StatementRead } from './statement-rules.js';

export const toStatement = (walletId: string, from: Date, to: Date, rows: StatementRead): Statement => ({
  walletId,
  from: from.toISOString(),
  to: to.toISOString(),
  assets: rows.map(({ asset, opening, closing, movements }) => ({
    assetCode: asset.code,
    assetIssuer: asset.issuer,
    opening: formatSigned(opening),
    closing: formatSigned(closing),
    movements: movements.map(({ asset: _, stroops, at, changeIndex: __, value, ...movement }) => ({
      ...movement,
      at: at.toISOString(),
      amount: formatSigned(stroops),
      value: value && { ...value, rateAt: value.rateAt.toISOString() },
    })),
  })),
});

const COLUMNS = [
  'assetCode',
  'assetIssuer',
  'at',
  'ledger',
  'transactionHash',
  'operationId',
  'kind',
  'amount',
  'counterparty',
  'memo',
  'paymentId',
  'currency',
  'value',
  'rate',
] as const;

/** Each asset begins with a row `opening` and ends with a row `closing`. */
export function statementCsv({ from, to, assets }: Statement, form: CsvForm): string {
  const { header, line, time } = csvWriter(form);
  const rows: Partial<Record<(typeof COLUMNS)[number], string | number | null>>[] = assets.flatMap(
    ({ assetCode, assetIssuer, opening, closing, movements }) => [
      { assetCode, assetIssuer, at: time(from), kind: 'opening', amount: opening },
      ...movements.map(({ value, ...movement }) => ({
        ...{ assetCode, assetIssuer, ...movement, at: time(movement.at) },
        ...(value && { currency: value.currency, value: value.amount, rate: value.rate }),
      })),
      { assetCode, assetIssuer, at: time(to), kind: 'closing', amount: closing },
    ],
  );
  return [header(COLUMNS), ...rows.map((row) => line(COLUMNS.map((name) => row[name] ?? null)))].join('');
}
