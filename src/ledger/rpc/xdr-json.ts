/** XDR as JSON (SEP-51). Stellar RPC returns the same on request, decoded by its own definitions: one reader serves both, and reads arms that the
 *  SDK does not know. The form follows the XDR and is not guaranteed, so it is read leniently. */
import { z } from 'zod';
import { sdk } from '../../domain/stellar-sdk.js';

/** @throws when the SDK does not know an arm */
export const envelopeAsJson = (base64: string): unknown =>
  sdk().xdr.TransactionEnvelope.fromXdr(base64, 'base64').toJson();
/** @throws when the SDK does not know an arm */
export const resultAsJson = (base64: string): unknown => sdk().xdr.TransactionResult.fromXdr(base64, 'base64').toJson();

/** Null when the SDK does not know an arm. */
export function eventAsJson(base64: string): unknown {
  try {
    return sdk().xdr.ContractEvent.fromXdr(base64, 'base64').toJson();
  } catch {
    return null;
  }
}

/** Null when the SDK does not know an arm. */
export function scValAsJson(base64: string): unknown {
  try {
    return sdk().xdr.ScVal.fromXdr(base64, 'base64').toJson();
  } catch {
    return null;
  }
}

/** A union's arm and its value; an arm without a value is a string. Null for anything but a union. */
export function armOf(union: unknown): { name: string; value: unknown } | null {
  if (typeof union === 'string') return { name: union, value: null };
  if (typeof union !== 'object' || union === null) return null;
  const [entry, ...others] = Object.entries(union);
  return entry && others.length === 0 ? { name: entry[0], value: entry[1] } : null;
}

/** The union's value if it is in this arm, otherwise undefined. */
export function inArm(union: unknown, name: string): unknown {
  const arm = armOf(union);
  return arm?.name === name ? arm.value : undefined;
}

const MAX_DIGITS = 40;

/** An integer of any size. Older servers write small ones as numbers. */
export const integer = z
  .union([
    z
      .string()
      .regex(/^-?\d+$/)
      .max(MAX_DIGITS),
    z.int(),
  ])
  .transform((value) => BigInt(value));

/** 128 bits: a text from current servers, two halves from older ones. */
export const integer128 = z.union([
  integer,
  z.object({ hi: integer, lo: integer }).transform(({ hi, lo }) => (hi << 64n) + lo),
]);

/** The bytes of a text in which all but printable ASCII is escaped. @throws for invalid text */
export const bytesOfText = (escaped: string): Buffer => Buffer.from(sdk().xdr.XdrString.fromJson(escaped).bytes);
