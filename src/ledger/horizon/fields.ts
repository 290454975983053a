/** Schemas of fields that several Horizon answers share. They check a field and convert it to the
 *  domain's type. */
import { z } from 'zod';
import { isAccountAddress } from '../../../contracts/address.js';
import { parseAmount } from '../../domain/amount.js';
import { type Asset, NATIVE } from '../../domain/asset.js';
import { accountOf, parseMuxed } from '../../domain/strkey.js';
import { isOperation, isOtherHolder, parseToid } from '../records.js';

/** Marks a fault that is not `malformed`. */
const OUT_OF_RANGE = { fault: 'out_of_range' } as const;

export const hash = z.string().regex(/^[0-9a-f]{64}$/, 'is not a hash');

/** The id (TOID) of an operation: it names a ledger, a transaction and an operation. */
export const toid = z.string().transform((text, ctx) => {
  const id = parseToid(text);
  if (id !== null && isOperation(id)) return id;
  ctx.addIssue({ code: 'custom', message: 'is not an operation id' });
  return z.NEVER;
});

export const moment = z.iso.datetime({ offset: true, error: 'is not a time' }).transform((text) => new Date(text));

/** Stroops, perhaps 0. */
export const amount = z.string().transform((text, ctx) => {
  const stroops = parseAmount(text);
  if (stroops !== null) return stroops;
  const numeric = /^-?\d{1,60}(\.\d{1,60})?$/.test(text);
  ctx.addIssue({
    code: 'custom',
    message: numeric ? 'is not an amount that the ledger can hold' : 'is not an amount',
    ...(numeric ? { params: OUT_OF_RANGE } : {}),
  });
  return z.NEVER;
});

/** G…, or the base account of an M…. */
export const account = z.string().transform((text, ctx) => {
  const base = accountOf(text);
  if (base !== null) return base;
  ctx.addIssue({ code: 'custom', message: 'is not an account' });
  return z.NEVER;
});

/** An account as above, or another holder's address unchanged. */
export const holder = z.string().transform((text, ctx) => {
  const base = accountOf(text) ?? (isOtherHolder(text) ? text : null);
  if (base !== null) return base;
  ctx.addIssue({ code: 'custom', message: 'is not an address' });
  return z.NEVER;
});

/** M…, optional. */
export const muxedAddress = z
  .string()
  .transform((text, ctx) => {
    const muxed = parseMuxed(text);
    if (muxed) return muxed;
    ctx.addIssue({ code: 'custom', message: 'is not a muxed account' });
    return z.NEVER;
  })
  .optional();

const MAX_UINT64 = 18_446_744_073_709_551_615n;

/** Decimal text of an unsigned 64-bit integer. */
export const uint64 = z
  .string()
  .refine(
    (text) => /^(0|[1-9]\d{0,19})$/.test(text) && BigInt(text) <= MAX_UINT64,
    'is not an unsigned 64-bit integer',
  );

/** The triple `asset_type`, `asset_code`, `asset_issuer`. */
export const asset = z
  .discriminatedUnion('asset_type', [
    z.object({ asset_type: z.literal('native') }),
    z.object({
      asset_type: z.enum(['credit_alphanum4', 'credit_alphanum12']),
      asset_code: z.string().regex(/^[A-Za-z0-9]{1,12}$/, 'is not an asset code'),
      asset_issuer: z.string().refine(isAccountAddress, 'is not an account'),
    }),
  ])
  .transform((triple): Asset => {
    return triple.asset_type === 'native' ? NATIVE : { code: triple.asset_code, issuer: triple.asset_issuer };
  });

/** A fault of a field; the reason holds none of the record's content. */
export interface FieldFault {
  fault: 'malformed' | 'out_of_range';
  reason: string;
}

/** The first fault of a failed parse. */
export function faultOf(error: z.ZodError): FieldFault {
  const issue = error.issues[0];
  const reason = [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
  const outOfRange = issue?.code === 'custom' && issue.params?.fault === OUT_OF_RANGE.fault;
  return { fault: outOfRange ? 'out_of_range' : 'malformed', reason };
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
