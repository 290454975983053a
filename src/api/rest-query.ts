/** Converts query text to values by the contract's types. Text of another form stays as it is, for
 *  the contract to refuse. */
import { z } from 'zod';
import type { Operation } from '../../contracts/operation.js';
import { ApiError } from '../kit/api-error.js';

export type QueryReader = (query: string) => Record<string, unknown>;

/** Unknown names are passed on as text, for the contract to refuse. */
export function queryReader(operation: Operation): QueryReader {
  const kinds = new Map(Object.entries(operation.query).map(([name, schema]) => [name, kindOf(schema as z.ZodType)]));
  return (query) => {
    if (query === '') return {};
    // URLSearchParams puts U+FFFD where it cannot decode.
    if (query.includes('%')) refuseUndecodable(query);
    const sent = new Map<string, string[]>();
    for (const [name, text] of new URLSearchParams(query)) {
      const texts = sent.get(name);
      if (texts) texts.push(text);
      else sent.set(name, [text]);
    }
    // A name may be `__proto__`, which an assignment would not keep.
    return Object.fromEntries([...sent].map(([name, texts]) => [name, valueIn(texts, kinds.get(name) ?? 'text')]));
  };
}

/** A parameter that was sent twice has no single value: the contract refuses the array. */
const valueIn = (texts: string[], kind: Kind): unknown =>
  kind === 'array' || texts.length > 1 ? texts : typedValue(texts[0]!, kind);

/** @throws ApiError `bad_request` */
function refuseUndecodable(query: string): void {
  try {
    decodeURIComponent(query);
  } catch {
    throw new ApiError('bad_request', 'The URL is not encoded correctly.');
  }
}

type Kind = 'array' | 'number' | 'boolean' | 'text';

function kindOf(schema: z.ZodType): Kind {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return kindOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return 'array';
  if (schema instanceof z.ZodNumber) return 'number';
  return schema instanceof z.ZodBoolean ? 'boolean' : 'text';
}

function typedValue(text: string, kind: Kind): unknown {
  if (kind === 'number' && /^\d+$/.test(text)) return Number(text);
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
