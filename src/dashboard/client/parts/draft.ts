/** Drafts: input of a form that was not sent yet. A draft survives a reload and the back button,
 *  because it is kept in the history entry: not in the address, which may be passed on, nor in the
 *  browser's storage, which outlasts the tab. */
import { useEffect, useRef } from 'preact/hooks';
import { useSearch } from 'wouter-preact';
import { isSecretSeed } from '../../../../contracts/secret-seed.js';
import { useSession } from '../api.js';

/** Values by the names of the fields. */
type Typed = Readonly<Record<string, readonly string[]>>;

export interface Draft {
  /** The typed values; empty for an untouched form. */
  all(): Typed;
  /** The first value of a field; undefined when nothing was typed into it. */
  first(name: string): string | undefined;
  /** Keeps only the typed field, because the form's own defaults may differ next time. */
  keep(form: HTMLFormElement, field: EventTarget | null): void;
  /** Deletes the draft once the form is sent. */
  forget(): void;
}

/** Browsers refuse frequent changes of a history entry. */
const TYPING_MS = 300;

interface State {
  draft?: { id: string; typed: Typed };
}
const stateOfEntry = () => (history.state ?? {}) as State;

function createDraft(id: string) {
  const found = stateOfEntry().draft;
  let typed: Typed = found?.id === id ? found.typed : {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  const write = () => {
    clearTimeout(timer);
    timer = undefined;
    if (Object.keys(typed).length > 0) history.replaceState({ ...stateOfEntry(), draft: { id, typed } }, '');
  };
  return {
    all: () => typed,
    first: (name: string) => typed[name]?.[0],
    keep(form: HTMLFormElement, field: EventTarget | null) {
      const { name = '', type, value = '' } = field as HTMLInputElement;
      if (name === '' || type === 'password' || isSecretSeed(value)) return;
      typed = { ...typed, [name]: new FormData(form).getAll(name).map(String) };
      timer ??= setTimeout(write, TYPING_MS);
    },
    forget() {
      clearTimeout(timer);
      timer = undefined;
      typed = {};
      const { draft, ...others } = stateOfEntry();
      if (draft) history.replaceState(others, '');
    },
    write,
    isPending: () => timer !== undefined,
    leave: () => clearTimeout(timer),
  };
}

/** @param form the form's name within the account: `product:new` */
export function useDraft(form: string): Draft {
  const account = useSession().data?.account.id ?? '';
  const ref = useRef<ReturnType<typeof createDraft>>();
  ref.current ??= createDraft(`${account}:${form}`);
  const draft = ref.current;
  const search = useSearch();
  // A new query in the address replaces the history entry.
  useEffect(() => draft.write(), [search]);
  useEffect(() => {
    const flush = () => draft.isPending() && draft.write();
    addEventListener('pagehide', flush);
    return () => {
      removeEventListener('pagehide', flush);
      draft.leave();
    };
  }, []);
  return draft;
}
