/** Books and balances as they are stored: stroops in decimal text. */
import { type Asset, assetName } from '../domain/asset.js';
import type { Amount, BookRow, Books, Sums } from '../domain/books.js';
import type { StoredAmount, StoredRow, StoredSums } from './audit-document.js';

export const assetOf = ({
  assetCode: code,
  assetIssuer: issuer,
}: {
  assetCode: string;
  assetIssuer: string | null;
}): Asset => ({
  code,
  issuer,
});
export const namedAsset = ({ code, issuer }: Asset) => ({ assetCode: code, assetIssuer: issuer });

export const storeAmounts = (amounts: readonly Amount[]): StoredAmount[] =>
  amounts.map(({ asset, stroops }) => ({ ...namedAsset(asset), stroops: `${stroops}` }));

export const readAmounts = (stored: readonly StoredAmount[]): Amount[] =>
  stored.map((amount) => ({ asset: assetOf(amount), stroops: BigInt(amount.stroops) }));

export const storeBooks = (books: Books): StoredSums[] =>
  [...books.values()].map(({ asset, sums }) => ({ ...namedAsset(asset), ...storeSums(sums) }));

export const readBooks = (stored: readonly StoredSums[]): Books =>
  new Map(
    stored.map(({ received, sent, fees, traded, other, ...rest }) => {
      const asset = assetOf(rest);
      const texts = { received, sent, fees, traded, other };
      const sums = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, BigInt(text)]));
      return [assetName(asset), { asset, sums: sums as unknown as Sums }];
    }),
  );

export const storeRows = (rows: readonly BookRow[]): StoredRow[] =>
  rows.map(({ asset, opening, closing, computed, difference, ...sums }) => ({
    ...namedAsset(asset),
    ...storeSums(sums),
    ...{ opening: `${opening}`, closing: `${closing}`, computed: `${computed}`, difference: `${difference}` },
  }));

const storeSums = ({ received, sent, fees, traded, other }: Sums) => ({
  ...{ received: `${received}`, sent: `${sent}`, fees: `${fees}` },
  ...{ traded: `${traded}`, other: `${other}` },
});

/** The result of an audit. */
export const closingOf = (rows: readonly StoredRow[]): Amount[] =>
  rows.map((row) => ({ asset: assetOf(row), stroops: BigInt(row.closing) }));
