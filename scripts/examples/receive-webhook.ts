/** A merchant's endpoint, to start from. Put TLS in front of it: webhooks are sent only to https.
 *
 *  WEBHOOK_SECRET=whsec_… PORT=4000 npx tsx scripts/examples/receive-webhook.ts */
import express from 'express';
import { Webhook } from 'standardwebhooks';
import type { WebhookPayload } from '../../src/index.js'; // from 'stellar-collect' in your project

const { WEBHOOK_SECRET, PORT = '4000' } = process.env;
if (!WEBHOOK_SECRET) {
  console.error('Set WEBHOOK_SECRET to what POST /webhooks answered.');
  process.exit(1);
}
const webhook = new Webhook(WEBHOOK_SECRET);
/** Store them in your database: the same event may arrive more than once. */
const handled = new Set<string>();

const app = express();
// The raw body: the signature covers its bytes.
app.post('/hook', express.text({ type: '*/*' }), (request, response) => {
  let event: WebhookPayload;
  try {
    event = webhook.verify(request.body, request.headers as Record<string, string>) as WebhookPayload;
  } catch {
    response.sendStatus(400);
    return;
  }
  if (!handled.has(event.id) && event.type === 'payment.completed') {
    const { amount, assetCode, id } = event.data.payment;
    console.log(`ship it: ${amount} ${assetCode} arrived (${id})`);
  }
  handled.add(event.id);
  response.sendStatus(204);
});
app.listen(Number(PORT), '127.0.0.1', () => console.log('listening'));
