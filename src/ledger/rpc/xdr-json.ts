/** XDR as JSON (SEP-51). Stellar RPC gives the same on request, decoded by its own definitions, so one reader serves both, and what is unknown here can be
 *  read all the same. Its form follows the XDR and promises nothing: what is read of it is read leniently. */
import { z } from 'zod';
import { sdk } from '../../domain/stellar-sdk.js';

/** @throws where the SDK does not know an arm of it */
export const envelopeAsJson = (base64: string): unknown =>
  sdk().xdr.TransactionEnvelope.fromXdr(base64, 'base64').toJson();
/** @throws as above */
export const resultAsJson = (base64: string): unknown => sdk().xdr.TransactionResult.fromXdr(base64, 'base64').toJson();

/** Null where the SDK does not know an arm of it. */
export function eventAsJson(base64: string): unknown {
  try {
    return sdk().xdr.ContractEvent.fromXdr(base64, 'base64').toJson();
  } catch {
    return null;
  }
}

/** Null where the SDK does not know an arm of it. */
export function scValAsJson(base64: string): unknown {
  try {
    return sdk().xdr.ScVal.fromXdr(base64, 'base64').toJson();
  } catch {
    return null;
  }
}

/** The one arm of a union, and what it holds; an arm that holds nothing is a text. Null for what is no union. */
export function armOf(union: unknown): { name: string; value: unknown } | null {
  if (typeof union === 'string') return { name: union, value: null };
  if (typeof union !== 'object' || union === null) return null;
  const [entry, ...others] = Object.entries(union);
  return entry && others.length === 0 ? { name: entry[0], value: entry[1] } : null;
}

/** What the union holds in this arm; undefined in any other. */
export function inArm(union: unknown, name: string): unknown {
  const arm = armOf(union);
  return arm?.name === name ? arm.value : undefined;
}

const MAX_DIGITS = 40;

/** An integer of any size, which older servers wrote as a number where it was small. */
export const integer = z
  .union([
    z
      .string()
      .regex(/^-?\d+$/)
      .max(MAX_DIGITS),
    z.int(),
  ])
  .transform((value) => BigInt(value));

/** 128 bits: a text of today's servers, two halves of older ones. */
export const integer128 = z.union([
  integer,
  z.object({ hi: integer, lo: integer }).transform(({ hi, lo }) => (hi << 64n) + lo),
]);

/** The bytes of a text, in which all but printable ASCII is escaped. @throws where it is none */
export const bytesOfText = (escaped: string): Buffer => Buffer.from(sdk().xdr.XdrString.fromJson(escaped).bytes);
