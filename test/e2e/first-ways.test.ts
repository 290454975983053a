/** What has a second way, which may hide that the first is broken, goes by the first: here no
 *  poll of events and deliveries ever comes due. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

/** Of the sequencer and of the dispatcher. */
const POLL_MS = 250;
const NEVER_MS = 3_600_000;
let polls = 0;
const clock = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => {
    if (ms === POLL_MS) polls += 1;
    return systemClock.sleep(ms === POLL_MS ? NEVER_MS : ms, signal);
  },
};
const receiver = await startReceiver();
t.teardown(() => receiver.close());
const service = await startTestService(t, { clock });
const { api } = service;
const { product, link, wallet } = await startSelling(service, { currency: 'EUR', price: '10' });
const pair = { currency: 'EUR', assetCode: 'XLM', network: 'LOCAL' };
t.equal((await api('PUT', '/rates', { ...pair, rate: '0.25' })).status, 200);
const pay = (amount: string) =>
  service.context.localLedger!.client.pay({ to: wallet.address, amount, memo: link.memo });
const order = async () => (await api('POST', '/checkouts', { productId: product.id })).data;

/** Reads an event stream until it holds the text. */
async function heard(url: string, text: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) });
  t.equal(answer.status, 200, url);
  let all = '';
  for await (const chunk of answer.body!) {
    all += Buffer.from(chunk).toString();
    if (all.includes(text)) return all;
  }
  throw new Error(`ended without ${text}: ${all}`);
}

t.test('a payment reaches its webhook and the stream of events although nothing polls', async (t) => {
  const url = `${receiver.origin}/shop`;
  const made = await api('POST', '/webhooks', { name: 'shop', url, events: ['payment.completed'] });
  t.equal(made.status, 201);
  // What looks once at its start has gone to sleep.
  await eventually(async () => polls >= 2, 'both sleep', 5_000);
  const stream = heard(`${service.url}/api/v1/events/stream?after=0`, 'payment.completed', {
    authorization: `Bearer ${service.apiKey}`,
  });
  await pay('40');
  await eventually(async () => receiver.at('/shop').length > 0, 'the webhook hears of it', 5_000);
  t.match(await stream, '"amount":"40"');
});

t.test('an accepted payment does, too', async () => {
  await pay('39');
  const short = await eventually(async () => (await api('GET', '/payments?status=UNDERPAID')).data[0], 'it is here');
  await api('POST', `/payments/${short.id}/accept`);
  await eventually(async () => receiver.at('/shop').length > 1, 'the webhook hears of it', 5_000);
});

t.test('pages of a link and of an order in EUR are told by their streams', async (t) => {
  const { url } = await order();
  t.match(await heard(`${link.url}/events`, 'event: status'), '"due":"40"');
  t.match(await heard(`${url}/events`, 'event: status'), '"due":"40"');
});
