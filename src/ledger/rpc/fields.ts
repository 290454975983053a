/** The fields that the answers of Stellar RPC share, each checked and turned into what the domain works with. */
import { z } from 'zod';

export const ledgerNumber = z.int().positive();
export const base64 = z.base64();

/** Seconds since the epoch, as a number or in decimal text, or a time as text. */
export const moment = z.union([
  z
    .union([z.int().nonnegative(), z.string().regex(/^\d{1,12}$/)])
    .transform((seconds) => new Date(Number(seconds) * 1000)),
  z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
]);
