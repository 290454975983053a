/** The form of an order link, and the payment page in a dialog of the shop's own page, in a
 *  real browser. */
import t from 'tap';
import { axeViolations, openBrowser, openContext } from '../helpers/browser.js';
import { LONG } from '../helpers/long.js';
import { startSelling, startTestService } from '../helpers/service.js';

const service = await startTestService(t);
const { url, api } = service;
const { wallet } = await startSelling(service);
const ledger = service.context.localLedger!.client;
const browser = await openBrowser(t);

const SHOP = 'https://shop.example';
const PAY = 'https://pay.example';
const product = (
  await api('POST', '/products', {
    ...{ name: 'Mug', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '10', stock: 2 },
  })
).data;
const order = {
  fields: [
    { key: 'name', label: 'Your name', type: 'text', required: true },
    { key: 'mail', label: 'E-mail', type: 'email', required: true },
    { key: 'size', label: 'Size', type: 'select', required: true, options: ['S', 'M'] },
    { key: 'gift', label: 'A gift', type: 'checkbox' },
  ],
  quantity: { min: 1, max: 2 },
  tipPercents: ['10'],
};
const link = (await api('POST', '/payment-links', { productId: product.id, order })).data;
await api('PATCH', '/account', { embedOrigins: [SHOP] });

async function open(javaScriptEnabled = true) {
  const context = await openContext(t, browser, { reducedMotion: 'reduce', javaScriptEnabled, locale: 'en' });
  context.setDefaultTimeout(45_000);
  return context.newPage();
}

for (const script of [true, false])
  t.test(
    `a payer fills in the form ${script ? 'with' : 'without'} scripts, is told of faults, and gets to the checkout`,
    async (t) => {
      const page = await open(script);
      await page.goto(`${url}/p/${link.slug}`);
      await page.getByLabel('Your name').fill('Ana');
      await page.getByLabel('E-mail').fill('ana');
      await page.getByLabel('A gift').check();
      await page.getByLabel('10%').check();
      await page.getByRole('button', { name: 'Continue to payment' }).click();
      await page.getByText('Enter an e-mail address').waitFor();
      t.equal(await page.getByLabel('Your name').inputValue(), 'Ana', 'what was typed is kept');
      t.ok(await page.getByLabel('A gift').isChecked());
      t.equal(await page.getByLabel('Size').getAttribute('aria-invalid'), 'true');
      if (script) t.strictSame(await axeViolations(page), []);
      await page.getByLabel('E-mail').fill('ana@shop.example');
      await page.getByLabel('Size').selectOption('M');
      await page.getByRole('button', { name: 'Continue to payment' }).click();
      await page.waitForURL(/\/c\//);
      await page.getByText('Pay until').waitFor();
      const [made] = (await api('GET', `/checkouts?productId=${product.id}`)).data;
      t.match(made, { total: '11', answers: { name: 'Ana', size: 'M', gift: 'on' } });
      await api('POST', `/checkouts/${made.id}/cancel`);
    },
  );

t.test(
  'the form turns when the product is sold out and when pieces come back, and keeps what was typed',
  LONG,
  async (t) => {
    const page = await open();
    const fields = { name: 'Cup', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '10', stock: 1 };
    const { id: productId } = (await api('POST', '/products', fields)).data;
    const { slug } = (await api('POST', '/payment-links', { productId, order })).data;
    await page.goto(`${url}/p/${slug}`);
    await page.getByLabel('Your name').fill('Ana');
    await api('PATCH', `/products/${productId}`, { stock: 0 });
    await page.getByText('Sold out at the moment').waitFor();
    t.notOk(await page.getByLabel('Your name').isVisible());
    await api('PATCH', `/products/${productId}`, { stock: 1 });
    await page.getByLabel('Your name').waitFor();
    t.equal(await page.getByLabel('Your name').inputValue(), 'Ana');
  },
);

t.test('a page may be framed by the account’s origins alone, as long as they are named', async (t) => {
  const headers = async () => (await fetch(`${url}/p/${link.slug}`)).headers;
  t.match((await headers()).get('content-security-policy'), `frame-ancestors ${SHOP}`);
  t.equal((await headers()).get('x-frame-options'), null);
  t.same((await api('GET', '/account')).data.embedOrigins, [SHOP]);
  for (const origin of [
    `${SHOP}/`,
    `${SHOP}/path`,
    'http://shop.example',
    'https://*.shop.example',
    'https://a;b',
    'null',
  ])
    t.equal((await api('PATCH', '/account', { embedOrigins: [origin] })).status, 422, origin);
  const [{ changes }] = (await api('GET', '/activity?operation=account_update')).data;
  t.match(changes, [{ field: 'embedOrigins', from: [], to: [SHOP] }]);
  const other = await service.openAccount();
  const theirs = await api(
    'POST',
    '/wallets',
    { name: 'W', address: (await ledger.fund()).address, network: 'LOCAL' },
    other.apiKey,
  );
  const body = { walletId: theirs.data.id, name: 'Tea', assetCode: 'XLM', amount: '1' };
  const { slug } = (await api('POST', '/checkouts', body, other.apiKey)).data;
  const unframed = (await fetch(`${url}/c/${slug}`)).headers;
  t.match(unframed.get('content-security-policy'), "frame-ancestors 'none'");
  t.equal(unframed.get('x-frame-options'), 'DENY');
});

t.test('a shop’s page opens the checkout in a dialog, and is told that it is paid and closed', async (t) => {
  const body = { walletId: wallet.id, name: 'Tea', assetCode: 'XLM', amount: '1' };
  const checkout = (await api('POST', '/checkouts', body)).data;
  const page = await open();
  // Escape comes before the page listens.
  let isSlow = true;
  // A browser lets no page of the internet load from this machine.
  await page.route(`${PAY}/**`, async (route) => {
    const path = route.request().url().slice(PAY.length);
    if (path.includes('/events')) return route.abort();
    if (path.includes('/page/embed') && isSlow) await new Promise((resolve) => setTimeout(resolve, 1000));
    await route.fulfill({ response: await route.fetch({ url: url + path }) });
  });
  await page.route(`${SHOP}/**`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<script src="${PAY}/page/button-v1.js" defer></script>
<a id="pay" href="${PAY}/c/${checkout.slug}" data-stellar-collect data-open="modal">Pay</a><button id="behind">Behind</button>
<script>
  window.told = [];
  addEventListener('message', ({ origin, data }) => origin === '${PAY}' && told.push(data));
  addEventListener('checkoutend', ({ detail }) => told.push({ end: detail }));
</script>`,
    }),
  );
  const told = () => page.evaluate<any[]>('told');
  await page.goto(`${SHOP}/`);
  await page.locator('#pay').click();
  const frame = page.frameLocator('dialog iframe');
  await frame.getByText('Pay until').waitFor();
  t.ok(await page.evaluate('document.activeElement.closest("dialog") !== null'), 'the focus is inside');
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  t.match(await told(), [{ type: 'collect:closed' }, { end: { paid: false } }]);
  t.equal(await page.evaluate('document.activeElement.id'), 'pay', 'the focus is back');

  isSlow = false;
  t.comment('a page that answers after a second is gone at once, and is heard');
  const content = `if (window !== top)
    addEventListener('message', (event) => {
      const { isTrusted, data, origin, source } = event;
      if (!isTrusted) return;
      event.stopImmediatePropagation();
      setTimeout(() => dispatchEvent(new MessageEvent('message', { data, origin, source })), 1000);
    });`;
  await page.addInitScript({ content });
  await page.locator('#pay').click();
  await frame.getByText('Pay until').waitFor();
  await page.evaluate('told.length = 0');
  await page.locator('dialog button').click();
  await page.locator('dialog').waitFor({ state: 'hidden' });
  t.equal(await page.evaluate('document.activeElement.id'), 'pay', 'the focus is back');
  await page.locator('dialog').waitFor({ state: 'detached' });
  t.match(await told(), [{ type: 'collect:closed' }, { end: { paid: false } }]);

  t.comment('opened again while its page has not said that it closes');
  await page.locator('#pay').click();
  await frame.getByText('Pay until').waitFor();
  await page.evaluate(`document.querySelector('dialog button').click(); document.getElementById('pay').click()`);
  t.equal(await page.locator('dialog[open]').count(), 1);
  await frame.getByText('Pay until').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });

  await page.locator('#pay').click();
  await frame.getByText('Pay until').waitFor();
  await ledger.pay({ to: wallet.address, amount: '1', memo: checkout.memo });
  await frame.getByRole('heading', { name: 'Paid' }).waitFor();
  t.match((await told()).at(-1), { type: 'collect:paid', checkoutId: checkout.id });
  await frame.getByRole('heading', { name: 'Paid' }).click();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  t.match((await told()).slice(-2), [{ type: 'collect:closed' }, { end: { checkout: checkout.id, paid: true } }]);
});

t.test('a payer leaves a dialog for the shop, before and after paying → the shop’s page goes there', async (t) => {
  const ways = { successUrl: `${SHOP}/thanks`, cancelUrl: `${SHOP}/cart` };
  const body = { walletId: wallet.id, name: 'Tea', assetCode: 'XLM', amount: '1', ...ways };
  const checkout = (await api('POST', '/checkouts', body)).data;
  const page = await open();
  await page.route(`${PAY}/**`, async (route) => {
    const path = route.request().url().slice(PAY.length);
    if (path.includes('/events')) return route.abort();
    const headers = await route.request().allHeaders();
    await route.fulfill({ response: await route.fetch({ url: url + path, headers }) });
  });
  await page.route(`${SHOP}/**`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<script src="${PAY}/page/button-v1.js" defer></script>
<a id="pay" href="${PAY}/c/${checkout.slug}" data-stellar-collect data-open="modal">Pay</a>`,
    }),
  );
  const frame = page.frameLocator('dialog iframe');
  await page.goto(`${SHOP}/`);
  await page.locator('#pay').click();
  t.equal(await frame.locator('main').getAttribute('data-opener'), SHOP, 'the shop opened it');
  await frame.locator('.back.cancel a').click();
  await page.waitForURL(`${SHOP}/cart**`);

  await page.locator('#pay').click();
  await ledger.pay({ to: wallet.address, amount: '1', memo: checkout.memo });
  await frame.getByRole('heading', { name: 'Paid' }).waitFor();
  await frame.locator('#back').click();
  await page.waitForURL(`${SHOP}/thanks**`);
});
