/** Faults of a body that names missing resources. */
import type { FieldError } from '../../contracts/errors.js';

const noSuch = (path: string, what: string): FieldError => ({
  path,
  message: `There is no such ${what}.`,
  code: 'not_found',
});

export const NO_SUCH = {
  wallet: noSuch('walletId', 'wallet'),
  product: noSuch('productId', 'product'),
  link: noSuch('paymentLinkId', 'payment link'),
  checkout: noSuch('checkoutId', 'checkout'),
};
