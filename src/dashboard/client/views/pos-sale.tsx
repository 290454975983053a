/** A sale at the till: its code fills the screen until it is paid, which the screen shows both sides. */
import { useEffect, useRef } from 'preact/hooks';
import { failureOf, type Output, useRead, useWrite } from '../api.js';
import { grouped, money } from '../format.js';
import { useOnce } from '../once.js';
import { Outside } from '../parts/bits.js';
import { Qr } from '../parts/qr-block.js';

type Checkout = Output<'checkouts.get'>;

const LOOK_MS = 1_000;

/** @param next leads to the next sale @param ended is told when this one is over, and on the screen */
export function Sale({ id, next, ended }: { id: string; next: () => void; ended: (id: string) => void }) {
  const sale = useRead('checkouts.get', { id }, { refetchInterval: LOOK_MS, keepPrevious: false });
  const { data } = sale;
  const isOver = data !== undefined && data.status !== 'OPEN';
  useEffect(() => {
    if (isOver) ended(id);
  }, [isOver]);
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
  if (data.status !== 'OPEN') return <Unpaid sale={data} next={next} />;
  return <Waiting sale={data} failure={sale.error} next={next} />;
}

/** The sale and its code, of one moment. A payment changes what is due, and until the code asks for the new amount there is none; a moved rate leaves the
 *  earlier code good until the next one is there. */
function useCode(sale: Checkout): { sale: Checkout; uri: string | null; error: unknown } {
  const { id, receivedAmount, remainingAmount } = sale;
  const pay = useRead('checkouts.instructions', { id }, { refetchInterval: LOOK_MS * 5, keepPrevious: true });
  const { amount, uri } = pay.data ?? {};
  const isOne = amount === remainingAmount;
  useEffect(() => {
    if (amount !== undefined && !isOne) void pay.refetch();
  }, [amount, remainingAmount]);
  const last = useRef<{ sale: Checkout; uri: string } | null>(null);
  if (uri && isOne && !pay.error) last.current = { sale, uri };
  const isGood = !pay.error && remainingAmount !== null && last.current?.sale.receivedAmount === receivedAmount;
  return { ...(isGood ? last.current! : { sale, uri: null }), error: pay.error };
}

function Waiting({ sale: newest, failure, next }: { sale: Checkout; failure: unknown; next: () => void }) {
  const { sale, uri, error } = useCode(newest);
  const { id, name, assetCode, receivedAmount, remainingAmount, remainingValue, currency } = sale;
  const trouble = failure ?? error;
  const cancel = useWrite('checkouts.cancel');
  const stop = useOnce(async () => {
    try {
      await cancel.mutateAsync({ id });
      next();
    } catch {}
  });
  return (
    <div class="till-state">
      <p class="till-amount">
        {currency === null ? inAsset(remainingAmount, assetCode) : money(remainingValue ?? '0', currency)}
        {currency !== null && <span class="till-beside">{inAsset(remainingAmount, assetCode)}</span>}
      </p>
      <p>
        <bdi>{name}</bdi>
        {receivedAmount !== '0' && <span>{inAsset(receivedAmount, assetCode)} came already.</span>}
      </p>
      <div class="till-code">{uri && <Qr text={uri} label="Scan to pay" />}</div>
      <p role="status">{trouble ? failureOf(trouble).message : 'Waiting for the payment…'}</p>
      {cancel.error && (
        <p class="problem" role="alert">
          {failureOf(cancel.error).message}
        </p>
      )}
      <div class="actions">
        <button type="button" class="plain" onClick={next}>
          Back, it stays open
        </button>
        <button type="button" class="plain" aria-disabled={cancel.isPending} onClick={() => void stop()}>
          Cancel
        </button>
      </div>
    </div>
  );
}

/** Without a rate there is no amount. */
const inAsset = (amount: string | null, code: string): string =>
  amount === null ? 'No price at the moment' : `${grouped(amount)} ${code}`;

/** Focused, so that Enter leads on. */
function Next({ next }: { next: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  return (
    <button ref={button} type="button" class="till-main" onClick={next}>
      Next
    </button>
  );
}

function Unpaid({ sale: { status, receivedAmount, assetCode }, next }: { sale: Checkout; next: () => void }) {
  return (
    <div class="till-state bad">
      <p role="status">
        <span class="till-word">{status === 'EXPIRED' ? 'Not paid in time' : 'Cancelled'}</span>
        {receivedAmount !== '0' && (
          <span>{inAsset(receivedAmount, assetCode)} came, and waits for a decision under “Sales”.</span>
        )}
      </p>
      <Next next={next} />
    </div>
  );
}

/** Readable from both sides of the counter: once upright, once upside down. */
function Paid({ sale, next }: { sale: Checkout; next: () => void }) {
  const { name, assetCode, receivedAmount, excessAmount, currency, price, url } = sale;
  const words = (
    <>
      <span class="till-word">Paid</span>
      {currency !== null && <span>{money(price!, currency)}</span>}
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
            {grouped(excessAmount)} {assetCode} too much
          </span>
        )}
      </p>
      <Outside href={`${url}/receipt`}>Receipt, to print</Outside>
      <Next next={next} />
    </div>
  );
}
