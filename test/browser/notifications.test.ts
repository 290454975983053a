/** E-mail in the dashboard, in a real browser: who is told of what, and an order with a receipt. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { axeViolations, openBrowser, openContext, watchPage } from '../helpers/browser.js';
import { LONG } from '../helpers/long.js';
import { startMailServer } from '../helpers/mail-server.js';
import { eventually, startSelling, startTestService, type TestService } from '../helpers/service.js';

const server = await startMailServer();
t.teardown(() => server.close());
const service = await startTestService(t, { env: { SMTP_URL: server.url, MAIL_FROM: 'pay@service.example' } });
const browser = await openBrowser(t);

async function open(service: TestService, path: string): Promise<{ page: Page; complaints: string[] }> {
  const context = await openContext(t, browser, { reducedMotion: 'reduce' });
  context.setDefaultTimeout(45_000);
  const page = await context.newPage();
  const complaints = watchPage(page);
  await page.goto(`${service.url}/dashboard`);
  await page.getByLabel('API key').fill(service.apiKey);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.locator('nav[aria-label=Dashboard]').waitFor();
  await page.goto(`${service.url}/dashboard${path}`);
  return { page, complaints };
}

t.test('a shop owner chooses what is told; a mistyped address is named', async (t) => {
  const { page, complaints } = await open(service, '');
  await page.getByRole('link', { name: 'Notifications' }).click();
  await page.getByLabel('A payment belongs to no order').check();
  await page.getByLabel('To these addresses').fill('olga@shop.example\nben@');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('ben@: Must be an e-mail address.').waitFor();
  t.same(await axeViolations(page), []);
  await page.getByLabel('To these addresses').fill('olga@shop.example, ben@shop.example');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  t.match((await service.api('GET', '/account/notifications')).data, {
    recipients: ['olga@shop.example', 'ben@shop.example'],
    kinds: ['payment.unmatched'],
  });
  await page.reload();
  t.equal(await page.getByLabel('A payment belongs to no order').isChecked(), true);
  t.equal(await page.getByLabel('To these addresses').inputValue(), 'olga@shop.example\nben@shop.example');
  t.equal(await page.getByText('This service does not send e-mail').count(), 0);
  // The refused address is an answer of 422, which a browser notes.
  t.same(
    complaints.filter((text) => !/422/.test(text)),
    [],
  );
});

t.test('an order with the customer’s address sends the receipt, which is found by the address', LONG, async (t) => {
  const { wallet } = await startSelling(service);
  const { page } = await open(service, '/checkouts/new');
  await page.getByLabel('Product').selectOption({ index: 1 });
  await page.getByLabel('Customer’s e-mail').fill('ana@payer.example');
  await page.getByLabel('Language of the receipt').selectOption('Japanese');
  await page.getByRole('button', { name: 'Create the checkout' }).click();
  await page.getByText('ana@payer.example').waitFor();
  await page.getByText('Japanese').waitFor();
  const [{ memo, amount }] = (await service.api('GET', '/checkouts?search=ana')).data;
  await service.context.localLedger!.client.pay({ to: wallet.address, amount, memo });
  t.match((await server.to('ana@payer.example'))[0]!.parsed.subject, /^領収書/);
  await server.close();
  const next = { walletId: wallet.id, name: 'Tee', assetCode: 'XLM', amount: '1', customerEmail: 'bob@payer.example' };
  const second = (await service.api('POST', '/checkouts', next)).data;
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '1', memo: second.memo });
  // The page reads it once in 30 s.
  await eventually(
    async () => (await service.api('GET', '/account/notifications')).data.lastFailure?.to === 'bob@payer.example',
    'the failure',
  );
  await page.goto(`${service.url}/dashboard/notifications`);
  await page.getByText('bob@payer.example').waitFor();
  await page.getByText('mail server not reachable').waitFor();
});

t.test('a service without a mail server says so where a receipt would be promised', async (t) => {
  const without = await startTestService(t);
  await startSelling(without);
  const { page } = await open(without, '/notifications');
  await page.getByText('This service does not send e-mail yet').waitFor();
  await page.goto(`${without.url}/dashboard/checkouts/new`);
  await page.getByText('No receipt is sent: this service has no mail server.').waitFor();
});
