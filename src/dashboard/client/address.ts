/** The address holds the state of a view, so that it survives a reload, a bookmark and the
 *  back button. */
import { useSearchParams } from 'wouter-preact';
import { isSecretSeed, SEED_REFUSED } from '../../../contracts/secret-seed.js';
import { say } from './parts/toast.js';

/** Path of the dashboard, without a trailing slash. This module is served from its
 *  folder `assets`. */
export const BASE = new URL(/* @vite-ignore */ '..', import.meta.url).pathname.replace(/\/$/, '');

/** A value in the query of the address; `''` when absent. Setting it returns to the first page of a
 *  list, and replaces the history entry unless `isStep`: then the browser's way back leads to the
 *  value before. */
export function useParam(name: string, { isStep = false } = {}): [value: string, set: (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (value: string) => {
    // The address is sent with each reload, and kept in the browser's history.
    if (isSecretSeed(value)) return say(SEED_REFUSED, { isBad: true });
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(name);
        else after.set(name, value);
        if (name !== 'page') after.delete('page');
        return after;
      },
      { replace: !isStep },
    );
  };
  return [params.get(name) ?? '', set];
}

/** The number of a list page, from 1. */
export function usePage(): number {
  const [text] = useParam('page');
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 1;
}
