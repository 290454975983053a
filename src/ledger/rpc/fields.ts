/** Schemas of fields that several Stellar RPC answers share. They check a field and convert it to the domain's type. */
import { z } from 'zod';

export const ledgerNumber = z.int().positive();
export const base64 = z.base64();

/** Seconds since the epoch as a number or decimal text, or a time as text. */
export const moment = z.union([
  z
    .union([z.int().nonnegative(), z.string().regex(/^\d{1,12}$/)])
    .transform((seconds) => new Date(Number(seconds) * 1000)),
  z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
]);
