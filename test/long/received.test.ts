/** What the overview says of received money, in a real browser: for which order it came, and
 *  what of it went back. */
import t from 'tap';
import { openBrowser, watchPage } from '../helpers/browser.js';
import { eventually, startTestService } from '../helpers/service.js';

t.test('a merchant whose order was refunded reads what it was for, and how much was sent back', async (t) => {
  const service = await startTestService(t);
  const ledger = service.context.localLedger!.client;
  const [till, payer] = [await ledger.fund(), await ledger.fund()];
  const make = async (path: string, body: object) => (await service.api('POST', path, body)).data;
  const wallet = await make('/wallets', { name: 'Till', address: till.address, network: 'LOCAL' });
  const order = { walletId: wallet.id, name: 'Two chairs', assetCode: 'XLM', amount: '30' };
  const { memo } = await make('/checkouts', { ...order, reference: '1042' });
  await ledger.pay({ to: till.address, amount: '30', memo, fromSecret: payer.secret });
  const payment = () => service.api('GET', '/payments').then(({ data }) => data[0]);
  await eventually(payment, 'the payment');
  await ledger.pay({ to: payer.address, amount: '7', memo: `refund ${memo}`, fromSecret: till.secret });
  await eventually(async () => (await payment()).refundedAmount === '7', 'the refund');

  const page = await (await openBrowser(t)).newPage();
  const complaints = watchPage(page);
  await page.goto(`${service.url}/dashboard`);
  await page.getByLabel('API key').fill(service.apiKey);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  const received = page.getByLabel('Received in XLM');
  await received.getByText('30 XLM').first().waitFor();
  t.equal(await received.locator('dd', { hasText: '7 XLM of it sent back' }).count(), 3, 'today, of 7 days, of 30');
  await page.locator('tbody tr', { hasText: 'Two chairs · 1042' }).waitFor();
  t.same(complaints, []);
});
