/** What the hosted pages take from a payer's wallet in the browser: an account to make a transaction for, and the transaction once it is signed.
 *  They are served beside the pages, without a key: `/p/<slug>/transaction`, `/p/<slug>/submit`, the same below `/c/`. */
import { z } from 'zod';
import { operation } from './operation.js';
import { accountAddress, amountInput, text } from './primitives.js';

/** One payment with all the signatures that the network allows takes about 2,500. */
export const MAX_ENVELOPE_CHARACTERS = 4096;

const tag = 'Pages';

export const pagePayments = {
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
    },
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
