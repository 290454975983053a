/** A payer proves a payment in a real browser: from the receipt to the verdict, and nothing leaves
 *  the browser on the way. */
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { openBrowser, watchPage } from '../helpers/browser.js';
import { LONG } from '../helpers/long.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const service = await startTestService(t);
const browser = await openBrowser(t);

async function paidCheckout() {
  const { wallet, product } = await startSelling(service);
  const checkout = (await service.api('POST', '/checkouts', { productId: product.id, reference: 'order-1042' })).data;
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '25', memo: checkout.memo });
  return eventually(async () => {
    const { data } = await service.api('GET', `/checkouts/${checkout.id}`);
    return data.status === 'PAID' && data;
  }, 'the checkout is PAID');
}

t.test('a payer opens the receipt, downloads the proof and checks it → SIGNED, and nothing was sent', async (t) => {
  const checkout = await paidCheckout();
  const url = new URL(checkout.url).pathname;
  await eventually(
    async () => (await fetch(`${service.url}${url}/proof`, { headers: { accept: 'application/json' } })).status === 200,
    'the proof',
    60_000,
  );
  const page = await browser.newPage();
  const complaints = watchPage(page);
  await page.goto(`${service.url}${url}/receipt`);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  const path = await download.path();
  await page.getByRole('link', { name: '/proof' }).click();
  const sent: string[] = [];
  page.on('request', (request) => sent.push(request.url()));
  await page.getByLabel('Choose a file').setInputFiles(path);
  await page.locator('main[data-shown="SIGNED"]').waitFor();
  const result = page.locator('#result');
  t.match(await result.innerText(), /25 XLM/);
  t.match(await result.innerText(), /order-1042[\s\S]*It is signed by this service/);

  const bundle = JSON.parse(await readFile(path, 'utf8'));
  const changed = { ...bundle, claim: { ...bundle.claim, amount: '2500' } };
  const file = (content: Buffer) => ({ name: 'proof.json', mimeType: 'application/json', buffer: content });
  const verdictOf = async (content: Buffer, expected: string) => {
    await page.locator('main').evaluate((main) => main.removeAttribute('data-shown'));
    await page.getByLabel('Choose a file').setInputFiles(file(content));
    await page.locator(`main[data-shown="${expected}"]`).waitFor();
    t.equal(await result.locator('[data-field=amount]').innerText(), expected === 'SIGNED' ? '25 XLM' : '', expected);
  };
  await verdictOf(Buffer.from(JSON.stringify(changed)), 'INVALID');
  await verdictOf(gzipSync(JSON.stringify(bundle)), 'SIGNED');
  await verdictOf(Buffer.from('{"format":'), 'UNKNOWN');
  await verdictOf(gzipSync(Buffer.alloc(64 * 1024 * 1024)), 'UNKNOWN');
  await verdictOf(Buffer.from(JSON.stringify({ ...bundle, networkPassphrase: 'Another' })), 'INVALID');
  await page.getByText('What you trust').click();
  await page.getByLabel('Hashes that you know').fill(`${bundle.claim.ledger}:${'00'.repeat(32)}`);
  await page.getByLabel('Choose a file').setInputFiles(file(Buffer.from(JSON.stringify(bundle))));
  await page.getByRole('button', { name: 'Check again' }).click();
  await page.locator('main[data-shown="INVALID"]').waitFor();
  t.same(sent, [], 'nothing left the browser');
  t.same(complaints, []);
});

t.test('a merchant asks for the proof of a payment in the dashboard → a file', LONG, async (t) => {
  const checkout = await paidCheckout();
  const [payment] = (await service.api('GET', `/payments?checkoutId=${checkout.id}`)).data;
  const page = await browser.newPage();
  const complaints = watchPage(page);
  await page.goto(`${service.url}/dashboard/payments/${payment.id}?do=proof`);
  await page.getByLabel('API key').fill(service.apiKey);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  const button = page.getByRole('button', { name: 'Download the proof' });
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  t.match(JSON.parse(await readFile(await download.path(), 'utf8')), {
    format: 'stellar-payment-proof/1',
    claim: { transactionHash: payment.transactionHash },
    anchor: { scp: Array },
  });
  t.same(complaints, []);
});

t.test('the page that checks → connects to nothing, in every language, and is small', async (t) => {
  const answer = await fetch(`${service.url}/proof?lang=de`);
  t.equal(answer.status, 200);
  const policy = answer.headers.get('content-security-policy')!;
  t.match(policy, /default-src 'none'/);
  t.match(policy, /connect-src 'none'/);
  const text = await answer.text();
  t.match(text, /<html lang="de"/);
  t.match(text, /Was es nicht beweist/);
  const [source] = /\/page\/proof-[0-9a-f]{10}\.js/.exec(text)!;
  const script = await fetch(`${service.url}${source}`);
  t.match(script.headers.get('cache-control'), /immutable/);
  const bytes = gzipSync(Buffer.from(await script.arrayBuffer()), { level: 9 }).length + gzipSync(text).length;
  t.ok(bytes < 15_000, `${bytes} bytes`);
});
