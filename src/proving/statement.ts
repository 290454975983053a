/** What the service itself says about a payment, in its proof: what it settled. The ledger does not prove it; the key that signs deliveries signs it. */

import type { PaymentDoc } from '../payments/index.js';
import type { Statement } from '../proof/index.js';
import type { ForAccount } from '../stores.js';

export type StatementOf = (payment: PaymentDoc) => Promise<Statement | null>;

export interface StatementDeps {
  forAccount: ForAccount<'checkouts' | 'paymentLinks' | 'account'>;
  publicUrl: string;
  /** Signs with the newest key of the installation. */
  sign: (body: string) => Promise<{ keyId: string; signature: string }>;
}

/** Begins every statement, so that no text of an account makes one that is signed for another purpose. */
const HEAD = 'Statement about a payment, by';

export function createStatementOf({ forAccount, publicUrl, sign }: StatementDeps): StatementOf {
  /** What it settled; null for a payment that was not taken. */
  async function settledBy({ accountId, status, checkoutId, paymentLinkId }: PaymentDoc): Promise<string | null> {
    const { checkouts, paymentLinks } = forAccount(accountId);
    if (checkoutId !== null) {
      const checkout = await checkouts.byId(checkoutId);
      if (checkout?.status !== 'PAID' || (status !== 'COMPLETED' && status !== 'UNDERPAID')) return null;
      const named = checkout.reference === null ? '' : `order ${JSON.stringify(checkout.reference)}, `;
      return `${status === 'COMPLETED' ? 'it settled' : 'it is a part of what settled'} ${named}checkout ${checkoutId}`;
    }
    if (status !== 'COMPLETED' || paymentLinkId === null) return null;
    const link = await paymentLinks.byId(paymentLinkId);
    const named = link?.name ? ` ${JSON.stringify(link.name)},` : '';
    return `it was taken for the payment link${named} ${paymentLinkId}`;
  }

  return async (payment) => {
    const settled = await settledBy(payment);
    if (settled === null) return null;
    const account = await forAccount(payment.accountId).account.get();
    const seller = JSON.stringify(account?.brand?.name ?? account?.name ?? '');
    const { _id, transactionHash, amount, assetCode } = payment;
    const body = `${HEAD} ${publicUrl} for the account ${seller}: payment ${_id} of ${amount} ${assetCode} by the transaction ${transactionHash} was received; ${settled}.`;
    return { body, ...(await sign(body)) };
  };
}
