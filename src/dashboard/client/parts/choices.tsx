/** Choices of products and wallets. When there are more than one request returns, they are searched
 *  by a part of their name. */
import type { UseQueryResult } from '@tanstack/preact-query';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useParam } from '../address.js';
import { useRead } from '../api.js';

import { t } from '../texts/texts.js';
import { type Options, TYPING_MS } from './filters.js';
import { Field } from './form.js';

type Source = 'products.list' | 'wallets.list';

const MOST_SHOWN = 100;
const WHAT = { 'products.list': 'searchProduct', 'wallets.list': 'searchWallet' } as const;

interface Choices {
  of: Source;
  options: Options;
  /** There is nothing to choose. */
  isEmpty: boolean;
  /** The id of the only one; `''` when there are several or none. */
  only: string;
  /** There are more than can be shown at once. */
  isMany: boolean;
  /** The number of matches; null without a search. */
  found: number | null;
  lookFor: (text: string) => void;
}

interface Wanted {
  /** Label of the option for no choice. */
  none: string;
  /** Id of the chosen one, which stays among the options whatever is searched for. */
  chosen: string;
  active?: boolean;
}

export function useChoices(of: Source, { none, chosen, active }: Wanted): Choices {
  const [search, lookFor] = useState('');
  const input = { pageSize: MOST_SHOWN, ...(active === undefined ? {} : { active }), ...(search && { search }) };
  // The cast covers wallets too: only the names are used.
  const { data } = useRead(of as 'products.list', input) as UseQueryResult<{
    items: { id: string; name: string }[];
    meta: { total: number };
  }>;
  const isMany = useRef(false);
  if (data && search === '') isMany.current = data.meta.total > MOST_SHOWN;
  const items = data?.items ?? [];
  const isMissing = chosen !== '' && !items.some(({ id }) => id === chosen);
  const missing = useRead(
    (of === 'products.list' ? 'products.get' : 'wallets.get') as 'products.get',
    { id: chosen },
    { enabled: isMissing && data !== undefined, keepPrevious: false },
  ) as UseQueryResult<{ name: string }>;
  return {
    of,
    options: [
      ['', none],
      ...(isMissing ? [[chosen, missing.data?.name ?? (missing.error ? chosen : '…')] as const] : []),
      ...items.map(({ id, name }) => [id, name] as const),
    ],
    isEmpty: data !== undefined && search === '' && items.length === 0,
    only: search === '' && items.length === 1 ? items[0]!.id : '',
    isMany: isMany.current,
    found: search === '' ? null : (data?.meta.total ?? null),
    lookFor,
  };
}

/** Searches shortly after each keystroke. Shown only when there are many choices. */
function LookFor({ choices: { of, isMany, found, lookFor } }: { choices: Choices }) {
  const [typed, setTyped] = useState('');
  const id = useId();
  useEffect(() => {
    const timer = setTimeout(() => lookFor(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  if (!isMany) return null;
  return (
    <div class="field">
      <label for={id}>{t(WHAT[of])}</label>
      <input
        id={id}
        type="search"
        value={typed}
        autoComplete="off"
        onInput={(event) => {
          // The input does not belong to the surrounding form.
          event.stopPropagation();
          setTyped(event.currentTarget.value);
        }}
        onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      />
      <p class="hint" role="status">
        {found === null
          ? t('showingFirst', { most: MOST_SHOWN })
          : found > MOST_SHOWN
            ? t('foundFirst', { n: found, most: MOST_SHOWN })
            : t('found', { n: found })}
      </p>
    </div>
  );
}

interface ChoiceFieldProps {
  name: string;
  label: string;
  hint?: string;
  choices: Choices;
  value: string;
  onInput: (value: string) => void;
}

/** A choice as a field of a form. */
export const ChoiceField = ({ choices, ...field }: ChoiceFieldProps) => (
  <>
    <LookFor choices={choices} />
    <Field {...field} options={choices.options} />
  </>
);

/** A choice as a filter of a list, with its value in the address. */
export function ChoiceFilter({ name, label, of, none }: { name: string; label: string; of: Source; none: string }) {
  const [value, set] = useParam(name);
  const choices = useChoices(of, { none, chosen: value });
  const id = useId();
  return (
    <>
      <LookFor choices={choices} />
      <div class="field">
        <label for={id}>{label}</label>
        <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
          {choices.options.map(([option, text]) => (
            <option key={option} value={option} selected={option === value}>
              {text}
            </option>
          ))}
        </select>
      </div>
    </>
  );
}
