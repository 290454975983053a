/** Control endpoints beyond Horizon: faults on demand, injected records, a reset. Faults do not
 *  affect them. */
import { StrKey } from '@stellar/stellar-sdk/base';
import express, { Router } from 'express';
import { z } from 'zod';
import { fromCanonicalAsset } from '../asset.js';
import { CREDENTIALS } from '../contract-call.js';
import { faultSchema } from '../faults.js';
import { forgedEvent } from '../injection.js';
import type { Ledger } from '../ledger.js';
import { Problem } from './problem.js';

const resetSchema = z.strictObject({ kind: z.literal('reset') });

const injectionSchema = z.strictObject({
  accounts: z.array(z.string()).min(1),
  record: z.record(z.string(), z.unknown()).default({}),
  transaction: z.record(z.string(), z.unknown()).optional(),
  omit: z.array(z.string()).optional(),
  omitTransaction: z.array(z.string()).optional(),
  isPayment: z.boolean().optional(),
  moves: z.boolean().optional(),
  signedBy: z.enum(CREDENTIALS).optional(),
});

const isParty = (text: string) => StrKey.isValidEd25519PublicKey(text) || StrKey.isValidContract(text);

const forgeSchema = z
  .strictObject({
    kind: z.literal('forge'),
    to: z.string().refine(isParty, 'a G... or C... address'),
    from: z.string().refine(isParty, 'a G... or C... address').optional(),
    amount: z.string().regex(/^\d{1,12}(\.\d{1,7})?$/),
    assetCode: z.string().optional(),
    assetIssuer: z.string().nullish(),
    muxedId: z
      .string()
      .regex(/^\d{1,20}$/)
      .optional(),
  })
  .refine(({ assetCode = '', assetIssuer }) => !assetIssuer || fromCanonicalAsset(`${assetCode}:${assetIssuer}`), {
    message: 'an asset has a code of 1 to 12 letters and digits and an issuer',
  });

/** Whether it is a `forge` order, valid or not. */
const isForgery = (body: unknown): boolean => (body as { kind?: unknown } | undefined)?.kind === 'forge';

function parse<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new Problem('bad_request', undefined, z.prettifyError(parsed.error));
}

export function controlRoutes(ledger: Ledger): Router {
  const router = Router();
  const json = express.json({ limit: '1mb' });

  /** Identifies this ledger among other servers, regardless of faults. */
  router.get('/local-ledger', (_req, res) => {
    const { databaseId, sequence } = ledger.head();
    res.json({
      databaseId,
      sequence,
      closeMs: ledger.closeMs,
      passphrase: ledger.passphrase,
      isClosing: ledger.closer.isClosing(),
      faults: ledger.faults.list(),
    });
  });

  router.get('/faults', (_req, res) => {
    res.json({ faults: ledger.faults.list() });
  });
  router.post('/faults', json, async (req, res) => {
    if (resetSchema.safeParse(req.body).success) {
      await ledger.closer.reset();
      res.status(201).json({ kind: 'reset', sequence: ledger.head().sequence });
      return;
    }
    if (isForgery(req.body)) {
      const { kind, ...wanted } = parse(forgeSchema, req.body);
      const id = await ledger.closer.inject(forgedEvent(wanted, ledger.root.publicKey()));
      res.status(201).json({ kind, id });
      return;
    }
    res.status(201).json(ledger.faults.add(parse(faultSchema, req.body)));
  });
  router.delete('/faults', (_req, res) => {
    ledger.faults.clear();
    res.json({ faults: [] });
  });
  router.delete('/faults/:id', (req, res) => {
    if (!ledger.faults.remove(Number(req.params.id))) throw new Problem('not_found');
    res.json({ faults: ledger.faults.list() });
  });

  router.post('/records', json, async (req, res) => {
    const id = await ledger.closer.inject(parse(injectionSchema, req.body));
    res.status(201).json({ id });
  });

  return router;
}
