/** What was typed into a form and not sent yet. A reload and the way back find it again: it is kept in the entry of the browser's history, not in the
 *  address, which may be passed on, nor in the browser's storage, which outlasts the tab. */
import { useEffect, useRef } from 'preact/hooks';
import { useSearch } from 'wouter-preact';
import { useSession } from '../api.js';

/** By the names of the fields. */
type Typed = Readonly<Record<string, readonly string[]>>;

export interface Draft {
  /** What was typed so far; empty for a form as it came. */
  all(): Typed;
  /** The one value of a field; undefined when nothing was typed into it. */
  first(name: string): string | undefined;
  /** Keeps what was typed into a field: what the form chose by itself may be another choice next time. */
  keep(form: HTMLFormElement, field: EventTarget | null): void;
  /** Once it was sent. */
  forget(): void;
}

/** Browsers refuse too many changes of an entry in a short time. */
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
      const { name = '', type } = field as HTMLInputElement;
      if (name === '' || type === 'password') return;
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

/** @param form names it within the account: `product:new` */
export function useDraft(form: string): Draft {
  const account = useSession().data?.account.id ?? '';
  const ref = useRef<ReturnType<typeof createDraft>>();
  ref.current ??= createDraft(`${account}:${form}`);
  const draft = ref.current;
  const search = useSearch();
  // A new query in the address takes the place of the entry.
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
