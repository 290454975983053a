/** The test event of a webhook: a realistic `payment.completed` about resources that do not exist. */
import type { EventDataOf } from '../../contracts/event-kinds.js';
import type { NewId } from '../kit/ids.js';

const WALLET_ADDRESS = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const CUSTOMER_ADDRESS = 'GDW6AUTBXTOC7FIKUO5BOO3OGLK4SF7ZPOBLMQHMZDI45J2Z6VXRB5NR';

export interface SampleEvent {
  _id: string;
  type: 'payment.completed';
  /** Not an event of the account. */
  sequence: null;
  /** JSON text. */
  data: string;
  createdAt: Date;
}

export const sampleEvent = (newId: NewId, now: Date, publicUrl: string): SampleEvent => ({
  _id: newId('evt'),
  type: 'payment.completed',
  sequence: null,
  data: JSON.stringify(sampleData(newId, now.toISOString(), publicUrl)),
  createdAt: now,
});

function sampleData(newId: NewId, createdAt: string, publicUrl: string): EventDataOf<'payment.completed'> {
  const wallet = { id: newId('wallet'), name: 'Sample wallet', address: WALLET_ADDRESS, network: 'TESTNET' } as const;
  const summary = {
    id: newId('prod'),
    name: 'Sample product',
    assetCode: 'XLM',
    priceType: 'FIXED',
    price: '10.5',
    currency: null,
    quote: null,
  } as const;
  const link = { id: newId('link'), name: 'Sample link', slug: 'sample', memo: 'SAMPLE000000' };
  return {
    payment: {
      id: newId('pay'),
      status: 'COMPLETED',
      reason: null,
      amount: summary.price,
      assetCode: summary.assetCode,
      assetIssuer: null,
      expectedAmount: summary.price,
      excessAmount: null,
      shortfallAmount: null,
      memo: link.memo,
      memoType: 'text',
      destinationMuxedId: null,
      senderMuxedAddress: null,
      senderAddress: CUSTOMER_ADDRESS,
      receiverAddress: wallet.address,
      network: wallet.network,
      transactionHash: '0'.repeat(64),
      operationId: '0',
      ledger: 0,
      ledgerClosedAt: createdAt,
      paymentLinkId: link.id,
      checkoutId: null,
      product: summary,
      walletId: wallet.id,
      needsDecision: false,
      decisionNote: null,
      value: null,
      refundedAmount: '0',
      refunds: [],
      explorerUrl: null,
      createdAt,
    },
    paymentLink: {
      ...link,
      url: `${publicUrl}/p/${link.slug}`,
      active: true,
      paymentCount: 1,
      product: summary,
      createdAt,
    },
    checkout: null,
    product: {
      ...summary,
      description: null,
      imageUrl: null,
      assetIssuer: null,
      minAmount: null,
      tolerancePercent: '0',
      active: true,
      wallet,
      paymentLinkCount: 1,
      createdAt,
    },
  };
}
