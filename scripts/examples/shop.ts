/** A whole small shop: it makes a checkout for each order, sends the payer to its page, and ships
 *  when the webhook reports the payment.
 *
 *  COLLECT_URL=http://127.0.0.1:3000 API_KEY=sk_… PRODUCT=prod_… WEBHOOK_SECRET=whsec_… PORT=4000 npx tsx scripts/examples/shop.ts */
import express from 'express';
import { Webhook } from 'standardwebhooks';
import { createClient, type WebhookPayload } from '../../src/index.js'; // from 'stellar-collect-client' in your project

const { COLLECT_URL = 'http://127.0.0.1:3000', API_KEY, PRODUCT, WEBHOOK_SECRET, PORT = '4000' } = process.env;
if (!API_KEY || !PRODUCT || !WEBHOOK_SECRET) {
  console.error('Set API_KEY, PRODUCT and WEBHOOK_SECRET.');
  process.exit(1);
}
const shop = `http://127.0.0.1:${PORT}`;
const collect = createClient({ url: COLLECT_URL, apiKey: API_KEY });
const webhook = new Webhook(WEBHOOK_SECRET);
/** Store them in your database. */
const orders = new Map<string, 'waiting' | 'shipped' | 'expired'>();

const app = express();
app.get('/', (_request, response) => {
  // The script opens the checkout in its own window; without the script, the form leads there.
  response.send(`<title>Shop</title>
<script src="${COLLECT_URL}/page/button-v1.js" defer></script>
<form method="post" action="/orders" data-stellar-collect><button>Buy a T-shirt</button></form>`);
});
app.post('/orders', async (_request, response) => {
  const order = `order-${orders.size + 1}`;
  const checkout = await collect.checkouts.create.mutate({
    productId: PRODUCT,
    reference: order,
    successUrl: `${shop}/orders/${order}`,
    cancelUrl: shop,
  });
  orders.set(order, 'waiting');
  response.redirect(303, checkout.url);
});
// The payer returns here. That proves nothing: anyone can open this page.
app.get('/orders/:order', (request, response) => {
  response.send(`Your order is ${orders.get(request.params.order) ?? 'unknown'}.`);
});
// The raw body: the signature covers its bytes.
app.post('/hook', express.text({ type: '*/*' }), (request, response) => {
  let event: WebhookPayload;
  try {
    event = webhook.verify(request.body, request.headers as Record<string, string>) as WebhookPayload;
  } catch {
    response.sendStatus(400);
    return;
  }
  if (event.type === 'checkout.paid' || event.type === 'checkout.expired') {
    const { reference, receivedAmount, assetCode } = event.data.checkout;
    const isPaid = event.type === 'checkout.paid';
    // The same event may arrive more than once.
    if (reference !== null && orders.get(reference) === 'waiting') {
      orders.set(reference, isPaid ? 'shipped' : 'expired');
      console.log(isPaid ? `ship ${reference}: ${receivedAmount} ${assetCode} arrived` : `${reference} was not paid`);
    }
  }
  response.sendStatus(204);
});
app.listen(Number(PORT), '127.0.0.1', () => console.log(`open ${shop}`));
