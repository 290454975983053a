/** Instructions to pay a link or a checkout: everything for a merchant's own page or receipt. */
import { z } from 'zod';
import { instructionsExample } from './examples.js';
import { networkSchema } from './networks.js';
import { amount, amountInput } from './primitives.js';

export const instructionsSchema = z
  .object({
    address: z.string().meta({ description: "The wallet's address, to be paid together with the memo." }),
    muxedAddress: z.string().meta({
      description:
        'M… address that needs no memo, for wallets that cannot send one. Some wallets do not know such addresses yet.',
    }),
    memo: z.string().meta({ description: 'Text memo that a payment to `address` must carry.' }),
    memoId: z.string().meta({ description: 'The same memo as a number, for wallets that only send an id memo.' }),
    amount: amount.nullable().meta({ description: 'Amount to pay; null lets the payer choose.' }),
    assetCode: z.string(),
    assetIssuer: z.string().nullable(),
    network: networkSchema,
    networkPassphrase: z.string(),
    uri: z.string().meta({ description: 'SEP-7 `web+stellar:pay` request that a wallet opens or scans.' }),
    qrSvg: z.string().meta({ description: '`uri` as a QR code: an SVG document.' }),
    pageUrl: z.string().meta({ description: 'The hosted payment page.' }),
  })
  .meta({ id: 'Instructions', examples: [instructionsExample] });

/** An empty `amount=` counts as absent. */
export const amountQuery = z
  .string()
  .superRefine((text, ctx) => {
    if (text === '') return;
    for (const issue of amountInput.safeParse(text).error?.issues ?? []) ctx.addIssue({ ...issue } as never);
  })
  .optional()
  .meta({
    description: 'Amount that the payer has chosen. Only for a CUSTOM product, and at least its minimum.',
    examples: ['10.5'],
  });
