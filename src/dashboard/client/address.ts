/** What is shown is said by the address, so that a reload, a bookmark and the way back lose nothing. */
import { useSearchParams } from 'wouter-preact';

/** Path of the dashboard, without a slash at its end. This module is served from its folder `assets`. */
export const BASE = new URL(/* @vite-ignore */ '..', import.meta.url).pathname.replace(/\/$/, '');

/** A value in the query of the address; `''` when it is not there. Setting one replaces the entry in the history, and leaves the page of a list. */
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

/** The page of a list: a whole number from 1. */
export function usePage(): number {
  const [text] = useParam('page');
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 1;
}
