/** The room's entrance: products, payment links and checkouts, and what is written about them. */

export type { CheckoutDoc } from './checkout-document.js';
export { balanceOf, toCheckout, toPaymentLink, toProduct, toProductSummary } from './checkout-resource.js';
export { type CheckoutStore, createCheckoutStore } from './checkout-store.js';
export { lineProductFaults, productTermFaults } from './checkout-terms.js';
export { createCheckoutService } from './checkouts.js';
export { createCouponService, createCouponStore } from './coupons.js';
export { createLeftoverRemoval, createRemoveLeftovers } from './deleted-products.js';
export { createExportService, type Download, type ExportService } from './exports.js';
export { createRequestKeyStore, openPayRequests, qrPng, qrSvg } from './instructions.js';
export {
  createPaymentLinkStore,
  type LinkCountChange,
  type PaymentLinkDoc,
  type PaymentLinkStore,
} from './link-store.js';
export { createPaymentLinkService, linkProductFaults } from './links.js';
export { createPayerOrderStore, createTakeOrder, type OrderSent, type TakeOrder } from './order-taking.js';
export { createPayableNames, type PayableNameStore } from './payable-documents.js';
export type { ProductDoc, StoredTerms } from './product-document.js';
export { type AccountProducts, createProductStore, type ProductStore } from './product-store.js';
export { createProductService } from './products.js';
export { createQuotes, noQuote, type Quotes } from './quotes.js';
export { createReportService } from './reports.js';
