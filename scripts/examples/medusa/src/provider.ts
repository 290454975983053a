/** stellar-collect as a payment provider for Medusa 2: each payment session is a checkout, whose
 *  page the storefront opens (`session.data.url`).
 *
 *  The session is captured when the checkout is PAID, which Medusa learns from a signed webhook or
 *  by a request; a browser's word proves nothing. */
import type {
  AuthorizePaymentInput,
  AuthorizePaymentOutput,
  CancelPaymentInput,
  CancelPaymentOutput,
  CapturePaymentInput,
  CapturePaymentOutput,
  DeletePaymentInput,
  DeletePaymentOutput,
  GetPaymentStatusInput,
  GetPaymentStatusOutput,
  InitiatePaymentInput,
  InitiatePaymentOutput,
  ProviderWebhookPayload,
  RefundPaymentInput,
  RefundPaymentOutput,
  RetrievePaymentInput,
  RetrievePaymentOutput,
  UpdatePaymentInput,
  UpdatePaymentOutput,
  WebhookActionResult,
} from '@medusajs/framework/types';
import { AbstractPaymentProvider, PaymentActions, PaymentSessionStatus } from '@medusajs/framework/utils';
import { type Checkout, createClient, verifyWebhook } from 'stellar-collect-client';
import { decimalOf, decimalOfStroops, stroopsOf } from './amount.js';

export interface Options {
  /** Base URL of the service, such as `https://pay.example`. */
  url: string;
  /** FULL scope. */
  apiKey: string;
  /** Signing secret of the webhook for `checkout.paid` and `checkout.expired`, whose URL is
   *  `https://shop.example/hooks/payment/stellar-collect_ID` with the ID of medusa-config. */
  webhookSecret: string;
  walletId: string;
  /** Assets by Medusa's currency code, in lower case. A price is paid one to one in its asset. */
  assets: Record<string, { assetCode: string; assetIssuer?: string }>;
  successUrl?: string;
  cancelUrl?: string;
}

/** Medusa's data of a session. None of it comes from the browser. */
type SessionData = Record<string, unknown> & { session_id: string; checkout_id: string; url: string };

const STATUSES: Record<Checkout['status'], PaymentSessionStatus> = {
  OPEN: PaymentSessionStatus.PENDING,
  PAID: PaymentSessionStatus.CAPTURED,
  EXPIRED: PaymentSessionStatus.CANCELED,
  CANCELLED: PaymentSessionStatus.CANCELED,
};
const PAGE = 100;

export class StellarCollectProvider extends AbstractPaymentProvider<Options> {
  static override identifier = 'stellar-collect';
  private readonly collect: ReturnType<typeof createClient>;

  static override validateOptions(options: Partial<Options>): void {
    for (const name of ['url', 'apiKey', 'webhookSecret', 'walletId', 'assets'] as const)
      if (!options[name]) throw new Error(`stellar-collect: the option ${name} is missing`);
  }

  constructor(container: Record<string, unknown>, options: Options) {
    super(container, options);
    this.collect = createClient(options);
  }

  async initiatePayment({ amount, currency_code, data }: InitiatePaymentInput): Promise<InitiatePaymentOutput> {
    const asset = this.config.assets[currency_code.toLowerCase()];
    if (!asset) throw new Error(`stellar-collect: no asset is set for ${currency_code}`);
    const session_id = textOf(data, 'session_id');
    const { walletId, successUrl, cancelUrl } = this.config;
    const checkout = await this.collect.checkouts.create.mutate({
      walletId,
      name: 'Your order',
      ...asset,
      amount: decimalOf(amount),
      reference: session_id,
      successUrl,
      cancelUrl,
    });
    const kept: SessionData = { session_id, checkout_id: checkout.id, url: checkout.url };
    return { id: checkout.id, status: STATUSES[checkout.status], data: kept };
  }

  /** A checkout's terms never change: for another amount it is cancelled and replaced. */
  async updatePayment(input: UpdatePaymentInput): Promise<UpdatePaymentOutput> {
    const checkout = await this.checkoutOf(input.data);
    const asset = this.config.assets[input.currency_code.toLowerCase()];
    const isSame = stroopsOf(decimalOf(input.amount)) === stroopsOf(checkout.amount) && isAsset(checkout, asset);
    if (isSame) return { status: STATUSES[checkout.status], data: input.data };
    if (checkout.status === 'PAID' || checkout.receivedAmount !== '0')
      throw new Error('stellar-collect: money has come for this order already, so its amount cannot change');
    if (checkout.status === 'OPEN') await this.collect.checkouts.cancel.mutate({ id: checkout.id });
    return this.initiatePayment(input);
  }

  async authorizePayment({ data }: AuthorizePaymentInput): Promise<AuthorizePaymentOutput> {
    return { status: STATUSES[(await this.checkoutOf(data)).status], data };
  }

  async getPaymentStatus({ data }: GetPaymentStatusInput): Promise<GetPaymentStatusOutput> {
    return { status: STATUSES[(await this.checkoutOf(data)).status], data };
  }

  async retrievePayment({ data }: RetrievePaymentInput): Promise<RetrievePaymentOutput> {
    return { data: { ...data, checkout: await this.checkoutOf(data) } };
  }

  /** Nothing to capture: the money is already in the wallet. */
  async capturePayment({ data }: CapturePaymentInput): Promise<CapturePaymentOutput> {
    if ((await this.checkoutOf(data)).status !== 'PAID') throw new Error('stellar-collect: the order is not paid');
    return { data };
  }

  async cancelPayment({ data }: CancelPaymentInput): Promise<CancelPaymentOutput> {
    const { id, status } = await this.checkoutOf(data);
    if (status === 'PAID') throw new Error('stellar-collect: the order is paid; send the money back instead');
    if (status === 'OPEN') await this.collect.checkouts.cancel.mutate({ id });
    return { data };
  }

  /** Medusa also deletes sessions whose creation failed, and those of paid orders. */
  async deletePayment({ data }: DeletePaymentInput): Promise<DeletePaymentOutput> {
    if (typeof data?.checkout_id !== 'string') return { data };
    const { id, status } = await this.checkoutOf(data);
    if (status === 'OPEN') await this.collect.checkouts.cancel.mutate({ id });
    return { data };
  }

  /** The service has no keys, so only the merchant can send money: a refund is booked once the
   *  ledger shows it. */
  async refundPayment({ amount, data }: RefundPaymentInput): Promise<RefundPaymentOutput> {
    const { id, assetCode } = await this.checkoutOf(data);
    const booked = stroopsOf(typeof data?.refunded === 'string' ? data.refunded : '0');
    const asked = booked + stroopsOf(decimalOf(amount));
    const { items } = await this.collect.payments.list.query({ checkoutId: id, pageSize: PAGE });
    const sentBack = items.reduce((sum, { refundedAmount }) => sum + stroopsOf(refundedAmount), 0n);
    if (sentBack < asked) {
      const ways = await Promise.all(
        items.map(({ id: payment }) => this.collect.payments.refund.query({ id: payment })),
      );
      const how = new Set(ways.map(({ destination, memo }) => `to ${destination} with the memo "${memo}"`));
      const missing = decimalOfStroops(asked - sentBack);
      throw new Error(
        `Send ${missing} ${assetCode} from your wallet ${[...how].join(', or ')}; then refund again, and it is booked.`,
      );
    }
    return { data: { ...data, refunded: decimalOfStroops(asked) } };
  }

  async getWebhookActionAndData(payload: ProviderWebhookPayload['payload']): Promise<WebhookActionResult> {
    const { rawData, headers } = payload;
    const event = await verifyWebhook(rawData, headers as Record<string, string>, {
      secret: this.config.webhookSecret,
    });
    if (event.type !== 'checkout.paid' && event.type !== 'checkout.expired')
      return { action: PaymentActions.NOT_SUPPORTED };
    const { reference, amount, receivedAmount, excessAmount } = event.data.checkout;
    if (reference === null) return { action: PaymentActions.NOT_SUPPORTED };
    if (event.type === 'checkout.expired')
      return { action: PaymentActions.CANCELED, data: { session_id: reference, amount } };
    // An excess does not belong to the order; an accepted amount may be below the price.
    const captured = excessAmount === null ? receivedAmount : amount;
    return { action: PaymentActions.SUCCESSFUL, data: { session_id: reference, amount: captured } };
  }

  /** The checkout of this session, verified by its reference. */
  private async checkoutOf(data: Record<string, unknown> | undefined): Promise<Checkout> {
    const checkout = await this.collect.checkouts.get.query({ id: textOf(data, 'checkout_id') });
    if (checkout.reference !== textOf(data, 'session_id'))
      throw new Error(`stellar-collect: ${checkout.id} is not the checkout of this session`);
    return checkout;
  }
}

function textOf(data: Record<string, unknown> | undefined, name: string): string {
  const value = data?.[name];
  if (typeof value !== 'string') throw new Error(`stellar-collect: the session has no ${name}`);
  return value;
}

const isAsset = (checkout: Checkout, asset: Options['assets'][string] | undefined): boolean =>
  checkout.assetCode === asset?.assetCode && checkout.assetIssuer === (asset.assetIssuer ?? null);
