/** Example resources of one shop for the documentation: they refer to each other, and each
 *  satisfies its contract. */
const createdAt = '2026-11-21T09:30:00.000Z';
const address = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';

const memo = '73K9QX2RTF4T';
const muxedAddress = 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUA4ONG7ULDJ4TJZYY';
const memoId = '256258499033250970';

export const accountExample = {
  id: 'acct_01jd3k5v9ye6rbh2x7q0w4tzaa',
  name: 'T-shirt shop',
  brand: {
    name: 'Bean & Leaf',
    logoUrl: 'https://shop.example/logo.png',
    color: '#1b6e4b',
    supportUrl: 'https://shop.example/help',
    supportEmail: null,
  },
  rateMarkupPercent: '0',
  booksCurrency: null,
  tolerancePercent: '0',
  tipPercents: ['5', '10'],
  embedOrigins: ['https://shop.example'],
  onboarding: 'shown' as const,
  createdAt,
};

export const userExample = {
  id: 'user_01jd3k5v9ye6rbh2x7q0w4tzas',
  name: 'Ana',
  role: 'CASHIER' as const,
  email: null,
  language: null,
  status: 'ACTIVE' as const,
  createdAt,
};

export const activityExample = {
  id: 'act_01jd3k5v9ye6rbh2x7q0w4tzat',
  at: createdAt,
  actor: { type: 'user' as const, id: 'user_01jd3k5v9ye6rbh2x7q0w4tzas', name: 'Ana' },
  operation: 'products_update',
  subjectId: 'prod_01jd3k5v9ye6rbh2x7q0w4tzad',
  changes: [{ field: 'price', from: '25', to: '27.5' }],
  address: '203.0.113.7',
};

export const apiKeyExample = {
  id: 'key_01jd3k5v9ye6rbh2x7q0w4tzab',
  name: 'shop server',
  scope: 'FULL' as const,
  keyMasked: 'sk_4fT…x9Qz',
  lastUsedAt: '2026-11-21T10:02:11.000Z',
  expiresAt: null,
  createdAt,
};

const walletSummary = { id: 'wallet_01jd3k5v9ye6rbh2x7q0w4tzac', name: 'Shop', address, network: 'LOCAL' as const };

export const walletExample = {
  ...walletSummary,
  active: true,
  sync: { ledger: 61234567, at: '2026-11-21T10:05:00.000Z', state: 'OK' as const, reason: null, parked: 0 },
  createdAt,
};

const productSummary = {
  id: 'prod_01jd3k5v9ye6rbh2x7q0w4tzad',
  name: 'T-shirt',
  assetCode: 'XLM',
  priceType: 'FIXED' as const,
  price: '25',
  currency: null,
  quote: null,
};

export const productExample = {
  ...productSummary,
  description: 'Cotton, all sizes',
  imageUrl: 'https://shop.example/shirt.png',
  assetIssuer: null,
  minAmount: null,
  tolerancePercent: '0',
  stock: null,
  active: true,
  wallet: walletSummary,
  paymentLinkCount: 1,
  createdAt,
};

export const couponExample = {
  id: 'coup_01jd3k5v9ye6rbh2x7q0w4tzau',
  code: 'SPRING-10',
  percentOff: '10',
  amountOff: null,
  currency: null,
  assetCode: null,
  assetIssuer: null,
  productIds: null,
  minSubtotal: null,
  startsAt: null,
  endsAt: '2026-12-01T00:00:00.000Z',
  maxRedemptions: 100,
  redemptions: 7,
  active: true,
  createdAt,
};

export const paymentLinkExample = {
  id: 'link_01jd3k5v9ye6rbh2x7q0w4tzae',
  name: 'Counter',
  slug: 'h2x7q0w4tz',
  memo,
  url: 'https://pay.example/p/h2x7q0w4tz',
  active: true,
  paymentCount: 1,
  order: null,
  endsAt: null,
  inactiveText: null,
  afterPayment: { message: 'Thank you. We ship tomorrow.', url: null },
  maxPayments: null,
  product: productSummary,
  createdAt,
};

export const instructionsExample = {
  address,
  muxedAddress,
  memo,
  memoId,
  amount: '25',
  assetCode: 'XLM',
  assetIssuer: null,
  network: 'LOCAL' as const,
  networkPassphrase: 'Standalone Network ; February 2017',
  uri: `web+stellar:pay?destination=${address}&amount=25&memo=${memo}&memo_type=MEMO_TEXT&network_passphrase=Standalone%20Network%20%3B%20February%202017`,
  qrSvg: '<svg xmlns="http://www.w3.org/2000/svg" …></svg>',
  pageUrl: paymentLinkExample.url,
};

export const checkoutExample = {
  id: 'chk_01jd3k5v9ye6rbh2x7q0w4tzak',
  status: 'OPEN' as const,
  reference: 'order-1042',
  metadata: { cart: 'c-77' },
  paymentLinkId: null,
  customer: { name: null, email: null, phone: null, address: null },
  answers: {},
  customerEmail: 'ana@customer.example',
  language: 'de' as const,
  name: 'T-shirt',
  description: 'Cotton, all sizes',
  assetCode: 'XLM',
  assetIssuer: null,
  amount: '50',
  currency: null,
  price: null,
  quote: null,
  quantity: 2,
  lines: [{ productId: productSummary.id, name: 'T-shirt', quantity: 2, price: '25', taxPercent: null, total: '50' }],
  taxIncluded: true,
  subtotal: '50',
  discountAmount: '0',
  discountName: null,
  taxAmount: '0',
  tipAmount: '0',
  total: '50',
  tolerancePercent: '0',
  receivedAmount: '20',
  receivedValue: null,
  remainingAmount: '30',
  remainingValue: null,
  excessAmount: null,
  product: productSummary,
  wallet: walletSummary,
  slug: 'k4m9z1c7r2ha',
  memo: 'QX2RTF4T73K4',
  memoId: '861411095378890340',
  muxedAddress: 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUC7ULDJ4TI4OMQXGI',
  url: 'https://pay.example/c/k4m9z1c7r2ha',
  successUrl: 'https://shop.example/thanks?order=1042',
  cancelUrl: 'https://shop.example/cart',
  expiresAt: '2026-11-22T09:30:00.000Z',
  paidAt: null,
  closedAt: null,
  createdAt,
};

export const paymentExample = {
  id: 'pay_01jd3k5v9ye6rbh2x7q0w4tzaf',
  status: 'COMPLETED' as const,
  reason: 'overpaid' as const,
  amount: '25.5',
  assetCode: 'XLM',
  assetIssuer: null,
  expectedAmount: '25',
  excessAmount: '0.5',
  shortfallAmount: null,
  memo,
  memoType: 'text' as const,
  destinationMuxedId: null,
  senderMuxedAddress: null,
  senderAddress: 'GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7',
  receiverAddress: address,
  needsDecision: false,
  decisionNote: null,
  network: 'LOCAL' as const,
  transactionHash: '3389e9f0f1a65f19736cacf544c2e825313e8447f569233bb8db39aa607c8889',
  operationId: '263000455919345665',
  ledger: 61234501,
  ledgerClosedAt: '2026-11-21T09:59:55.000Z',
  paymentLinkId: paymentLinkExample.id,
  checkoutId: null,
  product: productSummary,
  walletId: walletSummary.id,
  value: null,
  refundedAmount: '0',
  refunds: [],
  explorerUrl: null,
  createdAt: '2026-11-21T09:59:56.000Z',
};

export const eventDataExample = {
  payment: paymentExample,
  paymentLink: paymentLinkExample,
  checkout: null,
  product: productExample,
};

export const checkoutEventDataExample = {
  checkout: {
    ...checkoutExample,
    status: 'PAID' as const,
    receivedAmount: '50',
    remainingAmount: '0',
    paidAt: '2026-11-21T09:59:55.000Z',
    closedAt: '2026-11-21T09:59:56.000Z',
  },
  payments: [
    {
      ...paymentExample,
      reason: null,
      amount: '50',
      expectedAmount: '50',
      excessAmount: null,
      memo: checkoutExample.memo,
      paymentLinkId: null,
      checkoutId: checkoutExample.id,
    },
  ],
};

export const eventExample = {
  id: 'evt_01jd3k5v9ye6rbh2x7q0w4tzag',
  type: 'payment.completed' as const,
  sequence: 42,
  createdAt: '2026-11-21T09:59:56.000Z',
  data: eventDataExample,
};

export const webhookExample = {
  id: 'hook_01jd3k5v9ye6rbh2x7q0w4tzah',
  name: 'shop server',
  url: 'https://shop.example/hook',
  events: ['payment.completed' as const],
  status: 'ACTIVE' as const,
  secretMasked: 'whsec_…wxyz',
  createdAt,
};

export const deliveryExample = {
  id: 'dlv_01jd3k5v9ye6rbh2x7q0w4tzaj',
  webhookId: webhookExample.id,
  eventId: eventExample.id,
  eventType: eventExample.type,
  sequence: 7,
  status: 'DELIVERED' as const,
  attemptCount: 1,
  nextAttemptAt: null,
  lastResponseStatus: 200,
  lastError: null,
  attempts: [{ at: '2026-11-21T09:59:56.200Z', durationMs: 84, responseStatus: 200, error: null }],
  createdAt: '2026-11-21T09:59:56.000Z',
};

export const summaryRowExample = {
  key: '2026-11-21',
  assetCode: 'XLM',
  assetIssuer: null,
  count: 3,
  amount: '75.5',
  refundedAmount: '25',
};
