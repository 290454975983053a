/** The address holds the state of a view, so that it survives a reload, a bookmark and the back button. */
import { useSearchParams } from 'wouter-preact';

/** Path of the dashboard, without a trailing slash. This module is served from its folder `assets`. */
export const BASE = new URL(/* @vite-ignore */ '..', import.meta.url).pathname.replace(/\/$/, '');

/** A value in the query of the address; `''` when absent. Setting it replaces the history entry, and returns to the first page of a list. */
export function useParam(name: string): [value: string, set: (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (value: string) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(name);
        else after.set(name, value);
        if (name !== 'page') after.delete('page');
        return after;
      },
      { replace: true },
    );
  return [params.get(name) ?? '', set];
}

/** The number of a list page, from 1. */
export function usePage(): number {
  const [text] = useParam('page');
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 1;
}
