/** The till: an amount is typed, its code fills the screen, and both sides see when it is paid. */
import { lazy, Suspense } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useParam } from '../address.js';
import { failureOf, type Output, useRead, useWrite } from '../api.js';
import { grouped } from '../format.js';
import { installTill } from '../install.js';
import { keyOf, useOffered } from '../parts/asset.js';

const Qr = lazy(() => import('../parts/qr.js'));

type Checkout = Output<'checkouts.get'>;

/** A sale at the counter is soon over. */
const LIFETIME_MS = 15 * 60_000;
const LOOK_MS = 1_000;
const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '0', '⌫'] as const;
const MOST_DIGITS = 12;
const MOST_DECIMALS = 7;

export function Pos() {
  const [id, setId] = useParam('sale');
  useEffect(() => {
    document.title = 'Point of sale · stellar-collect';
    installTill();
  }, []);
  const isOnline = useOnline();
  return (
    <main class="till" id="content">
      {!isOnline && (
        <p class="callout" role="status">
          No connection: nothing can be taken until it is back.
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

/** What stays an amount while it is typed. */
function typedWith(before: string, key: (typeof KEYS)[number]): string {
  if (key === '⌫') return before.slice(0, -1);
  const after = key === '.' && before === '' ? '0.' : before === '0' && key !== '.' ? key : before + key;
  const [whole = '', decimals, more] = after.split('.');
  const isAmount = more === undefined && whole.length <= MOST_DIGITS && (decimals ?? '').length <= MOST_DECIMALS;
  return isAmount ? after : before;
}

function Entry({ begin, isOnline }: { begin: (id: string) => void; isOnline: boolean }) {
  const [amount, setAmount] = useState('');
  const [note, setNote] = useState('');
  const [walletId, chooseWallet] = useParam('wallet');
  const [paid, choosePaid] = useParam('pay');
  const listed = useRead('wallets.list', { pageSize: 100 });
  const wallets = (listed.data?.items ?? []).filter(({ active }) => active);
  // What was chosen and is not there is not replaced: the cashier would charge for something else.
  const wallet = walletId === '' ? wallets[0] : wallets.find((each) => each.id === walletId);
  const offered = useOffered(wallet);
  const asset = paid === '' ? offered[0] : offered.find((each) => keyOf(each) === paid);
  const missing = missingOf(listed, wallet, asset);
  const create = useWrite('checkouts.create');
  const canCharge = isOnline && Number(amount) > 0 && !create.isPending;
  const charge = async () => {
    if (!canCharge || !wallet || !asset) return;
    try {
      const sale = await create.mutateAsync({
        ...{ walletId: wallet.id, name: note.trim() || 'Sale' },
        ...{ assetCode: asset.assetCode, assetIssuer: asset.assetIssuer, amount: plain(amount) },
        expiresAt: new Date(Date.now() + LIFETIME_MS).toISOString(),
      });
      begin(sale.id);
    } catch {}
  };
  return (
    <>
      <header class="till-head">
        <Link href="/checkouts">Sales</Link>
        <select
          aria-label="Wallet"
          value={wallet?.id ?? ''}
          onChange={(event) => chooseWallet(event.currentTarget.value)}
        >
          {!wallet && <option value="" label="Choose" selected />}
          {wallets.map(({ id, name }) => (
            <option key={id} value={id} selected={id === wallet?.id}>
              {name}
            </option>
          ))}
        </select>
        <select
          aria-label="Paid in"
          value={asset ? keyOf(asset) : ''}
          onChange={(event) => choosePaid(event.currentTarget.value)}
        >
          {!asset && <option value="" label="Choose" selected />}
          {offered.map((each) => (
            <option key={keyOf(each)} value={keyOf(each)} selected={each === asset}>
              {each.assetCode}
              {each.domain ? ` (${each.domain})` : ''}
            </option>
          ))}
        </select>
      </header>
      <output class="till-amount" aria-label="Amount">
        {amount || '0'} {asset?.assetCode}
      </output>
      <input
        class="till-note"
        aria-label="Note"
        placeholder="Note"
        maxLength={120}
        value={note}
        onInput={({ currentTarget }) => setNote(currentTarget.value)}
      />
      <div class="till-keys">
        {KEYS.map((key) => (
          <button
            key={key}
            type="button"
            class="plain"
            aria-label={key === '⌫' ? 'Delete' : key}
            onClick={() => setAmount(typedWith(amount, key))}
          >
            {key}
          </button>
        ))}
      </div>
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

/** Why nothing can be charged; null where it can. */
function missingOf(
  { data, error }: { data?: unknown; error: unknown },
  wallet: object | undefined,
  asset: object | undefined,
): string | null {
  if (error) return failureOf(error).message;
  if (!data) return 'One moment…';
  if (!wallet) return 'This wallet is not there now: choose another one.';
  return asset ? null : 'This wallet does not offer that asset now: choose another one.';
}

/** As the API takes it: no point at the end. */
const plain = (amount: string) => amount.replace(/\.$/, '');

function Sale({ id, next }: { id: string; next: () => void }) {
  const sale = useRead('checkouts.get', { id }, { refetchInterval: LOOK_MS, keepPrevious: false });
  const { data } = sale;
  if (!data)
    return (
      <div class="till-state">
        <p>{sale.error ? failureOf(sale.error).message : 'One moment…'}</p>
        <button type="button" class="till-main plain" onClick={next}>
          Back
        </button>
      </div>
    );
  if (data.status === 'PAID') return <Paid sale={data} next={next} />;
  if (data.status !== 'OPEN')
    return (
      <div class="till-state bad">
        <p class="till-word">{data.status === 'EXPIRED' ? 'Not paid in time' : 'Cancelled'}</p>
        <button type="button" class="till-main" onClick={next}>
          Next
        </button>
      </div>
    );
  return <Waiting sale={data} failure={sale.error} next={next} />;
}

function Waiting({ sale, failure, next }: { sale: Checkout; failure: unknown; next: () => void }) {
  const { id, name, assetCode, receivedAmount, remainingAmount } = sale;
  // What is asked changes with what came.
  const pay = useRead('checkouts.instructions', { id }, { refetchInterval: LOOK_MS * 5, keepPrevious: true });
  const trouble = failure ?? pay.error;
  const cancel = useWrite('checkouts.cancel');
  const stop = async () => {
    try {
      await cancel.mutateAsync({ id });
      next();
    } catch {}
  };
  return (
    <div class="till-state">
      <p class="till-amount">
        {grouped(remainingAmount ?? '')} {assetCode}
      </p>
      <p>
        <bdi>{name}</bdi>
        {receivedAmount !== '0' && `, ${receivedAmount} ${assetCode} came already`}
      </p>
      <div class="till-code">
        {pay.data && !pay.error && (
          <Suspense fallback={<div class="qr" />}>
            <Qr text={pay.data.uri} label="Scan to pay" />
          </Suspense>
        )}
      </div>
      <p role="status">{trouble ? failureOf(trouble).message : 'Waiting for the payment…'}</p>
      {cancel.error && (
        <p class="problem" role="alert">
          {failureOf(cancel.error).message}
        </p>
      )}
      <button type="button" class="plain" aria-disabled={cancel.isPending} onClick={() => void stop()}>
        Cancel
      </button>
    </div>
  );
}

/** Seen from both sides of the counter: once upright, once upside down. */
function Paid({ sale: { name, assetCode, receivedAmount, excessAmount }, next }: { sale: Checkout; next: () => void }) {
  const words = (
    <>
      <span class="till-word">Paid</span>
      <span>
        {grouped(receivedAmount)} {assetCode}
      </span>
    </>
  );
  return (
    <div class="till-state good">
      <p class="till-over" aria-hidden="true">
        {words}
      </p>
      <p role="status">
        {words}
        <bdi>{name}</bdi>
        {excessAmount && (
          <span>
            {excessAmount} {assetCode} too much
          </span>
        )}
      </p>
      <button type="button" class="till-main" onClick={next}>
        Next
      </button>
    </div>
  );
}
