/** What is left until an account can be paid: each step turns with the account's data, one after
 *  the other. */
import { Keypair } from '@stellar/stellar-sdk';
import t from 'tap';
import { comeIn } from '../helpers/people.js';
import { eventually, startTestService } from '../helpers/service.js';

const service = await startTestService(t);
const STEPS = ['wallet', 'product', 'link', 'payment', 'told', 'access'];

async function made(path: string, body: object) {
  const { status, data, error } = await service.api('POST', path, body);
  if (status !== 201) throw new Error(JSON.stringify(error));
  return data;
}

async function read() {
  const { data } = await service.api('GET', '/account/readiness');
  return {
    steps: data.map(({ step }: { step: string }) => step),
    done: data.filter(({ done }: { done: boolean }) => done).map(({ step }: { step: string }) => step),
    hint: data[0].hint,
  };
}

t.test('each step is done once the data of the account says so', async (t) => {
  t.match(await read(), { steps: STEPS, done: [], hint: /^Add a wallet/ });

  const nowhere = Keypair.random().publicKey();
  const { id: unfunded } = await made('/wallets', { name: 'Not yet', address: nowhere, network: 'LOCAL' });
  t.match(await read(), { done: [], hint: /"Not yet" is not on LOCAL yet/ });
  await service.api('PATCH', `/wallets/${unfunded}`, { active: false });

  const { client } = service.context.localLedger!;
  const { address } = await client.fund();
  const wallet = await made('/wallets', { name: 'Shop', address, network: 'LOCAL' });
  t.same((await read()).done, ['wallet']);

  const issuer = Keypair.random().publicKey();
  const product = { name: 'Tea', walletId: wallet.id, priceType: 'FIXED', price: '5' };
  const untrusted = await made('/products', { ...product, assetCode: 'USD', assetIssuer: issuer });
  t.match(await read(), { done: ['product'], hint: /"Shop" cannot receive USD yet/ });
  await service.api('PATCH', `/products/${untrusted.id}`, { active: false });
  t.same((await read()).done, ['wallet'], 'an inactive product asks for nothing');

  const tea = await made('/products', { ...product, assetCode: 'XLM' });
  const link = await made('/payment-links', { productId: tea.id });
  t.same((await read()).done, ['wallet', 'product', 'link']);

  await client.pay({ to: address, amount: '5', memo: link.memo });
  await eventually(async () => (await read()).done.includes('payment'), 'the payment is seen');

  const webhook = await made('/webhooks', { name: 'w', url: 'https://shop.example/w', events: ['payment.completed'] });
  t.same((await read()).done, ['wallet', 'product', 'link', 'payment', 'told']);
  await service.api('PATCH', `/webhooks/${webhook.id}`, { status: 'PAUSED' });
  t.notOk((await read()).done.includes('told'), 'a paused webhook does not count');
  const letters = { recipients: ['ada@shop.example'], kinds: ['payment.completed'] };
  await service.api('PUT', '/account/notifications', { ...letters, kinds: [] });
  t.notOk((await read()).done.includes('told'), 'a recipient of nothing does not count');
  await service.api('PUT', '/account/notifications', letters);
  const { data } = await service.api('GET', '/account/readiness');
  t.match(data[4], { step: 'told', done: true, hint: /SMTP_URL/ }, 'a recipient counts without a mail server, too');
  await service.api('PUT', '/account/notifications', { recipients: [], kinds: [] });
  await service.api('PATCH', `/webhooks/${webhook.id}`, { status: 'ACTIVE' });

  await comeIn(service, 'OWNER', 'Ada');
  t.notOk((await read()).done.includes('access'), 'a lost device would lock the account');
  await comeIn(service, 'OWNER', 'Ben');
  t.same((await read()).done, STEPS);
});

t.test('the list is put away, and shown again', async (t) => {
  t.equal((await service.api('GET', '/account')).data.onboarding, 'shown');
  t.equal((await service.api('PATCH', '/account', { onboarding: 'hidden' })).data.onboarding, 'hidden');
  t.equal((await service.api('GET', '/account')).data.onboarding, 'hidden');
  const refused = await service.api('PATCH', '/account', { onboarding: 'gone' });
  t.match(refused, { status: 422, error: { details: [{ path: 'onboarding' }] } });
  t.equal((await service.api('PATCH', '/account', { onboarding: 'shown' })).data.onboarding, 'shown');
});
