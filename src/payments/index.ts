/** The room's entrance: what happens when money meets a payable. */
export { type AcceptCheckout, createAcceptanceFinisher, createAcceptCheckout } from './acceptance.js';
export { cancelled, leftOf, refundedValueOf } from './checkout.js';
export { createCheckoutExpiry } from './checkout-expiry.js';
export { createPayments, type Payments } from './compose.js';
export { type CheckoutPayable, loadPayable, loadPayables, payableOf } from './payable.js';
export type { PaymentChanges } from './payment-changes.js';
export type { PaymentDoc } from './payment-document.js';
export { createPaymentEvents } from './payment-events.js';
export { createPaymentStore, type OwnedWallet, type PaymentStore } from './payment-store.js';
export { localDateOf, type SummaryRow, stroopsOf } from './payment-sums.js';
export {
  createPaymentService,
  faultOfAssignment,
  filterOf,
  findAssigned,
  MATCHED,
  type Payment,
  withProducts,
} from './payments.js';
export { CursorConflict, type Recorder } from './recorder.js';
export { createRefundStore, type RefundDoc, type RefundStore } from './refund-store.js';
export {
  createMoveRefund,
  MOST_SHARES,
  type MoveRefund,
  partOfRefund,
  payerOf,
  type RefundBook,
  sharesOf,
  toMoneyBack,
  toRefundable,
  toRefundDoc,
} from './refunds.js';
