/** The room's entrance: products, payment links and checkouts, and what is written about them. */
export type { CheckoutDoc } from './checkout-document.js';
export { balanceOf, toCheckout } from './checkout-resource.js';
export { type CheckoutStore, createCheckoutStore } from './checkout-store.js';
export { lineProductFaults, productTermFaults } from './checkout-terms.js';
export { createCheckoutService } from './checkouts.js';
export { createCouponStore } from './coupon-store.js';
export { createCouponService } from './coupons.js';
export { createExportService, type Download, type ExportService } from './exports.js';
export {
  createPaymentLinkStore,
  type LinkCountChange,
  type PaymentLinkDoc,
  type PaymentLinkStore,
} from './link-store.js';
export { createPaymentLinkService } from './links.js';
export { openPayRequests } from './pay-requests.js';
export { createPayableNames, type PayableNameStore } from './payable-names.js';
export type { ProductDoc, StoredTerms } from './product-document.js';
export { type AccountProducts, createProductStore, type ProductStore } from './product-store.js';
export { createProductService } from './products.js';
export { qrPng, qrSvg } from './qr.js';
export { createQuotes, noQuote, type Quotes } from './quotes.js';
export { createReportService } from './reports.js';
export { createRequestKeyStore } from './request-keys.js';
export { toPaymentLink, toProduct, toProductSummary } from './resources.js';
