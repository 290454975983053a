/** What outsiders do keeps no tenant's payment waiting, on a network whose ledger may be asked so
 *  many times an hour. */
import t from 'tap';
import { networkInfo } from '../../contracts/networks.js';
import { startTestLedger } from '../helpers/ledger.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startTestService } from '../helpers/service.js';

t.setTimeout(300_000);

/** Issuer of assets that no wallet here has a trustline to. */
const ISSUER = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const LINKS = 160;
const VIEWS_PER_SECOND = 9;
/** By then whatever a visitor may use of the budget at once is used up. */
const VIEWED_FIRST_MS = 20_000;
const RECORDED_WITHIN_MS = 10_000;

t.test('a visitor who looks at links that cannot be paid keeps no other tenant’s payment waiting', async (t) => {
  const database = await testDatabase(t);
  const { passphrase } = networkInfo.TESTNET;
  const { url, client } = await startTestLedger(t, { uri: database.uri, closeMs: 500, passphrase });
  const service = await startTestService(t, {
    database,
    env: {
      NETWORKS: 'TESTNET',
      HORIZON_URLS_TESTNET: url,
      HORIZON_REQUESTS_PER_HOUR: '3600',
      POLL_INTERVAL_MS: '1000',
    },
  });
  const create = async (path: string, body: object, key = service.apiKey) => {
    const made = await service.api('POST', path, body, key);
    t.equal(made.status, 201, path);
    return made.data;
  };
  const walletOf = async (key: string) => {
    const { address } = await client.fund();
    return create('/wallets', { name: 'w', address, network: 'TESTNET' }, key);
  };
  const product = { name: 'p', priceType: 'FIXED', price: '10' };
  const shown = await walletOf(service.apiKey);
  const slugs: string[] = [];
  for (let n = 0; n < LINKS; n++) {
    const asset = { assetCode: `A${n}`, assetIssuer: ISSUER };
    const { id } = await create('/products', { ...product, ...asset, walletId: shown.id });
    slugs.push((await create('/payment-links', { productId: id })).slug);
  }
  const other = await service.openAccount();
  const wallet = await walletOf(other.apiKey);
  const { id: productId } = await create(
    '/products',
    { ...product, assetCode: 'XLM', walletId: wallet.id },
    other.apiKey,
  );
  const link = await create('/payment-links', { productId }, other.apiKey);

  const recordedAfterMs = async () => {
    const { hash } = await client.pay({ to: wallet.address, amount: '10', memo: link.memo });
    const startMs = performance.now();
    await eventually(
      async () =>
        (await service.api('GET', '/payments', undefined, other.apiKey)).data.some(
          (each: any) => each.transactionHash === hash,
        ),
      'the payment is recorded',
      60_000,
    );
    return Math.round(performance.now() - startMs);
  };
  await recordedAfterMs();
  t.comment(`without a visitor: ${await recordedAfterMs()} ms`);

  let stopped = false;
  const views: Promise<number>[] = [];
  const viewing = (async () => {
    for (let n = 0; !stopped; n++) {
      views.push(
        fetch(`${service.url}/p/${slugs[n % LINKS]}`).then((page) => page.arrayBuffer().then(() => page.status)),
      );
      await new Promise((resolve) => setTimeout(resolve, 1000 / VIEWS_PER_SECOND));
    }
  })();
  await new Promise((resolve) => setTimeout(resolve, VIEWED_FIRST_MS));
  for (let payment = 0; payment < 3; payment++) {
    const ms = await recordedAfterMs();
    t.comment(`beside ${VIEWS_PER_SECOND} views a second: ${ms} ms`);
    t.ok(ms <= RECORDED_WITHIN_MS, `recorded after ${ms} ms`);
  }
  stopped = true;
  await viewing;
  t.same([...new Set(await Promise.all(views))], [200], `${views.length} views`);
});
