/** The till: the cashier types an amount, its code fills the screen, and both sides see when it
 *  is paid. */
import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useParam } from '../address.js';
import { failureOf, type Item, useRead, useSession } from '../api.js';
import { grouped } from '../format.js';
import { installTill } from '../main.js';
import { keyOf, type Offered, useOffered } from '../parts/asset.js';
import { Tabs } from '../parts/filters.js';
import { loadQr } from '../parts/qr-block.js';
import { useOnce } from '../passkey.js';
import { t } from '../texts/texts.js';
import { Basket } from './pos-basket.js';
import { Others, useBegun } from './pos-others.js';
import { Keys, Sale, type SaleEntry, useCharge, useRested, useTyped } from './pos-sale.js';
import { usePayable } from './pos-wallet.js';

// At the till: the amount in the asset, beside a price in a currency.

const QUOTE_MS = 15_000;

/** Cashiers may not read rates and see the amount with the code instead. */
function Beside({
  currency,
  price,
  asset,
  wallet,
}: {
  currency: string;
  price: string;
  asset: Offered | undefined;
  wallet: Item<'wallets.list'> | undefined;
}) {
  const mayAsk = useSession().data?.may.includes('rates.quote') ?? false;
  const rested = useRested(price);
  const query = {
    ...{ currency, price: rested, network: wallet?.network ?? 'PUBLIC' },
    ...{ assetCode: asset?.assetCode ?? 'XLM', ...(asset?.assetIssuer ? { assetIssuer: asset.assetIssuer } : {}) },
  };
  const isAsked = mayAsk && wallet !== undefined && asset !== undefined && Number(rested) > 0;
  const quote = useRead('rates.quote', query, { enabled: isAsked, keepPrevious: false, refetchInterval: QUOTE_MS });
  const { amount } = quote.data ?? {};
  const isShown = isAsked && rested === price;
  return (
    <p class="till-beside">
      {isShown && quote.error && failureOf(quote.error).message}
      {isShown && amount && `${grouped(amount)} ${asset.assetCode}`}
    </p>
  );
}

// At the till: the choices of a sale, and the way to the other sales.

/** Value in the address: amounts are typed in the asset although the account has a currency. */
const IN_ASSET = 'asset';

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
      <Choice
        label={t('wallet')}
        value={wallet?.id}
        options={wallets.map(({ id, name }) => [id, name])}
        choose={chooseWallet}
      />
      {books && (
        <Choice
          label={t('typedIn')}
          value={currency === null ? IN_ASSET : books}
          options={[
            [books, books],
            [IN_ASSET, asset?.assetCode ?? t('asset')],
          ]}
          choose={chooseUnit}
        />
      )}
      <Choice
        label={t('paidIn')}
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
      {value === undefined && <option value="" label={t('choose')} selected />}
      {options.map(([each, text]) => (
        <option key={each} value={each} selected={each === value}>
          {text}
        </option>
      ))}
    </select>
  );
}

const WAYS = [
  ['', t('keypad')],
  ['products', t('products')],
] as const;

export function Pos() {
  const [id, setId] = useParam('sale', { isStep: true });
  const begun = useBegun();
  useEffect(() => {
    document.title = `${t('pointOfSale')} · stellar-collect`;
    installTill();
    // A till stays open through an upgrade, which takes its files away. Where they are gone
    // already, the sale says so.
    loadQr().catch(() => undefined);
  }, []);
  const [way, setWay] = useParam('by');
  const isOnline = useOnline();
  const Entering = way === 'products' ? Basket : Keypad;
  return (
    <main class="till" id="content">
      <h1 class="unseen">{t('pointOfSale')}</h1>
      {!isOnline && (
        <p class="callout" role="status">
          {t('noConnectionPaymentsCannot')}
        </p>
      )}
      <Others begun={begun} shown={id} open={setId} />
      {id ? (
        <Sale key={id} id={id} next={() => setId('')} ended={begun.remove} />
      ) : (
        <>
          <header class="till-head">
            <Link href="/checkouts">{t('sales')}</Link>
            <Tabs label={t('howToSell')} options={WAYS} value={way} set={setWay} />
          </header>
          <Entering begun={begun} begin={setId} isOnline={isOnline} />
        </>
      )}
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

function Keypad({ begun, begin, isOnline }: SaleEntry) {
  const [note, setNote] = useState('');
  const [walletId, chooseWallet] = useParam('wallet');
  const [paid, choosePaid] = useParam('pay');
  const [priced, choosePriced] = useParam('in');
  const account = useRead('account.get', {});
  const books = account.data?.booksCurrency ?? null;
  const currency = priced === IN_ASSET ? null : books;
  const listed = useRead('wallets.list', { pageSize: 100 });
  const wallets = (listed.data?.items ?? []).filter(({ active }) => active);
  const { payable, isAsked } = usePayable(walletId === '' ? wallets : []);
  // A chosen wallet that is missing is not replaced: the cashier would charge to another one.
  const wallet = walletId === '' ? payable : wallets.find((each) => each.id === walletId);
  const offered = useOffered(wallet);
  const asset = paid === '' ? offered[0] : offered.find((each) => keyOf(each) === paid);
  const sale = useCharge({ begun, begin });
  // The unit of the amount is unknown until the account is loaded.
  const missing = isAsked ? t('oneMoment') : missingOf(account.data ? listed : account, wallets, wallet, asset);
  const { amount, shown, press, isMore } = useTyped(currency, asset?.assetCode ?? '', () => void charge());
  const canCharge = isOnline && isMore && !sale.isPending && missing === null;
  const charge = useOnce(async () => {
    if (!canCharge || !wallet || !asset) return;
    await sale.charge({
      ...{ walletId: wallet.id, name: note.trim() || t('sale') },
      ...{ assetCode: asset.assetCode, assetIssuer: asset.assetIssuer },
      ...(currency === null ? { amount } : { currency, price: amount }),
    });
  });
  return (
    <>
      <Head
        {...{ wallets, wallet, chooseWallet, offered, asset, choosePaid, books, currency }}
        chooseUnit={(unit) => choosePriced(unit === books ? '' : unit)}
      />
      <output class="till-amount" aria-label={t('amount')}>
        {shown}
      </output>
      {currency !== null && <Beside currency={currency} price={amount} asset={asset} wallet={wallet} />}
      <input
        class="till-note"
        aria-label={t('note')}
        placeholder={t('note')}
        maxLength={120}
        value={note}
        onInput={({ currentTarget }) => setNote(currentTarget.value)}
        onKeyDown={({ key }) => key === 'Enter' && void charge()}
      />
      <Keys press={press} />
      {sale.error && (
        <p class="problem" role="alert">
          {failureOf(sale.error).message}
        </p>
      )}
      {missing && (
        <p class="problem" role="alert">
          {missing}
        </p>
      )}
      {asset?.canReceive === false && (
        <p class="problem">{t('walletCannotReceiveAssetCodeYet', { assetCode: asset.assetCode })}</p>
      )}
      <button type="button" class="till-main" aria-disabled={!canCharge} onClick={() => void charge()}>
        {t('charge')}
      </button>
    </>
  );
}

/** Why charging is impossible; null when it is possible. */
function missingOf(
  { data, error }: { data?: unknown; error: unknown },
  wallets: readonly object[],
  wallet: object | undefined,
  asset: object | undefined,
): string | null {
  if (error) return failureOf(error).message;
  if (!data) return t('oneMoment');
  if (wallets.length === 0) return t('thereNoActiveWallet');
  if (!wallet) return t('walletNotAvailableNow');
  return asset ? null : t('walletNotOfferAsset');
}
