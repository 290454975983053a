/** The setup in a real browser: with a passkey on localhost and behind TLS, and with an API key
 *  where a browser can make none. */
import { createHash, X509Certificate } from 'node:crypto';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { Page } from 'playwright-core';
import { generate } from 'selfsigned';
import t from 'tap';
import { axeViolations, openBrowser, openContext, passkeyDevices } from '../helpers/browser.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { startEmpty } from '../helpers/setup.js';

type Test = Parameters<Parameters<typeof t.test>[0]>[0];

const CODE = 'a-code<of>25%characters"`';
const { cert, private: key } = await generate([{ name: 'commonName', value: 'pay.test' }], {
  keyType: 'ec',
  extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'pay.test' }] }],
});
const pin = createHash('sha256')
  .update(new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' }))
  .digest('base64');
// Browsers make no passkey over a certificate that they do not trust.
const browser = await openBrowser(t, [
  '--host-resolver-rules=MAP *.test 127.0.0.1',
  `--ignore-certificate-errors-spki-list=${pin}`,
]);

/** A service without any account. */
async function startThere(t: Test, port: number, publicUrl: string) {
  const env = { TRUST_PROXY: '1', SETUP_CODE: CODE, PORT: String(port), PUBLIC_URL: publicUrl };
  const { context } = await startEmpty(t, await testDatabase(t), env);
  return { line: await context.setupCode.line() };
}

async function openPage(t: Test): Promise<Page> {
  const context = await openContext(t, browser, { reducedMotion: 'reduce' });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  await (await passkeyDevices(page)).add('internal');
  return page;
}

async function fillIn(page: Page): Promise<void> {
  await page.getByLabel('Name of your shop').fill('Bean & Leaf');
  await page.getByLabel('Your name').fill('Ana');
  await page.getByRole('button', { name: 'Set up' }).click();
}

async function makesPasskey(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create a passkey and sign in' }).click();
  await page.getByText('Ana · Owner').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText('Ana · Owner').waitFor();
}

t.test(
  'on localhost: without the code no further than the form; cut off, and gone on with; a passkey signs in',
  async (t) => {
    const port = await freePort();
    const { line } = await startThere(t, port, `http://localhost:${port}`);
    const link = line.replace('Set up at ', '');
    const page = await openPage(t);
    await page.goto(`http://localhost:${port}/dashboard/wallets`);
    await page.waitForURL(/\/dashboard\/setup$/);
    await page.getByLabel('Code').fill('a guess');
    await fillIn(page);
    await page.getByText('This code is wrong.').waitFor();
    const refused = page.waitForResponse((answer) => answer.status() === 403);
    await page.getByRole('button', { name: 'Set up' }).click();
    await refused;
    await page.getByText('This code is wrong.').waitFor();
    t.equal(await page.getByLabel('Code').getAttribute('aria-invalid'), 'true');
    t.same(await axeViolations(page), []);

    const requests: string[] = [];
    page.on('request', (sent) => void requests.push(sent.url()));
    await page.goto(link);
    await page.reload();
    t.equal(await page.getByLabel('Code').count(), 0, 'the link carries it');
    await page.getByRole('button', { name: 'Set up' }).click();
    await page.getByText('2 fields need your attention.').waitFor();
    await fillIn(page);
    await page.getByRole('button', { name: 'Create a passkey and sign in' }).waitFor();
    t.same(await axeViolations(page), []);

    // The tab is closed, and the link opened again.
    const again = await openPage(t);
    await again.goto(link);
    await fillIn(again);
    await makesPasskey(again);
    t.ok(
      requests.every((url) => !url.includes('code')),
      'no address that was asked for holds the code',
    );
    await page.context().clearCookies();
    await page.goto(`http://localhost:${port}/dashboard/setup`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
  },
);

t.test('setup behind TLS → a passkey of that name', async (t) => {
  const [port, proxyPort] = [await freePort(), await freePort()];
  const proxy = createServer({ key, cert }, (req, res) => {
    const headers = { ...req.headers, 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' };
    const sent = request({ port, path: req.url, method: req.method, headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(res);
    });
    req.pipe(sent.on('error', () => res.destroy()));
  });
  await new Promise<void>((resolve) => void proxy.listen(proxyPort, '127.0.0.1', resolve));
  t.teardown(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  const { line } = await startThere(t, port, `https://pay.test:${proxyPort}`);
  const page = await openPage(t);
  await page.goto(line.replace('Set up at ', ''));
  await fillIn(page);
  await makesPasskey(page);
});

t.test('setup over plain http at another host → an API key, shown once', async (t) => {
  const port = await freePort();
  const { line } = await startThere(t, port, `http://shop.test:${port}`);
  const page = await openPage(t);
  await page.goto(line.replace('Set up at ', ''));
  await fillIn(page);
  const dialog = page.getByRole('dialog');
  const apiKey = await dialog.locator('code').innerText();
  t.match(apiKey, /^sk_/);
  await dialog.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByText('Ana · Owner').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goto(line.replace('Set up at ', ''));
  await page.waitForURL((url) => url.pathname === '/dashboard' || url.pathname === '/dashboard/');
});
