/** The till: the cashier types an amount, its code fills the screen, and both sides see when it is paid. */
import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useParam } from '../address.js';
import { failureOf, type Item, useRead, useWrite } from '../api.js';
import { installTill } from '../install.js';
import { keyOf, type Offered, useOffered } from '../parts/asset.js';
import { Beside } from './pos-beside.js';
import { Sale } from './pos-sale.js';

/** A sale at the counter is soon over. */
const LIFETIME_MS = 15 * 60_000;
const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '0', '⌫'] as const;
const MOST_DIGITS = 12;
const MOST_DECIMALS = 7;
/** Value in the address: amounts are typed in the asset although the account has a currency. */
const IN_ASSET = 'asset';

export function Pos() {
  const [id, setId] = useParam('sale');
  useEffect(() => {
    document.title = 'Point of sale · stellar-collect';
    installTill();
  }, []);
  const isOnline = useOnline();
  return (
    <main class="till" id="content">
      <h1 class="unseen">Point of sale</h1>
      {!isOnline && (
        <p class="callout" role="status">
          No connection: payments cannot be taken until it is back.
        </p>
      )}
      {id ? <Sale id={id} next={() => setId('')} /> : <Entry begin={setId} isOnline={isOnline} />}
    </main>
  );
}

function useOnline(): boolean {
  const [isOnline, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const look = () => setOnline(navigator.onLine);
    addEventListener('online', look);
    addEventListener('offline', look);
    return () => {
      removeEventListener('online', look);
      removeEventListener('offline', look);
    };
  }, []);
  return isOnline;
}

const decimalsOf = (currency: string | null): number =>
  currency === null
    ? MOST_DECIMALS
    : (new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 0);

/** The amount after a key; unchanged when it would no longer be a valid amount. */
function typedWith(before: string, key: (typeof KEYS)[number], mostDecimals: number): string {
  if (key === '⌫') return before.slice(0, -1);
  if (key === '.' && mostDecimals === 0) return before;
  const after = key === '.' && before === '' ? '0.' : before === '0' && key !== '.' ? key : before + key;
  const [whole = '', decimals, more] = after.split('.');
  const isAmount = more === undefined && whole.length <= MOST_DIGITS && (decimals ?? '').length <= mostDecimals;
  return isAmount ? after : before;
}

/** The typed amount, cleared when the unit changes: five euros are not five lumens. */
function useTyped(unit: string | null) {
  const [typed, setTyped] = useState({ unit, amount: '' });
  const amount = typed.unit === unit ? typed.amount : '';
  return { amount, setAmount: (text: string) => setTyped({ unit, amount: text }) };
}

function Entry({ begin, isOnline }: { begin: (id: string) => void; isOnline: boolean }) {
  const [note, setNote] = useState('');
  const [walletId, chooseWallet] = useParam('wallet');
  const [paid, choosePaid] = useParam('pay');
  const [priced, choosePriced] = useParam('in');
  const account = useRead('account.get', {});
  const books = account.data?.booksCurrency ?? null;
  const currency = priced === IN_ASSET ? null : books;
  const { amount, setAmount } = useTyped(currency);
  const listed = useRead('wallets.list', { pageSize: 100 });
  const wallets = (listed.data?.items ?? []).filter(({ active }) => active);
  // A chosen wallet that is missing is not replaced: the cashier would charge to another one.
  const wallet = walletId === '' ? wallets[0] : wallets.find((each) => each.id === walletId);
  const offered = useOffered(wallet);
  const asset = paid === '' ? offered[0] : offered.find((each) => keyOf(each) === paid);
  // The unit of the amount is unknown until the account is loaded.
  const missing = missingOf(account.data ? listed : account, wallet, asset);
  const create = useWrite('checkouts.create');
  const canCharge = isOnline && Number(amount) > 0 && !create.isPending;
  const charge = async () => {
    if (!canCharge || missing !== null || !wallet || !asset) return;
    try {
      const sale = await create.mutateAsync({
        ...{ walletId: wallet.id, name: note.trim() || 'Sale' },
        ...{ assetCode: asset.assetCode, assetIssuer: asset.assetIssuer },
        ...(currency === null ? { amount: plain(amount) } : { currency, price: plain(amount) }),
        expiresAt: new Date(Date.now() + LIFETIME_MS).toISOString(),
      });
      begin(sale.id);
    } catch {}
  };
  return (
    <>
      <Head
        {...{ wallets, wallet, chooseWallet, offered, asset, choosePaid, books, currency }}
        chooseUnit={(unit) => choosePriced(unit === books ? '' : unit)}
      />
      <output class="till-amount" aria-label="Amount">
        {amount || '0'} {currency ?? asset?.assetCode}
      </output>
      {currency !== null && <Beside currency={currency} price={plain(amount)} asset={asset} wallet={wallet} />}
      <input
        class="till-note"
        aria-label="Note"
        placeholder="Note"
        maxLength={120}
        value={note}
        onInput={({ currentTarget }) => setNote(currentTarget.value)}
      />
      <Keys press={(key) => setAmount(typedWith(amount, key, decimalsOf(currency)))} />
      {create.error && (
        <p class="problem" role="alert">
          {failureOf(create.error).message}
        </p>
      )}
      {missing && (
        <p class="problem" role="alert">
          {missing}
        </p>
      )}
      {asset?.canReceive === false && <p class="problem">This wallet cannot receive {asset.assetCode} yet.</p>}
      <button
        type="button"
        class="till-main"
        aria-disabled={!canCharge || missing !== null}
        onClick={() => void charge()}
      >
        Charge
      </button>
    </>
  );
}

/** Chooses the wallet, the unit of the amount, and the asset of the payment. */
function Head({
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

function Keys({ press }: { press: (key: (typeof KEYS)[number]) => void }) {
  return (
    <div class="till-keys">
      {KEYS.map((key) => (
        <button
          key={key}
          type="button"
          class="plain"
          aria-label={key === '⌫' ? 'Delete' : key}
          onClick={() => press(key)}
        >
          {key}
        </button>
      ))}
    </div>
  );
}

/** Why charging is impossible; null when it is possible. */
function missingOf(
  { data, error }: { data?: unknown; error: unknown },
  wallet: object | undefined,
  asset: object | undefined,
): string | null {
  if (error) return failureOf(error).message;
  if (!data) return 'One moment…';
  if (!wallet) return 'This wallet is not available now: choose another one.';
  return asset ? null : 'This wallet does not offer the asset now: choose another asset.';
}

/** Removes a trailing point, which the API refuses. */
const plain = (amount: string) => amount.replace(/\.$/, '');
