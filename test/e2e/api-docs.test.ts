/** Swagger UI in a real browser: requests work with the key that was entered, and the browser keeps
 *  nothing of it. */
import t from 'tap';
import { openBrowser } from '../helpers/browser.js';
import { LONG } from '../helpers/long.js';
import { startTestService } from '../helpers/service.js';

t.test('the docs let a person call the API with a key that no storage keeps', LONG, async (t) => {
  const service = await startTestService(t, { role: 'api', env: { HORIZON_URLS_LOCAL: 'http://127.0.0.1:1' } });
  const browser = await openBrowser(t);
  const page = await browser.newPage();
  const problems: string[] = [];
  const foreign: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('request', (request) => {
    if (!request.url().startsWith(service.url) && !request.url().startsWith('data:')) foreign.push(request.url());
  });

  const enterKey = async () => {
    await page.goto(`${service.url}/docs`);
    await page.getByText('stellar-collect').first().waitFor();
    await page.locator('.auth-wrapper .authorize').click();
    await page.locator('.auth-container input').fill(service.apiKey);
    await page.locator('.auth-container button[type=submit]').click();
    await page.getByRole('button', { name: 'Close' }).click();
  };
  await enterKey();
  t.same(
    await page.evaluate('({ ...localStorage, ...sessionStorage })'),
    {},
    'nothing is stored for the origin of the payment pages',
  );
  const run = async (method: string, path: string, fill?: string) => {
    const block = page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="/api/v1${path}"]`) });
    await block.locator('.opblock-summary-control').click();
    await block.getByRole('button', { name: 'Try it out' }).click();
    if (fill !== undefined) await block.locator('textarea.body-param__text').fill(fill);
    await block.getByRole('button', { name: 'Execute' }).click();
    const live = block.locator('.live-responses-table');
    await live.waitFor();
    return {
      status: ((await live.locator('.response-col_status').last().textContent()) ?? '').trim().slice(0, 3),
      body: await live.locator('.microlight').first().textContent(),
    };
  };
  t.match(await run('get', '/account'), { status: '200', body: new RegExp(service.accountId) }, 'the key is used');
  t.match(await run('get', '/products'), { status: '200', body: /"totalPages": 0/ });
  t.match(await run('post', '/api-keys', '{"name": "from the docs"}'), { status: '201', body: /"key": "sk_/ });
  t.match(await run('post', '/wallets', '{}'), { status: '422', body: /"path": "address"/ });
  t.same(foreign, [], 'nothing is asked of other hosts');
  t.same(
    problems.filter((text) => !/status of 422/.test(text)),
    [],
  );
});
