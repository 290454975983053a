/** The dashboard and the till in the user's language: what they chose, else what the
 *  browser prefers. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { openBrowser, openContext } from '../helpers/browser.js';
import { comeIn, type Person } from '../helpers/people.js';
import { startSelling, startTestService } from '../helpers/service.js';

const service = await startTestService(t, { role: 'api' });
const { url } = service;
await startSelling(service);
const browser = await openBrowser(t);

async function open(path: string, { cookie }: Person, locale: string): Promise<Page> {
  const context = await openContext(t, browser, {
    reducedMotion: 'reduce',
    locale,
    viewport: { width: 1200, height: 900 },
  });
  context.setDefaultTimeout(45_000);
  const [name, value] = cookie.split('=') as [string, string];
  await context.addCookies([{ name, value, url: `${url}/dashboard` }]);
  const page = await context.newPage();
  await page.goto(`${url}/dashboard${path}`);
  return page;
}
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
const written = (page: Page) =>
  page.evaluate("['lang', 'dir'].map((name) => document.documentElement[name]).join(' ')");

t.test('an owner whose browser prefers German chooses Arabic, which stays and runs from right to left', async (t) => {
  const owner = await comeIn(service, 'OWNER', 'Ada');
  const page = await open('/products', owner, 'de-AT');
  await heading(page, 'Produkte');
  t.equal(await written(page), 'de ltr');
  await page.getByText('Ada · Inhaber').waitFor();
  await page.getByRole('link', { name: 'Ada' }).click();
  await page.getByLabel('Sprache').selectOption('ar');
  await page.getByText('Ada · مالك').waitFor();
  t.equal(await written(page), 'ar rtl');
  const [menu, content] = await Promise.all([
    page.locator('header.around').boundingBox(),
    page.locator('#content').boundingBox(),
  ]);
  t.ok(menu!.x > content!.x, 'the menu is on the right');
  const again = await open('/products', owner, 'de-AT');
  await heading(again, 'المنتجات');
  t.equal(await again.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, 'nothing is cut off');
});

t.test('a cashier in Jakarta sells at a till that speaks Indonesian, and is refused in it', async (t) => {
  const page = await open('/pos', await comeIn(service, 'CASHIER', 'Budi'), 'id-ID');
  await page.getByRole('button', { name: 'Tagih', exact: true }).waitFor();
  t.equal(await written(page), 'id ltr');
  for (const key of ['5', '0']) await page.getByRole('button', { name: key, exact: true }).click();
  await page.getByRole('button', { name: 'Tagih', exact: true }).click();
  await page.getByText('Menunggu pembayaran…').waitFor();
  t.match(await page.title(), /^Kasir/);
});
