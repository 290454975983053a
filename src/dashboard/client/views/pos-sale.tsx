/** A sale at the till: its code fills the screen until it is paid, which the screen shows
 *  both sides. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { minorDigits } from '../../../../contracts/currencies.js';
import { failureOf, type Input, type Output, stopRead, useRead, useWrite } from '../api.js';
import { grouped, money, readAmount, stroopsOf, typedMoney } from '../format.js';
import { Outside } from '../parts/bits.js';
import { Qr } from '../parts/qr-block.js';
import { t } from '../texts/texts.js';
import type { Begun } from './pos-others.js';

// At the till: the typed amount, by taps, by a keyboard, or pasted.

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '0', '⌫'] as const;
type Key = (typeof KEYS)[number];

const MOST_DIGITS = 12;
const MOST_DECIMALS = 7;

/** The amount after a key; unchanged when it would no longer be a valid amount. */
function typedWith(before: string, key: Key, mostDecimals: number): string {
  if (key === '⌫') return before.slice(0, -1);
  if (key === '.' && mostDecimals === 0) return before;
  const after = key === '.' && before === '' ? '0.' : before === '0' && key !== '.' ? key : before + key;
  const [whole = '', decimals, more] = after.split('.');
  const isAmount = more === undefined && whole.length <= MOST_DIGITS && (decimals ?? '').length <= mostDecimals;
  return isAmount ? after : before;
}

/** Digits of any script, and the decimal separator of any language. */
function keyOf(pressed: string): Key | null {
  if (pressed === 'Backspace') return '⌫';
  if (/^[.,٫]$/u.test(pressed)) return '.';
  const read = readAmount(pressed, '');
  return /^\p{Nd}$/u.test(pressed) && read.state === 'number' ? (read.amount as Key) : null;
}

/** The typed amount, cleared when the unit changes: five euros are not five lumens.
 *  @param currency null for amounts of the asset @param enter what the key Enter does */
export function useTyped(currency: string | null, assetCode: string, enter: () => void) {
  const [typed, setTyped] = useState({ currency, text: '' });
  const text = typed.currency === currency ? typed.text : '';
  const mostDecimals = currency === null ? MOST_DECIMALS : minorDigits(currency);
  // Keys may come faster than they are drawn.
  const change = (make: (before: string) => string) =>
    setTyped((before) => ({ currency, text: make(before.currency === currency ? before.text : '') }));
  const press = (key: Key) => change((before) => typedWith(before, key, mostDecimals));
  const paste = (pasted: string) => {
    const read = readAmount(pasted, currency ?? assetCode);
    if (read.state !== 'number') return;
    change(() => [...read.amount].reduce((before, key) => typedWith(before, key as Key, mostDecimals), ''));
  };
  useKeyboard({ press, paste, enter });
  // A trailing point is no amount for the API.
  const amount = text.replace(/\.$/, '');
  const shown = currency === null ? `${grouped(text || '0')} ${assetCode}` : typedMoney(text || '0', currency);
  return { amount, shown, press, isMore: amount !== '' && stroopsOf(amount) > 0n };
}

const FIELDS = 'input, select, textarea';
/** They do what they are for when Enter is pressed on them. */
const DOERS = 'a, button, select, input, textarea';

function useKeyboard(acts: { press: (key: Key) => void; paste: (text: string) => void; enter: () => void }): void {
  const latest = useRef(acts);
  latest.current = acts;
  // Keys are heard as soon as the amount is drawn: on a busy device an effect comes later.
  useLayoutEffect(() => {
    const isOn = (target: EventTarget | null, kinds: string) => target instanceof Element && target.matches(kinds);
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Enter' && !event.repeat && !isOn(event.target, DOERS)) return latest.current.enter();
      const key = keyOf(event.key);
      if (key === null || isOn(event.target, FIELDS)) return;
      event.preventDefault();
      latest.current.press(key);
    };
    const onPaste = (event: ClipboardEvent) => {
      if (!isOn(event.target, FIELDS)) latest.current.paste(event.clipboardData?.getData('text') ?? '');
    };
    addEventListener('keydown', onKey);
    addEventListener('paste', onPaste);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('paste', onPaste);
    };
  }, []);
}

export function Keys({ press }: { press: (key: Key) => void }) {
  return (
    <div class="till-keys">
      {KEYS.map((key) => (
        <button
          key={key}
          type="button"
          class="plain"
          aria-label={key === '⌫' ? t('delete') : key}
          // A tap leaves the focus, so that Enter charges.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => press(key)}
        >
          {key}
        </button>
      ))}
    </div>
  );
}

// At the till: what every way to enter a sale needs.

/** A sale at the counter is soon over. */
const LIFETIME_MS = 15 * 60_000;
/** Pause after the last key before something is requested. */
const REST_MS = 400;

export interface SaleEntry {
  begun: Begun;
  /** Shows the sale. */
  begin: (id: string) => void;
  isOnline: boolean;
}

/** Makes the checkout of a sale, and shows it. */
export function useCharge({ begun, begin }: Pick<SaleEntry, 'begun' | 'begin'>) {
  const create = useWrite('checkouts.create');
  const charge = async (sale: Input<'checkouts.create'>): Promise<void> => {
    try {
      const expiresAt = new Date(Date.now() + LIFETIME_MS).toISOString();
      const { id } = await create.mutateAsync({ ...sale, expiresAt }, sale);
      begun.add(id);
      begin(id);
    } catch {}
  };
  return { charge, isPending: create.isPending, error: create.error };
}

export function useRested(text: string): string {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(setRested, REST_MS, text);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}

type Checkout = Output<'checkouts.get'>;

const LOOK_MS = 1_000;

/** @param next leads to the next sale @param ended is told when this one is over, and on
 *  the screen */
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
        <p>{sale.error ? failureOf(sale.error).message : t('oneMoment')}</p>
        <button type="button" class="till-main plain" onClick={next}>
          {t('back')}
        </button>
      </div>
    );
  if (data.status === 'PAID') return <Paid sale={data} next={next} />;
  if (data.status !== 'OPEN') return <Unpaid sale={data} next={next} />;
  return <Waiting sale={data} failure={sale.error} next={next} />;
}

/** The sale and its code, of one moment. A payment changes what is due, and until the code asks for
 *  the new amount there is none; a moved rate leaves the earlier code good until the next one
 *  is there.
 *  @param isOpen a sale that is being cancelled has no code any more */
function useCode(sale: Checkout, isOpen: boolean): { sale: Checkout; uri: string | null; error: unknown } {
  const { id, receivedAmount, remainingAmount } = sale;
  const pay = useRead(
    'checkouts.instructions',
    { id },
    {
      enabled: isOpen,
      // A code that asks for what is due stays right, and is asked for no more: a sale that was
      // paid since the last look has none.
      refetchInterval: (code) => code?.amount !== remainingAmount && LOOK_MS * 5,
    },
  );
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
  const cancel = useWrite('checkouts.cancel');
  const [isStopping, setStopping] = useState(false);
  const { sale, uri, error } = useCode(newest, !isStopping);
  const { id, name, assetCode, receivedAmount, remainingAmount, remainingValue, currency } = sale;
  const trouble = failure ?? error;
  // Once nothing asks for the code any more: a cancelled sale has none.
  useEffect(() => {
    if (isStopping) void stop();
  }, [isStopping]);
  async function stop(): Promise<void> {
    try {
      await stopRead('checkouts.instructions', { id });
      await cancel.mutateAsync({ id });
      next();
    } catch {
      setStopping(false);
    }
  }
  return (
    <div class="till-state">
      <p class="till-amount">
        {currency === null ? inAsset(remainingAmount, assetCode) : money(remainingValue ?? '0', currency)}
        {currency !== null && <span class="till-beside">{inAsset(remainingAmount, assetCode)}</span>}
      </p>
      <p>
        <bdi>{name}</bdi>
        {receivedAmount !== '0' && <span>{t('cameAlready', { amount: inAsset(receivedAmount, assetCode) })}</span>}
      </p>
      <div class="till-code">{uri && <Qr text={uri} label={t('scanPay')} />}</div>
      <p role="status">{trouble ? failureOf(trouble).message : t('waitingPayment')}</p>
      {cancel.error && (
        <p class="problem" role="alert">
          {failureOf(cancel.error).message}
        </p>
      )}
      <div class="actions">
        <button type="button" class="plain" onClick={next}>
          {t('backStaysOpen')}
        </button>
        <button type="button" class="plain" aria-disabled={isStopping} onClick={() => setStopping(true)}>
          {t('cancelSale')}
        </button>
      </div>
    </div>
  );
}

/** Without a rate there is no amount. */
const inAsset = (amount: string | null, code: string): string =>
  amount === null ? t('noPriceMoment') : `${grouped(amount)} ${code}`;

/** Focused, so that Enter leads on. */
function Next({ next }: { next: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  return (
    <button ref={button} type="button" class="till-main" onClick={next}>
      {t('next')}
    </button>
  );
}

function Unpaid({ sale: { status, receivedAmount, assetCode }, next }: { sale: Checkout; next: () => void }) {
  return (
    <div class="till-state bad">
      <p role="status">
        <span class="till-word">{status === 'EXPIRED' ? t('notPaidTime') : t('saleCancelled')}</span>
        {receivedAmount !== '0' && <span>{t('cameAndWaits', { amount: inAsset(receivedAmount, assetCode) })}</span>}
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
      <span class="till-word">{t('salePaid')}</span>
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
        {excessAmount && <span>{t('amountTooMuch', { amount: inAsset(excessAmount, assetCode) })}</span>}
      </p>
      <Outside href={`${url}/receipt`}>{t('receiptPrint')}</Outside>
      <SendReceipt name={name} url={`${url}/receipt`} />
      <Next next={next} />
    </div>
  );
}

/** By what the device shares with, else by e-mail. */
function SendReceipt({ name, url }: { name: string; url: string }) {
  const title = t('receiptOf', { name });
  if (!('share' in navigator)) {
    const letter = `mailto:?subject=${encodeURIComponent(title)}&body=${encodeURIComponent(url)}`;
    return <a href={letter}>{t('sendReceipt')}</a>;
  }
  // A device says so itself when it was not sent.
  const share = () => void navigator.share({ title, url }).catch(() => undefined);
  return (
    <button type="button" class="plain" onClick={share}>
      {t('sendReceipt')}
    </button>
  );
}
