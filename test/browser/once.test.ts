/** A filled form makes one thing: under a double tap, through a lost answer and through a reload. A
 *  secret seed does not leave the browser. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { openBrowser, openContext } from '../helpers/browser.js';
import { comeIn } from '../helpers/people.js';
import { startSelling, startTestService } from '../helpers/service.js';

const service = await startTestService(t);
const { url, api } = service;
await startSelling(service);
const owner = await comeIn(service, 'OWNER', 'Ada');
const browser = await openBrowser(t);

async function open(path: string): Promise<Page> {
  const context = await openContext(t, browser, { reducedMotion: 'reduce' });
  context.setDefaultTimeout(45_000);
  const [name, value] = owner.cookie.split('=') as [string, string];
  await context.addCookies([{ name, value, url: `${url}/dashboard` }]);
  const page = await context.newPage();
  await page.goto(`${url}/dashboard${path}`);
  return page;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
/** Both taps before anything is drawn. */
const tapTwice = (page: Page, name: string) =>
  page.evaluate(`{
    const button = [...document.querySelectorAll('button')].find(({ textContent }) => textContent === ${JSON.stringify(name)});
    button.click();
    button.click();
  }`);
const total = async (path: string): Promise<number> => (await api('GET', path)).meta!.total;

const FORMS = [
  {
    what: 'sale',
    path: '/pos',
    list: '/checkouts',
    send: 'Charge',
    fill: async (page: Page) => {
      await page.getByLabel('Amount').getByText('0 XLM').waitFor();
      await button(page, '7').click();
    },
    isDone: (page: Page) => page.getByRole('img', { name: 'Scan to pay' }).waitFor(),
    lostBut: (page: Page) => page.getByRole('img', { name: 'Scan to pay' }).waitFor(),
  },
  {
    what: 'API key',
    path: '/api-keys/new',
    list: '/api-keys',
    send: 'Create the key',
    fill: (page: Page) => page.getByLabel('Name').fill('Shop server'),
    isDone: (page: Page) => page.getByRole('dialog').getByText(/^sk_/).waitFor(),
    lostBut: (page: Page) =>
      page.getByRole('dialog').getByText('the connection broke before the key arrived').waitFor(),
  },
  {
    what: 'user',
    path: '/users/new',
    list: '/users',
    send: 'Create the invitation',
    fill: (page: Page) => page.getByLabel('Name').fill('Ben'),
    isDone: (page: Page) =>
      page
        .getByRole('dialog')
        .getByText(/\/invite\//)
        .waitFor(),
    lostBut: (page: Page) => page.getByRole('dialog').getByText('the connection broke before the invitation').waitFor(),
  },
  {
    what: 'checkout',
    path: '/checkouts/new?of=free',
    list: '/checkouts',
    send: 'Create the checkout',
    fill: async (page: Page) => {
      await page.getByLabel('What it is for').fill('Chairs');
      await page.getByLabel('Amount', { exact: true }).fill('12,5');
    },
    isDone: (page: Page) => page.getByRole('heading', { name: 'Chairs' }).waitFor(),
    lostBut: (page: Page) => page.getByRole('heading', { name: 'Chairs' }).waitFor(),
  },
] as const;

for (const { what, path, list, send, fill, isDone, lostBut } of FORMS) {
  t.test(`a double tap makes one ${what}`, async (t) => {
    const page = await open(path);
    const before = await total(list);
    await fill(page);
    await button(page, send).waitFor();
    await page.waitForLoadState('networkidle');
    await tapTwice(page, send);
    await isDone(page);
    await page.waitForLoadState('networkidle');
    t.equal(await total(list), before + 1);
  });

  t.test(`a ${what} whose answer was lost is made once`, async (t) => {
    const page = await open(path);
    const before = await total(list);
    await fill(page);
    await page.waitForLoadState('networkidle');
    const lose = /trpc\/\w+\.create/;
    await page.route(lose, async (route) => {
      await route.fetch();
      await route.abort();
    });
    await button(page, send).click();
    await page.getByRole('alert').getByText('The service does not answer.').waitFor();
    t.equal(await total(list), before + 1, 'the service made it');
    await page.unroute(lose);
    if (what === 'sale' || what === 'user') {
      await page.reload();
      await fill(page);
    }
    await button(page, send).click();
    await lostBut(page);
    t.equal(await total(list), before + 1, 'and not a second one');
  });
}

const SEED = 'SBSHOPS4L3MUEKJVXDQ4JTAKR7W6XKXBQNFOJ7CTHLHUOVXHSQ4V2YQ5'.replace(/[01389]/g, 'A');

t.test('a pasted seed is refused in the browser, and never sent', async (t) => {
  const page = await open('/wallets/new');
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
  await page.getByLabel('Name').fill('Mine');
  await page.getByLabel('Address').fill(SEED);
  await page.waitForTimeout(500);
  await button(page, 'Add the wallet').click();
  await page.locator('.field', { hasText: 'Address' }).getByText('This is a secret key (S…)').waitFor();
  t.notMatch(await page.evaluate<string>('JSON.stringify([history.state, sessionStorage, localStorage])'), SEED);
  await page.goto(`${url}/dashboard/payments`);
  await page
    .getByLabel(/Reference, memo/)
    .first()
    .fill(` ${SEED} `);
  await page.locator('.toast', { hasText: 'This is a secret key (S…)' }).waitFor();
  t.notMatch(page.url(), SEED);
  await page.goto(`${url}/dashboard/pos`);
  await page.getByLabel('Amount').getByText('0 XLM').waitFor();
  await button(page, '1').click();
  await page.getByLabel('Note').fill(SEED);
  await button(page, 'Charge').click();
  await page.getByRole('alert').getByText('This is a secret key (S…)').waitFor();
  t.strictSame(
    sent.filter((request) => request.includes(SEED)),
    [],
  );
});

t.test('amounts are typed as people write them; what may mean two is asked again', async (t) => {
  const page = await open('/checkouts/new?of=free');
  await page.getByLabel('What it is for').fill('A table');
  const amount = page.getByLabel('Amount', { exact: true });
  await amount.fill('1.000');
  await page.evaluate("Object.defineProperty(navigator, 'language', { value: 'de' })");
  await button(page, 'Create the checkout').click();
  await page.getByText('Write 1000 or 1.0000.').waitFor();
  await amount.fill('１.０００,５０ XLM');
  await button(page, 'Create the checkout').click();
  await page.getByRole('heading', { name: 'A table' }).waitFor();
  t.equal((await api('GET', '/checkouts?search=table')).data[0].amount, '1000.5');
});
