/** The till: the cashier types an amount, its code fills the screen, and both sides see when it is paid. */
import { useEffect, useState } from 'preact/hooks';
import { useParam } from '../address.js';
import { failureOf, useRead, useWrite } from '../api.js';
import { installTill } from '../install.js';
import { useOnce } from '../once.js';
import { keyOf, useOffered } from '../parts/asset.js';
import { loadQr } from '../parts/qr-block.js';
import { Beside } from './pos-beside.js';
import { Head, IN_ASSET } from './pos-head.js';
import { Keys, useTyped } from './pos-keys.js';
import { type Begun, Others, useBegun } from './pos-others.js';
import { Sale } from './pos-sale.js';
import { usePayable } from './pos-wallet.js';

/** A sale at the counter is soon over. */
const LIFETIME_MS = 15 * 60_000;

export function Pos() {
  const [id, setId] = useParam('sale', { isStep: true });
  const begun = useBegun();
  useEffect(() => {
    document.title = 'Point of sale · stellar-collect';
    installTill();
    // A till stays open through an upgrade, which takes its files away. Where they are gone already, the sale says so.
    loadQr().catch(() => undefined);
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
      <Others begun={begun} shown={id} open={setId} />
      {id ? (
        <Sale key={id} id={id} next={() => setId('')} ended={begun.remove} />
      ) : (
        <Entry begun={begun} begin={setId} isOnline={isOnline} />
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

function Entry({ begun, begin, isOnline }: { begun: Begun; begin: (id: string) => void; isOnline: boolean }) {
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
  const create = useWrite('checkouts.create');
  // The unit of the amount is unknown until the account is loaded.
  const missing = isAsked ? 'One moment…' : missingOf(account.data ? listed : account, wallets, wallet, asset);
  const { amount, shown, press, isMore } = useTyped(currency, asset?.assetCode ?? '', () => void charge());
  const canCharge = isOnline && isMore && !create.isPending && missing === null;
  const charge = useOnce(async () => {
    if (!canCharge || !wallet || !asset) return;
    const sale = {
      ...{ walletId: wallet.id, name: note.trim() || 'Sale' },
      ...{ assetCode: asset.assetCode, assetIssuer: asset.assetIssuer },
      ...(currency === null ? { amount } : { currency, price: amount }),
    };
    try {
      const expiresAt = new Date(Date.now() + LIFETIME_MS).toISOString();
      const { id } = await create.mutateAsync({ ...sale, expiresAt }, sale);
      begun.add(id);
      begin(id);
    } catch {}
  });
  return (
    <>
      <Head
        {...{ wallets, wallet, chooseWallet, offered, asset, choosePaid, books, currency }}
        chooseUnit={(unit) => choosePriced(unit === books ? '' : unit)}
      />
      <output class="till-amount" aria-label="Amount">
        {shown}
      </output>
      {currency !== null && <Beside currency={currency} price={amount} asset={asset} wallet={wallet} />}
      <input
        class="till-note"
        aria-label="Note"
        placeholder="Note"
        maxLength={120}
        value={note}
        onInput={({ currentTarget }) => setNote(currentTarget.value)}
        onKeyDown={({ key }) => key === 'Enter' && void charge()}
      />
      <Keys press={press} />
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
      <button type="button" class="till-main" aria-disabled={!canCharge} onClick={() => void charge()}>
        Charge
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
  if (!data) return 'One moment…';
  if (wallets.length === 0) return 'There is no active wallet: an owner or manager adds one under “Wallets”.';
  if (!wallet) return 'This wallet is not available now: choose another one.';
  return asset ? null : 'This wallet does not offer the asset now: choose another asset.';
}
