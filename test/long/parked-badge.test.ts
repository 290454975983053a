/** The dashboard says of a wallet that records which may have paid it wait, wherever it shows the
 *  wallet, until they are settled. */
import t from 'tap';
import { axeViolations, openBrowser, openContext, watchPage } from '../helpers/browser.js';
import { startProgram } from '../helpers/command.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

const database = await testDatabase(t);
const service = await startTestService(t, { database });
const { wallet } = await startSelling(service);
const account = await service.context.localLedger!.client.fund();
const other = (await service.api('POST', '/wallets', { name: 'Till', address: account.address, network: 'LOCAL' }))
  .data;
const { parkedRecords } = service.context.stores.system;
const ledgerUrl = service.context.localLedger!.url;
const browser = await openBrowser(t);
const home = `${service.url}/dashboard`;

t.test(
  'a wallet that parked records may have paid has a badge, and its own words, until they are dismissed',
  async (t) => {
    const isRead = async () =>
      (await service.api('GET', '/wallets')).data.every(({ sync }: { sync: { state: string } }) => sync.state === 'OK');
    await eventually(isRead, 'both wallets are read');
    const now = new Date();
    const later = new Date(now.getTime() + 86_400_000);
    const ids = ['LOCAL:1', 'LOCAL:2'];
    await parkedRecords.park(
      ids.map((_id) => ({
        ...{ _id, network: 'LOCAL', reason: 'is of an unknown type', raw: '{}', createdAt: now },
        ...{ concerns: [wallet.address], ledger: null, closedFrom: now, payableUntil: later },
        ...{ tries: 0, nextTryAt: later, dismissed: null },
      })),
    );

    const context = await openContext(t, browser, { reducedMotion: 'reduce' });
    const page = await context.newPage();
    const complaints = watchPage(page);
    await page.goto(home);
    await page.getByLabel('API key').fill(service.apiKey);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.locator('nav[aria-label=Dashboard]').waitFor({ state: 'attached' });
    const shown = async (path: string) => {
      await page.goto(`${home}${path}`);
      await eventually(async () => (await page.locator('.loading').count()) === 0, `${path} is loaded`);
    };
    const waiting = page.locator('.badge', { hasText: 'Records wait' });

    await page.locator('.troubles').getByText('Records wait').waitFor();
    t.match(await page.locator('.troubles li', { hasText: 'Records wait' }).innerText(), /may be payments/);
    await shown('/wallets');
    const row = (name: string) => page.locator('tbody tr', { hasText: name });
    t.equal(await row(wallet.name).locator(waiting).count(), 1);
    t.equal(await row(other.name).locator(waiting).count(), 0, 'a record that cannot have paid it is not mentioned');
    t.strictSame(await axeViolations(page), []);
    await shown(`/wallets/${wallet.id}`);
    t.equal(await waiting.count(), 1);
    t.match(await page.locator('.lead').first().innerText(), /orders that they may have paid stay open/);
    t.match(await page.locator('dl', { hasText: 'Parked records' }).first().innerText(), /Parked records\s+2/);
    t.strictSame(await axeViolations(page), []);

    for (const id of ids) {
      const { code, stderr } = await startProgram('src/cli/main.ts', ['parked', 'dismiss', id, '--why', 'no money'], {
        env: {
          ...{ MONGODB_URI: database.uri, SECRETS_KEY: TEST_SECRETS_KEY },
          ...{ DATA_DIR: service.dataDir, HORIZON_URLS_LOCAL: ledgerUrl },
        },
      }).ended;
      t.equal(code, 0, stderr);
    }
    await shown('/wallets');
    t.equal(await waiting.count(), 0);
    await shown(`/wallets/${wallet.id}`);
    t.equal(await page.getByText('Parked records').count(), 0);
    t.same(complaints, []);
  },
);
