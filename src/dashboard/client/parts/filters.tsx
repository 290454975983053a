/** Filters of lists, with their values in the address. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useParam } from '../address.js';
import { t } from '../texts/texts.js';

export type Options = readonly (readonly [value: string, label: string])[];

export const Tabs = ({
  label,
  options,
  value,
  set,
}: {
  label: string;
  options: Options;
  value: string;
  set: (value: string) => void;
}) => (
  <fieldset class="tabs">
    <legend class="unseen">{label}</legend>
    {options.map(([option, text]) => (
      <button type="button" key={option} aria-pressed={option === value} onClick={() => set(option)}>
        {text}
      </button>
    ))}
  </fieldset>
);

export function Select({ name, label, options }: { name: string; label: string; options: Options }) {
  const [value, set] = useParam(name);
  const id = useId();
  // Includes a value of the address that is not among the options.
  const all = options.some(([option]) => option === value) ? options : [...options, [value, value] as const];
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
        {all.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Delay from a keystroke to the search. */
export const TYPING_MS = 300;

/** Searches shortly after each keystroke. */
export function Search({
  name,
  label,
  type = 'search',
  placeholder,
}: {
  name: string;
  label: string;
  type?: 'search' | 'date';
  placeholder?: string;
}) {
  const [value, set] = useParam(name);
  const [typed, setTyped] = useState(value);
  const id = useId();
  const latest = useRef(set);
  latest.current = set;
  // A value that this field put into the address must not overwrite later keystrokes.
  const own = useRef(value);
  useLayoutEffect(() => {
    if (value === own.current) return;
    own.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => {
    const wanted = typed.trim();
    if (wanted === value) return;
    const timer = setTimeout(() => {
      own.current = wanted;
      latest.current(wanted);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type={type}
        value={typed}
        placeholder={placeholder}
        onInput={(event) => setTyped(event.currentTarget.value)}
        autoComplete="off"
      />
    </div>
  );
}

/** Collapsed until one of them is used. */
export function Filters({
  values,
  children,
}: {
  values: Readonly<Record<string, string>>;
  children: ComponentChildren;
}) {
  const [path, navigate] = useLocation();
  const used = Object.values(values).filter(Boolean).length;
  return (
    <details class="filters" open={used > 0}>
      <summary>{used > 0 ? t('filtersUsed', { used }) : t('filters')}</summary>
      <div class="grid">{children}</div>
      {used > 0 && (
        <button type="button" class="plain" onClick={() => navigate(path, { replace: true })}>
          {t('clearFilters')}
        </button>
      )}
    </details>
  );
}
