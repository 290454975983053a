/** Texts with elements in them. */
import { type ComponentChildren, createElement, Fragment, type VNode } from 'preact';
import { formOf, type NamesOf, PLACEHOLDER, shown, type TextKey } from '../texts/texts.js';

type Part = ComponentChildren | ((words: string) => ComponentChildren);
type Filled<Key extends TextKey> = { readonly [Name in NamesOf<Key>]: Name extends 'n' ? number : Part };

/** The text with its placeholders filled in. A function gets the words that its
 *  element surrounds. */
export function rich<Key extends TextKey>(key: Key, values: Filled<Key>): VNode {
  const given = values as Readonly<Record<string, Part>>;
  const parts = formOf(key, given.n).split(PLACEHOLDER);
  const children = parts.map((part, place) => {
    if (place % 3 === 0) return part;
    if (place % 3 === 2) return null;
    const value = given[part];
    if (typeof value === 'function') return value(parts[place + 1] ?? '');
    return typeof value === 'string' || typeof value === 'number' ? shown(value) : value;
  });
  return createElement(Fragment, null, ...children);
}
