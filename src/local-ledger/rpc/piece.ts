/** Pieces of XDR in the requested `xdrFormat`: base64 in fields that end in `Xdr`, or JSON in
 *  fields that end in `Json`. */
import { z } from 'zod';
import { type Patch, patchedBytes, patchedJson } from '../patch.js';

export const formatSchema = z.enum(['', 'base64', 'json']).nullish();
export type Format = z.output<typeof formatSchema>;

export interface Piece {
  base64: string;
  json(): unknown;
}

interface Value {
  toXdr(): Uint8Array;
  toJson(): unknown;
}

export const pieceOf = (value: Value, patches: readonly Patch[] = []): Piece => ({
  base64: patchedBytes(value.toXdr(), patches).toString('base64'),
  json: () => patchedJson(value.toJson(), patches),
});

type Pieces = Piece | Pieces[];

const shown = (pieces: Pieces, format: Format): unknown => {
  if (Array.isArray(pieces)) return pieces.map((each) => shown(each, format));
  return format === 'json' ? pieces.json() : pieces.base64;
};

/** @param fields by name without the ending */
export const inFormat = (format: Format, fields: Record<string, Pieces>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, pieces]) => [
      `${name}${format === 'json' ? 'Json' : 'Xdr'}`,
      shown(pieces, format),
    ]),
  );
