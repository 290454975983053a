/** Coming in with a passkey, in a real browser with an authenticator of its own. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { openBrowser, openContext, passkeyDevices } from '../helpers/browser.js';
import { freePort } from '../helpers/mongo.js';
import { startTestService } from '../helpers/service.js';

// A passkey is bound to a name: an address is none.
const port = await freePort();
const home = `http://localhost:${port}`;
const service = await startTestService(t, { role: 'api', env: { PORT: String(port), PUBLIC_URL: home } });
const browser = await openBrowser(t);

async function open() {
  const context = await openContext(t, browser, { reducedMotion: 'reduce' });
  context.setDefaultTimeout(45_000);
  const page = await context.newPage();
  const devices = await passkeyDevices(page);
  await devices.add('internal');
  return { page, devices };
}
const invite = async (role: string, name: string) =>
  (await service.api('POST', '/users', { name, role })).data as { id: string; url: string };
const ways = (page: Page) => page.locator('nav[aria-label=Dashboard] a').allInnerTexts();

t.test('an owner comes in by the invitation, invites a cashier, signs out and in again', async (t) => {
  const { page } = await open();
  await page.goto((await invite('OWNER', 'Olga')).url);
  await page.getByRole('heading', { name: 'Welcome, Olga' }).waitFor();
  await page.getByRole('button', { name: 'Create a passkey and sign in' }).click();
  await page.getByText('Olga · Owner').waitFor();
  t.ok((await ways(page)).includes('API keys'));

  await page.goto(`${home}/dashboard/users/new`);
  await page.getByLabel('Name').fill('Ben');
  await page.getByRole('button', { name: 'Create the invitation' }).click();
  const link = await page.getByRole('dialog').locator('code').innerText();
  t.match(link, new RegExp(`^${home}/dashboard/invite/[\\w-]{43}$`));
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await page.locator('tbody tr', { hasText: 'Ben' }).getByText('Invited').waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText('Olga · Owner').waitFor();

  const cashier = (await open()).page;
  await cashier.goto(link);
  await cashier.getByRole('heading', { name: 'Welcome, Ben' }).waitFor();
  await cashier.getByRole('button', { name: 'Create a passkey and sign in' }).click();
  await cashier.waitForURL(/\/dashboard\/pos$/);
  await cashier.goto(`${home}/dashboard/checkouts`);
  await cashier.getByText('Ben · Cashier').waitFor();
  t.same(await ways(cashier), ['Point of sale', 'Payments', 'Checkouts', 'Coupons']);

  const { data } = await service.api('GET', '/users');
  await service.api('DELETE', `/users/${data.find(({ name }: any) => name === 'Ben').id}`);
  await cashier.reload();
  await cashier.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await cashier.getByText('This passkey does not sign in here.').waitFor();
});

t.test('a cashier adds a passkey of another device in their own view, and removes one', async (t) => {
  const { page, devices } = await open();
  const { id, url } = await invite('CASHIER', 'Cleo');
  await page.goto(url);
  await page.getByRole('button', { name: 'Create a passkey and sign in' }).click();
  await page.waitForURL(/\/dashboard\/pos$/);
  const { passkeys } = (await service.context.stores.system.users.byId(id))!;
  // Another device: the first one would refuse a second passkey.
  await devices.add('usb');
  await page.goto(`${home}/dashboard/checkouts`);
  await page.getByRole('link', { name: 'Cleo' }).click();
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('The passkey is added.').waitFor();
  await page
    .getByRole('button', { name: /^Remove / })
    .nth(1)
    .waitFor();
  const now = (await service.context.stores.system.users.byId(id))!;
  t.equal(now.passkeys.length, 2);
  t.equal(now.passkeys[0]!.id, passkeys[0]!.id);
  await page.goto(`${home}/dashboard/me`);
  await page.getByText('Cleo · Cashier').waitFor();
  await page
    .getByRole('button', { name: /^Remove / })
    .first()
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
  t.equal((await service.context.stores.system.users.byId(id))!.passkeys.length, 1, 'and is signed out');
});

t.test('a used invitation says so', async () => {
  const { page } = await open();
  const { id, url } = await invite('VIEWER', 'Vera');
  await service.api('DELETE', `/users/${id}`);
  await page.goto(url);
  await page.getByText('This invitation was already used or has ended.').waitFor();
});
