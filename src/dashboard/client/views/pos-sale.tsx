/** A sale at the till: its code fills the screen until it is paid, which the screen shows both sides. */
import { lazy, Suspense } from 'preact/compat';
import { failureOf, type Output, useRead, useWrite } from '../api.js';
import { grouped } from '../format.js';

const Qr = lazy(() => import('../parts/qr.js'));

type Checkout = Output<'checkouts.get'>;

const LOOK_MS = 1_000;

export function Sale({ id, next }: { id: string; next: () => void }) {
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
  const { id, name, assetCode, receivedAmount, remainingAmount, remainingValue, currency } = sale;
  // The amount to pay changes with the received payments.
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
        {currency === null ? inAsset(remainingAmount, assetCode) : inCurrency(remainingValue, currency)}
        {currency !== null && <span class="till-beside">{inAsset(remainingAmount, assetCode)}</span>}
      </p>
      <p>
        <bdi>{name}</bdi>
        {receivedAmount !== '0' && `, ${receivedAmount} ${assetCode} came already`}
      </p>
      <div class="till-code">
        {pay.data && !pay.error && remainingAmount !== null && (
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

/** Without a rate there is no amount. */
const inAsset = (amount: string | null, code: string): string =>
  amount === null ? 'No price at the moment' : `${grouped(amount)} ${code}`;

/** The amount with all decimals of the currency, as on a bill. */
function inCurrency(amount: string | null, currency: string): string {
  const { maximumFractionDigits = 0 } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  const [whole = '0', fraction = ''] = (amount ?? '0').split('.');
  const digits = fraction.padEnd(maximumFractionDigits, '0');
  return `${grouped(whole)}${digits && `.${digits}`} ${currency}`;
}

/** Readable from both sides of the counter: once upright, once upside down. */
function Paid({ sale, next }: { sale: Checkout; next: () => void }) {
  const { name, assetCode, receivedAmount, excessAmount, currency, price } = sale;
  const words = (
    <>
      <span class="till-word">Paid</span>
      {currency !== null && <span>{inCurrency(price, currency)}</span>}
      <span>{inAsset(receivedAmount, assetCode)}</span>
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
