/** Operations of the hosted pages for wallets in the browser: build a transaction for an account,
 *  and submit it once it is signed. They are served beside the pages, without a key:
 *  `/p/<slug>/transaction`, `/p/<slug>/submit`, and the same under `/c/`. */
import { z } from 'zod';
import { operation, type Rules } from './operation.js';
import { accountAddress, amount, amountInput, assetCodeInput, text } from './primitives.js';

/** One payment with as many signatures as the network allows takes about 2,500. */
export const MAX_ENVELOPE_CHARACTERS = 4096;

const tag = 'Pages';

const wayInput = z.strictObject({
  assetCode: assetCodeInput,
  assetIssuer: accountAddress.nullish().meta({ description: 'Required for every asset but XLM, refused for XLM.' }),
});

const waySchema = z.object({
  assetCode: z.string(),
  assetIssuer: z.string().nullable(),
  balance: amount.meta({ description: 'What the account holds, its reserve included.' }),
  cost: amount.meta({ description: 'What the payment would cost in this asset now.' }),
});

/** Every asset but XLM needs an issuer. */
const sendAssetRules: Rules = ({ sendAsset }) => {
  if (typeof sendAsset !== 'object' || sendAsset === null) return [];
  const { assetCode, assetIssuer } = sendAsset as Record<string, unknown>;
  const isGiven = assetIssuer !== undefined && assetIssuer !== null;
  const fault = (message: string, code: string) => [{ path: 'sendAsset.assetIssuer', message, code }];
  if (assetCode === 'XLM' && isGiven) return fault('XLM has no issuer.', 'not_allowed');
  if (typeof assetCode !== 'string' || assetCode === 'XLM' || isGiven) return [];
  return fault('Every asset but XLM needs its issuer.', 'required');
};

export const pagePayments = {
  ways: operation({
    method: 'POST',
    path: '/{slug}/ways',
    effect: 'reads',
    summary: 'Assets that an account can pay with',
    description:
      'What the account holds and what this would cost in it, by the network’s own market: the asset itself first, the others by code. Without a Horizon the asset itself only.',
    tag,
    body: {
      account: accountAddress,
      amount: amountInput.nullish(),
    },
    output: z.array(waySchema),
  }),
  transaction: operation({
    method: 'POST',
    path: '/{slug}/transaction',
    effect: 'reads',
    summary: 'An unsigned payment',
    description: 'A transaction with one payment and the memo, valid for 5 minutes, for the wallet to sign.',
    tag,
    body: {
      account: accountAddress,
      amount: amountInput.nullish(),
      sendAsset: wayInput.nullish().meta({
        description:
          'Pays in this asset: the page’s wallet gets exactly the amount, and the payer sends at most 1 % more than it cost.',
      }),
    },
    rules: sendAssetRules,
    output: z.object({ xdr: z.string(), networkPassphrase: z.string() }),
  }),
  submit: operation({
    method: 'POST',
    path: '/{slug}/submit',
    effect: 'adds',
    summary: 'Hand a signed payment to the network',
    description: 'The transaction as the wallet signed it: one payment to this page’s wallet with its memo.',
    tag,
    body: { xdr: text({ min: 1, max: MAX_ENVELOPE_CHARACTERS }) },
    output: z.object({ transactionHash: z.string() }),
  }),
};
