/** At the till: the choices of a sale, and the way to the other sales. */
import { Link } from 'wouter-preact';
import type { Item } from '../api.js';
import { keyOf, type Offered } from '../parts/asset.js';

/** Value in the address: amounts are typed in the asset although the account has a currency. */
export const IN_ASSET = 'asset';

/** Chooses the wallet, the unit of the amount, and the asset of the payment. */
export function Head({
  wallets,
  wallet,
  chooseWallet,
  offered,
  asset,
  choosePaid,
  books,
  currency,
  chooseUnit,
}: {
  wallets: readonly Item<'wallets.list'>[];
  wallet: Item<'wallets.list'> | undefined;
  chooseWallet: (id: string) => void;
  offered: readonly Offered[];
  asset: Offered | undefined;
  choosePaid: (key: string) => void;
  /** The account's currency, if it has one. */
  books: string | null;
  currency: string | null;
  chooseUnit: (unit: string) => void;
}) {
  return (
    <header class="till-head">
      <Link href="/checkouts">Sales</Link>
      <Choice
        label="Wallet"
        value={wallet?.id}
        options={wallets.map(({ id, name }) => [id, name])}
        choose={chooseWallet}
      />
      {books && (
        <Choice
          label="Typed in"
          value={currency === null ? IN_ASSET : books}
          options={[
            [books, books],
            [IN_ASSET, asset?.assetCode ?? 'Asset'],
          ]}
          choose={chooseUnit}
        />
      )}
      <Choice
        label="Paid in"
        value={asset && keyOf(asset)}
        options={offered.map((each) => [
          keyOf(each),
          each.domain ? `${each.assetCode} (${each.domain})` : each.assetCode,
        ])}
        choose={choosePaid}
      />
    </header>
  );
}

function Choice({
  label,
  value,
  options,
  choose,
}: {
  label: string;
  /** Undefined when the chosen one is missing. */
  value: string | undefined;
  options: readonly (readonly [value: string, label: string])[];
  choose: (value: string) => void;
}) {
  return (
    <select aria-label={label} value={value ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
      {value === undefined && <option value="" label="Choose" selected />}
      {options.map(([each, text]) => (
        <option key={each} value={each} selected={each === value}>
          {text}
        </option>
      ))}
    </select>
  );
}
