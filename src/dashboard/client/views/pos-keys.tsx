/** At the till: the typed amount, by taps, by a keyboard, or pasted. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { minorDigits } from '../../../../contracts/currencies.js';
import { grouped, readAmount, stroopsOf, typedMoney } from '../format.js';

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
  useEffect(() => {
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
          aria-label={key === '⌫' ? 'Delete' : key}
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
