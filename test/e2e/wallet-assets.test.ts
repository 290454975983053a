/** What a wallet holds and can receive is what the ledger says at that moment, from both kinds of
 *  servers. */
import { Asset, AuthRequiredFlag, Keypair, Operation } from '@stellar/stellar-sdk';
import t from 'tap';
import { isAccountAddress } from '../../contracts/address.js';
import { KNOWN_ASSETS } from '../../contracts/known-assets.js';
import { eventually, startTestService } from '../helpers/service.js';

const service = await startTestService(t);
const ledger = service.context.localLedger!.client;
const assetsOf = (id: string) => service.api('GET', `/wallets/${id}/assets`);
const register = async (address: string) =>
  (await service.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;

t.test('lumens first, then trustlines by code, with what the issuer allows', async (t) => {
  const shop = await ledger.fund();
  const wallet = await register(shop.address);
  t.match((await assetsOf(wallet.id)).data, [{ assetCode: 'XLM', assetIssuer: null, authorized: true, known: null }]);
  const { assetIssuer } = await ledger.issue({ code: 'EUR', amount: '12.5', toSecret: shop.secret });
  const strict = await ledger.fund();
  await ledger.submit({
    from: Keypair.fromSecret(strict.secret),
    operations: [Operation.setOptions({ setFlags: AuthRequiredFlag })],
  });
  await ledger.submit({
    from: Keypair.fromSecret(shop.secret),
    operations: [Operation.changeTrust({ asset: new Asset('BOND', strict.address) })],
  });
  const held = await eventually(async () => {
    const { data } = await assetsOf(wallet.id);
    return data.length === 3 && data;
  }, 'three assets');
  t.match(held, [
    { assetCode: 'XLM', known: null },
    { assetCode: 'BOND', assetIssuer: strict.address, balance: '0', authorized: false, known: null },
    { assetCode: 'EUR', assetIssuer, balance: '12.5', authorized: true, known: null },
  ]);
});

t.test('an account that is not on the ledger holds nothing, and another account’s wallet is not found', async (t) => {
  const wallet = await register(Keypair.random().publicKey());
  t.match(await assetsOf(wallet.id), { status: 200, data: [] });
  const { apiKey } = await service.openAccount();
  t.equal((await service.api('GET', `/wallets/${wallet.id}/assets`, undefined, apiKey)).status, 404);
});

t.test('a known asset is named by its issuer alone', async (t) => {
  for (const { assetIssuer } of KNOWN_ASSETS) t.ok(isAccountAddress(assetIssuer), assetIssuer);
  const [usdc] = KNOWN_ASSETS;
  const shop = await ledger.fund();
  const wallet = await register(shop.address);
  const trust = (asset: Asset) =>
    ledger.submit({ from: Keypair.fromSecret(shop.secret), operations: [Operation.changeTrust({ asset })] });
  await ledger.submit({
    from: Keypair.fromSecret(shop.secret),
    operations: [Operation.createAccount({ destination: usdc!.assetIssuer, startingBalance: '10' })],
  });
  await trust(new Asset('USDC', usdc!.assetIssuer));
  await trust(new Asset('USDC', (await ledger.fund()).address));
  const held = (await assetsOf(wallet.id)).data.slice(1);
  t.same(held.map(({ assetIssuer, known }: any) => [assetIssuer === usdc!.assetIssuer, known]).sort(), [
    [false, null],
    [true, { name: 'USD Coin', domain: 'circle.com' }],
  ]);
});

t.test('Stellar RPC alone tells of the assets of the wallet’s products', async (t) => {
  const { url } = service.context.localLedger!;
  const other = await startTestService(t, {
    env: { RPC_URLS_LOCAL: `${url}/rpc` },
  });
  const shop = await ledger.fund();
  const { assetIssuer } = await ledger.issue({ code: 'EUR', amount: '3', toSecret: shop.secret });
  const wallet = (await other.api('POST', '/wallets', { name: 'W', address: shop.address, network: 'LOCAL' })).data;
  await other.api('POST', '/products', {
    ...{ name: 'P', walletId: wallet.id, assetCode: 'EUR', assetIssuer, priceType: 'FIXED', price: '1' },
  });
  t.match((await other.api('GET', `/wallets/${wallet.id}/assets`)).data, [
    { assetCode: 'XLM', authorized: true },
    { assetCode: 'EUR', assetIssuer, balance: '3', authorized: true },
  ]);
});
