/** The changes that an activity records: fields with their old and new values. A record is bounded and never holds a secret. */
type Value = string | number | boolean | null | string[];

export interface Change {
  field: string;
  from: Value;
  to: Value;
}

export interface Actor {
  type: 'user' | 'key' | 'cli' | 'system';
  id: string;
  name: string;
}

/** Stands for a secret among fields: it can be compared, but is never shown. */
export class Secret {
  readonly #of: string;
  constructor(of: string) {
    this.#of = of;
  }
  equals(other: unknown): boolean {
    return other instanceof Secret && other.#of === this.#of;
  }
}

/** Fields of a resource by their API names. */
export type Shown = Readonly<Record<string, Value | Secret | undefined>>;

/** Actors without a user or key: the service itself, and the operator's command line. */
export const SYSTEM: Actor = { type: 'system', id: 'system', name: 'system' };
export const CLI: Actor = { type: 'cli', id: 'cli', name: 'cli' };

/** Data of a payer must not outlast the checkout. */
const PERSONAL: ReadonlySet<string> = new Set(['customerEmail']);
const MAX_CHANGES = 50;
const MAX_CHARACTERS = 300;
const MAX_ENTRIES = 30;

/** The fields that differ. Null stands for an absent value. */
export function changesBetween(before: Shown | null, after: Shown | null): Change[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  const changes = [...fields].flatMap((field): Change[] => {
    const [from, to] = [before?.[field] ?? null, after?.[field] ?? null];
    if (isSame(from, to)) return [];
    if (from instanceof Secret || to instanceof Secret) return [{ field, from: null, to: null }];
    return [{ field, from: cut(from), to: cut(to) }];
  });
  return bounded(changes);
}

/** The fields of a new resource, from its valid body. A payer's address is noted as given, without its value. */
export function changesAsked(body: Readonly<Record<string, unknown>>): Change[] {
  return bounded(flat(body).map(([field, to]) => ({ field, from: null, to: PERSONAL.has(field) ? null : cut(to) })));
}

/** All given fields, those of objects as `object.field`. */
export const flat = (fields: Readonly<Record<string, unknown>>, prefix = ''): [string, Exclude<Value, null>][] =>
  Object.entries(fields).flatMap(([name, value]): [string, Exclude<Value, null>][] => {
    if (value === undefined || value === null) return [];
    const field = `${prefix}${name}`;
    if (Array.isArray(value)) return [[field, value.map((each) => textOf(each))]];
    if (typeof value === 'object') return flat(value as Record<string, unknown>, `${field}.`);
    return [[field, typeof value === 'number' || typeof value === 'boolean' ? value : String(value)]];
  });

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function isSame(from: Value | Secret, to: Value | Secret): boolean {
  if (from instanceof Secret) return from.equals(to);
  return JSON.stringify(from) === JSON.stringify(to);
}

/** Notes how many changes it leaves out. */
function bounded(changes: Change[]): Change[] {
  if (changes.length <= MAX_CHANGES) return changes;
  const more = changes.length - MAX_CHANGES;
  return [...changes.slice(0, MAX_CHANGES), { field: '…', from: null, to: `${more} more fields` }];
}

function cut(value: Value): Value {
  if (typeof value === 'string') return cutText(value);
  if (!Array.isArray(value)) return value;
  const kept = value.slice(0, MAX_ENTRIES).map(cutText);
  return value.length > MAX_ENTRIES ? [...kept, `… ${value.length - MAX_ENTRIES} more`] : kept;
}

function cutText(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  // Never split a surrogate pair.
  const kept = text.slice(0, MAX_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '');
  return `${kept}… (${text.length} characters)`;
}
