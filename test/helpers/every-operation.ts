/** An account with every kind of resource, and an input for each operation of the contract. */
import { accept } from './people.js';
import type { Receiver } from './receiver.js';
import { eventually, type TestService } from './service.js';

type Json = any;
export type Input = Record<string, unknown>;
export type Everything = Awaited<ReturnType<typeof openEverything>>;

export const PAIR = { currency: 'EUR', assetCode: 'XLM', network: 'LOCAL' };

/** A worker takes part and is closed afterwards, so that only calls change anything. @param apiKey
 *  a FULL key of the account */
export async function openEverything(service: TestService, receiver: Receiver, apiKey = service.apiKey) {
  const ledger = service.context.localLedger!.client;
  const post = async (path: string, body?: unknown): Promise<Json> => {
    const { data, error } = await service.api('POST', path, body, apiKey);
    if (error) throw new Error(`${path}: ${JSON.stringify(error)}`);
    return data;
  };
  const first = async (path: string): Promise<Json> => (await service.api('GET', path, undefined, apiKey)).data[0];
  const [shop, payer] = [await ledger.fund(), await ledger.fund()];
  const wallet = await post('/wallets', { name: 'Shop', address: shop.address, network: 'LOCAL' });
  const newProduct = { name: 'Mug', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '9.5' };
  const product = await post('/products', { ...newProduct, name: 'T-shirt', price: '25' });
  const link = await post('/payment-links', { productId: product.id });

  const worker = await service.join('worker');
  const webhook = await post('/webhooks', {
    ...{ name: 'told', url: `${receiver.origin}/told`, events: ['payment.received', 'payment.completed'] },
  });
  const order = await post('/checkouts', { productId: product.id });
  const paid = async (amount: string, memo: string | null) => {
    const { hash } = await ledger.pay({ to: wallet.address, amount, memo, fromSecret: payer.secret });
    const path = `/payments?transactionHash=${hash}&status=UNDERPAID&status=UNMATCHED`;
    return eventually(() => first(path), `the payment of ${amount}`);
  };
  const [accepted, dismissed] = [await paid('10', link.memo), await paid('11', link.memo)];
  const [assigned, refunded] = [await paid('5', null), await paid('6', null)];
  await paid('7', order.memo);
  // A part of a checkout that stays OPEN.
  await paid('3', (await post('/checkouts', { productId: product.id })).memo);
  const delivery = await eventually(() => first(`/webhooks/${webhook.id}/deliveries?status=DELIVERED`), 'a delivery');
  await worker.close();
  return {
    ...{ service, ledger, post, shop, payer, wallet, newProduct, product, link },
    ...{ webhook, order, accepted, dismissed, assigned, refunded, delivery },
  };
}

/** Inputs by changing operation; each may be called once, in the order of the contract. */
export function changingInputs(everything: Everything): Record<string, () => Promise<Input>> {
  const { ledger, post, shop, payer, wallet, newProduct, product, link, webhook } = everything;
  const made = async (path: string, body: object): Promise<Input> => ({ id: (await post(path, body)).id });
  const newWallet = async () => ({ name: 'Another', address: (await ledger.fund()).address, network: 'LOCAL' });
  const hook = { name: 'x', url: 'https://shop.example/x', events: ['payment.completed'] };
  const ofWebhook = async () => ({ id: webhook.id });
  return {
    'account.update': async () => ({ brand: { name: 'Shop' }, rateMarkupPercent: '1.5' }),
    'notifications.set': async () => ({ recipients: ['ana@shop.example'], kinds: ['wallet.gap'] }),
    'apiKeys.create': async () => ({ name: 'till', scope: 'READ' }),
    'apiKeys.rotate': () => made('/api-keys', { name: 'old', scope: 'READ' }),
    'apiKeys.delete': () => made('/api-keys', { name: 'gone', scope: 'READ' }),
    'users.create': async () => ({ name: 'Ana', role: 'VIEWER', email: 'ana@shop.example' }),
    'users.update': async () => ({ ...(await made('/users', { name: 'Bo', role: 'VIEWER' })), role: 'MANAGER' }),
    'users.delete': () => made('/users', { name: 'Cy', role: 'VIEWER' }),
    'users.invite': () => made('/users', { name: 'Di', role: 'VIEWER' }),
    'users.deletePasskey': async () => {
      const { id, url } = await post('/users', { name: 'Ed', role: 'VIEWER' });
      const { authenticator } = await accept(everything.service, url);
      return { id, passkeyId: authenticator.id };
    },
    'wallets.create': newWallet,
    'wallets.update': async () => ({ ...(await made('/wallets', await newWallet())), name: 'Till', active: false }),
    'wallets.delete': async () => made('/wallets', await newWallet()),
    'wallets.mendGaps': async () => ({ id: wallet.id }),
    'wallets.startAudit': async () => ({ id: wallet.id }),
    'products.create': async () => newProduct,
    'products.update': async () => ({ ...(await made('/products', newProduct)), price: '10.50', name: 'Large mug' }),
    'products.delete': async () => {
      const { id } = await made('/products', newProduct);
      await post('/payment-links', { productId: id });
      return { id };
    },
    'paymentLinks.create': async () => ({ productId: product.id, name: 'Window' }),
    'paymentLinks.update': async () => ({
      ...(await made('/payment-links', { productId: product.id })),
      active: false,
    }),
    'paymentLinks.delete': () => made('/payment-links', { productId: product.id }),
    'coupons.create': async () => ({ code: 'spring-10', percentOff: '10' }),
    'coupons.update': async () => ({
      ...(await made('/coupons', { code: 'AUTUMN', amountOff: '5', assetCode: 'XLM' })),
      active: false,
    }),
    'coupons.delete': () => made('/coupons', { code: 'WINTER', percentOff: '5' }),
    'checkouts.create': async () => ({ productId: product.id, quantity: 2, metadata: { table: '7' } }),
    'checkouts.cancel': () => made('/checkouts', { productId: product.id }),
    'checkouts.accept': async () => ({ id: everything.order.id }),
    'payments.accept': async () => ({ id: everything.accepted.id }),
    'payments.assign': async () => ({ id: everything.assigned.id, paymentLinkId: link.id }),
    'payments.dismiss': async () => ({ id: everything.dismissed.id, note: 'a tip' }),
    'payments.addRefund': async () => {
      const back = { to: payer.address, amount: '6', memo: null, fromSecret: shop.secret };
      return { id: everything.refunded.id, transactionHash: (await ledger.pay(back)).hash };
    },
    'rates.set': async () => ({ ...PAIR, rate: '0.25' }),
    'rates.delete': async () => PAIR,
    'webhooks.create': async () => ({ ...hook, name: 'new' }),
    'webhooks.update': async () => ({
      ...{ id: webhook.id, url: webhook.url.replace('told', 'other') },
      ...{ events: ['payment.received'], status: 'PAUSED' },
    }),
    'webhooks.delete': () => made('/webhooks', hook),
    'webhooks.replay': async () => ({ id: webhook.id, status: 'ALL' }),
    'webhooks.test': ofWebhook,
    'webhooks.rotateSecret': ofWebhook,
    'webhooks.deletePreviousSecret': ofWebhook,
    'deliveries.redeliver': async () => ({ id: everything.delivery.id }),
  };
}
