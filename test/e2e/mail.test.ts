/** E-mails as they arrive at a real mail server: receipts in the payer's language, notifications,
 *  what goes wrong, and what strangers try. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { LONG } from '../helpers/long.js';
import { people, startMailServer, type TakenMail } from '../helpers/mail-server.js';
import { testDatabase } from '../helpers/mongo.js';
import { accept } from '../helpers/people.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService, type TestService } from '../helpers/service.js';

let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
const clock = { ...systemClock, nowMs, now: () => new Date(nowMs()) };
const FROM = 'pay@service.example';

const server = await startMailServer();
t.teardown(() => server.close());
const database = await testDatabase(t);
const service = await startTestService(t, {
  database,
  clock,
  env: { SMTP_URL: server.url, MAIL_FROM: `Pay Service <${FROM}>`, WEBHOOK_RETRY_BASE_MS: '100' },
});
const { wallet } = await startSelling(service);

async function paid(fields: Record<string, unknown>, key = service.apiKey, to = wallet): Promise<any> {
  const order = { walletId: to.id, name: 'Tee', assetCode: 'XLM', amount: '5', ...fields };
  const { data, error } = await service.api('POST', '/checkouts', order, key);
  if (error) throw new Error(JSON.stringify(error));
  await service.context.localLedger!.client.pay({ to: to.address, amount: '5', memo: data.memo });
  return data;
}
const html = ({ parsed }: TakenMail) => String(parsed.html);
const text = ({ parsed }: TakenMail) => parsed.text ?? '';

t.test('a payer gets the receipt in their language, from the shop, with a link to it', async (t) => {
  const brand = { name: 'Bean & Leaf', supportEmail: 'help@shop.example', supportUrl: 'https://shop.example/help' };
  await service.api('PATCH', '/account', { brand });
  const german = await paid({ customerEmail: 'ana@payer.example', language: 'de', reference: 'Auftrag 7' });
  const arabic = await paid({ customerEmail: 'omar@payer.example', language: 'ar' });
  const english = await paid({ customerEmail: 'bob@payer.example' });
  const none = await paid({ language: 'fr' });

  const [mail] = (await server.to('ana@payer.example')) as [TakenMail];
  t.equal(mail.parsed.subject, 'Beleg · Tee · Bean & Leaf');
  t.same(people(mail.parsed.from), [{ name: 'Bean & Leaf', address: FROM }]);
  t.same(people(mail.parsed.to), [{ name: '', address: 'ana@payer.example' }]);
  t.same(people(mail.parsed.replyTo), [{ name: '', address: 'help@shop.example' }]);
  t.same([mail.from, mail.to], [FROM, ['ana@payer.example']]);
  const url = `${german.url}/receipt?lang=de`;
  for (const part of ['Die Bestellung ist bezahlt.', 'Auftrag 7', '5 XLM', german.id, wallet.address, url])
    t.match(text(mail), part);
  t.match(text(mail), 'Wenden Sie sich an Bean & Leaf: https://shop.example/help · help@shop.example');
  t.match(html(mail), '<html lang="de" dir="ltr">');
  t.match(html(mail), `<a href="${url}">Beleg ansehen und drucken</a>`);
  t.match(html(mail), 'Bean &amp; Leaf');
  t.equal((await fetch(url)).status, 200, 'the link leads to the receipt');

  const [rtl] = (await server.to('omar@payer.example')) as [TakenMail];
  t.match(html(rtl), '<html lang="ar" dir="rtl">');
  t.match(rtl.parsed.subject, /^إيصال · Tee/);
  t.match(text(rtl), 'الطلب مدفوع.');
  t.match(text(rtl), `${arabic.url}/receipt?lang=ar`);
  t.notMatch(text(rtl), /The order/);
  t.match(text(((await server.to('bob@payer.example')) as [TakenMail])[0]), 'The order is paid. Thank you.');

  const shown = (await service.api('GET', `/checkouts/${english.id}`)).data;
  t.match(shown, { status: 'PAID', customerEmail: 'bob@payer.example', language: null });
  t.match((await service.api('GET', `/checkouts/${none.id}`)).data, { customerEmail: null, language: 'fr' });
  t.same(server.mails.length, 3, 'one each, and none without an address');
});

t.test('the payer’s address finds the checkout and its payment, and is in the export', async (t) => {
  for (const list of ['checkouts', 'payments'])
    for (const search of ['ana@payer.example', 'ANA@payer', 'payer.example ana'])
      t.equal(
        (await service.api('GET', `/${list}?search=${encodeURIComponent(search)}`)).data.length,
        1,
        `${list} ${search}`,
      );
  const answer = await fetch(`${service.url}/api/v1/checkouts/export?format=csv`, {
    headers: { authorization: `Bearer ${service.apiKey}` },
  });
  const [head = '', ...lines] = (await answer.text()).trim().split(/\r?\n/);
  const column = head.split(',').indexOf('customerEmail');
  t.ok(column > 0);
  t.ok(lines.some((line) => line.includes(',ana@payer.example,de,')));
  const page = await (await fetch((await service.api('GET', '/checkouts?search=ana@payer')).data[0].url)).text();
  t.notMatch(page, /payer\.example/, 'the page, which is public, does not show it');
});

t.test('what strangers put into names and references is text, and makes no header, recipient or markup', async (t) => {
  const { apiKey } = await service.openAccount('Evil\r\nBcc: victim@x.example');
  const { address } = await service.context.localLedger!.client.fund();
  const own = (await service.api('POST', '/wallets', { name: 'W', address, network: 'LOCAL' }, apiKey)).data;
  const brand = { name: '"Bank" <bank@x.example>,\r\nBcc: victim@x.example', supportEmail: "o'x+y@shop.example" };
  t.equal((await service.api('PATCH', '/account', { brand }, apiKey)).status, 200);
  await service.api(
    'PUT',
    '/account/notifications',
    { recipients: ['me@evil.example'], kinds: ['payment.completed'] },
    apiKey,
  );
  const name = 'Tee\r\nBcc: victim@x.example\r\n\r\n<script>alert(1)</script> \u202egnp.exe';
  const reference = '</td><img src=x onerror=alert(1)>\n\nContent-Type: text/html';
  await paid({ name, reference, customerEmail: 'eve+1@payer.example', language: 'tr' }, apiKey, own);
  const [receipt] = (await server.to('eve+1@payer.example')) as [TakenMail];
  const [notice] = (await server.to('me@evil.example')) as [TakenMail];
  for (const mail of [receipt, notice]) {
    t.equal(mail.to.length, 1, 'no other address gets it');
    t.equal(mail.parsed.headers.has('bcc'), false);
    t.notMatch(mail.raw.split('\r\n\r\n')[0], /^(bcc|cc):/im);
    t.notMatch(html(mail), /<script|<img|<\/td><img/);
    t.match(html(mail), '&lt;script&gt;');
    t.notMatch(`${text(mail)}${html(mail)}${mail.parsed.subject}`, /\u202e/);
    t.equal(people(mail.parsed.from)[0]!.address, FROM);
    t.equal(people(mail.parsed.from).length, 1);
    t.same(mail.parsed.attachments, []);
  }
  t.equal(people(receipt.parsed.from)[0]!.name, '"Bank" <bank@x.example>, Bcc: victim@x.example');
  t.notOk(server.attempts.some((address) => /victim|bank/.test(address)));
});

const told = (to: string, subject: RegExp) =>
  eventually(async () => {
    const found = server.mails.filter((mail) => mail.to[0] === to && subject.test(mail.parsed.subject ?? ''));
    return found.length > 0 && found;
  }, `${subject} to ${to}`);

t.test('each recipient is told of the kinds that were chosen, and of no other', async (t) => {
  const put = (body: object) => service.api('PUT', '/account/notifications', body);
  const recipients = ['one@shop.example', 'two@shop.example'];
  t.match((await put({ recipients, kinds: ['payment.unmatched'] })).data, { recipients, sending: true });
  const before = server.mails.length;
  await paid({});
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '3', memo: 'NOTHING' });
  for (const to of recipients) {
    const [mail] = (await told(to, /for no order/)) as [TakenMail];
    t.match(text(mail), '3 XLM');
    t.match(text(mail), 'NOTHING');
    t.match(text(mail), /\/dashboard\/payments\/pay_\w+/);
    t.match(text(mail), `${service.context.publicUrl}/dashboard/notifications`);
  }
  t.equal(server.mails.length, before + 2, 'and not of the payment that completed');
  await put({ recipients: ['one@shop.example'], kinds: ['payment.completed'] });
  await paid({ reference: 'order-9' });
  const [mail] = (await told('one@shop.example', /Payment received: 5 XLM for Tee/)) as [TakenMail];
  t.match(text(mail), 'order-9');
  await put({ recipients: [], kinds: [] });
});

t.test('a webhook that fails is told of once, until it works and fails again', LONG, async (t) => {
  const receiver = await startReceiver({ behave: () => ({ status: 500 }) });
  t.teardown(() => receiver.close());
  await service.api('PUT', '/account/notifications', { recipients: ['dev@shop.example'], kinds: ['webhook.failing'] });
  const hook = { name: 'Shop\nsystem', url: `${receiver.origin}/hook`, events: ['payment.received'] };
  const { id } = (await service.api('POST', '/webhooks', hook)).data;
  await paid({});
  const [mail] = (await told('dev@shop.example', /Webhook “Shop system” does not work/)) as [TakenMail];
  t.match(text(mail), 'answered 500');
  t.match(text(mail), `/dashboard/webhooks/${id}`);
  await paid({});
  await receiver.until(() => receiver.requests.length >= 8);
  receiver.behave(() => ({ status: 200 }));
  await eventually(
    async () => (await service.api('GET', `/webhooks/${id}/health`)).data.state === 'HEALTHY',
    'it works again',
  );
  t.equal(server.mails.filter(({ to }) => to[0] === 'dev@shop.example').length, 1);
  receiver.behave(() => ({ status: 503 }));
  await paid({});
  t.match(text((await server.to('dev@shop.example', 2))[1]!), 'answered 503');
  await service.api('DELETE', `/webhooks/${id}`);
  await service.api('PUT', '/account/notifications', { recipients: [], kinds: [] });
});

const failure = async (of: TestService = service) => (await of.api('GET', '/account/notifications')).data.lastFailure;

/** An account with users, some of whom have signed in. */
async function careful() {
  const { apiKey } = await service.openAccount('Careful');
  const ask = async (method: string, path: string, body?: unknown) => {
    const { data, error } = await service.api(method, path, body, apiKey);
    if (error) throw new Error(`${path}: ${JSON.stringify(error)}`);
    return data;
  };
  return {
    apiKey,
    ask,
    user: async (name: string, role: string, email: string | null, isActive = true) => {
      const { id, url } = await ask('POST', '/users', { name, role, email });
      if (isActive) await accept(service, url);
      return id as string;
    },
    wallet: async (name: string) => {
      const { address } = await service.context.localLedger!.client.fund();
      return ask('POST', '/wallets', { name, address, network: 'LOCAL' });
    },
  };
}
const subjects = (address: string) =>
  server.mails.filter(({ to }) => to.includes(address)).map(({ parsed }) => parsed.subject!);

t.test('staff are written to in the language that they chose, English where they chose none', async (t) => {
  const { ask, user, wallet: walletOf } = await careful();
  const gretel = await user('Gretel', 'OWNER', 'gretel@shop.example');
  const amal = await user('Amal', 'OWNER', 'amal@shop.example');
  await user('Enid', 'OWNER', 'enid@shop.example');
  await ask('PATCH', `/users/${gretel}`, { language: 'de' });
  await ask('PATCH', `/users/${amal}`, { language: 'ar' });
  await walletOf('Kasse');
  const [german] = (await server.to('gretel@shop.example', 3)).filter(({ parsed }) => /Kasse/.test(parsed.subject!));
  t.equal(german!.parsed.subject, 'Neue Wallet „Kasse“');
  t.match(german!.parsed.html, /lang="de"/);
  t.match(german!.parsed.text, /Ab jetzt können Zahlungen an sie gehen\./);
  const [arabic] = (await server.to('amal@shop.example', 2)).filter(({ parsed }) => /Kasse/.test(parsed.subject!));
  t.match(arabic!.parsed.html, /dir="rtl"/);
  await server.to('enid@shop.example', 1);
  t.ok(subjects('enid@shop.example').includes('New wallet “Kasse”'));
});

t.test('every OWNER who has signed in is told of changes to where money goes, and by which actor', async (t) => {
  const { ask, user, wallet: walletOf, apiKey } = await careful();
  await user('Olga', 'OWNER', 'olga@shop.example');
  await user('Otto', 'OWNER', 'Otto@shop.example');
  await user('Olaf', 'OWNER', null);
  const mia = await user('Mia', 'MANAGER', 'mia@shop.example');
  await user('Ivo', 'OWNER', 'ivo@shop.example', false);
  const [first, second] = [await walletOf('<b>First</b>'), await walletOf('Second')];
  const product = await ask('POST', '/products', {
    ...{ name: 'Mug', walletId: first.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' },
  });
  await ask('PATCH', `/products/${product.id}`, { price: '2' });
  await ask('PATCH', `/products/${product.id}`, { walletId: second.id });
  const hook = await ask('POST', '/webhooks', { name: 'shop', url: 'https://a.example/', events: ['wallet.gap'] });
  await ask('PATCH', `/webhooks/${hook.id}`, { name: 'the shop' });
  await ask('PATCH', `/webhooks/${hook.id}`, { url: 'https://b.example/' });
  const key = await ask('POST', '/api-keys', { name: 'robot' });
  await ask('POST', '/api-keys', { name: 'reader', scope: 'READ' });
  await ask('POST', `/api-keys/${key.id}/rotate`);
  await ask('PATCH', '/account', { embedOrigins: ['https://shop.example'] });
  await ask('PATCH', `/users/${mia}`, { role: 'OWNER' });
  await ask('PATCH', `/users/${mia}`, { name: 'Maria' });
  t.equal((await service.api('PATCH', `/users/${mia}`, { role: 'GOD' }, apiKey)).status, 422);
  const all = [
    'Ivo was invited as an owner',
    'New wallet “<b>First</b>”',
    'New wallet “Second”',
    '“Mug” is paid to another wallet',
    'Webhook “the shop” has another URL',
    'New API key “robot” that may do everything',
    'New API key “robot” that may do everything',
    'Other pages may show the payment pages of Careful',
    'Mia has another role',
  ];
  const told = (await server.to('olga@shop.example', 11)) as TakenMail[];
  t.same(
    subjects('olga@shop.example').toSorted(),
    ['Olaf was invited as an owner', 'Otto was invited as an owner', ...all].toSorted(),
  );
  await server.to('Otto@shop.example', 10);
  t.same(subjects('Otto@shop.example').toSorted(), ['Olaf was invited as an owner', ...all].toSorted());
  t.same((await server.to('mia@shop.example', 1)).length, 1, 'an OWNER by that time is told of it');
  t.same(subjects('ivo@shop.example'), [], 'who was only invited is told nothing');
  const texts = told.map((mail) => text(mail)).join('\n');
  for (const part of [
    `Before: <b>First</b>, ${first.address}\nNow: Second, ${second.address}`,
    'Before: https://a.example/\nNow: https://b.example/',
    'Before: MANAGER\nNow: OWNER',
    'Before: none\nNow: https://shop.example',
    'By: API key “first key”',
  ])
    t.match(texts, part);
  t.ok(told.every((mail) => !html(mail).includes('<b>')));
});

t.test('the payer of an order link gets the receipt, and the shop is told the answers', async (t) => {
  const { ask, wallet: walletOf } = await careful();
  const shop = await walletOf('Shop');
  await ask('PUT', '/account/notifications', { recipients: ['till@shop.example'], kinds: ['payment.completed'] });
  const { id: productId } = await ask('POST', '/products', {
    ...{ name: 'Mug', walletId: shop.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' },
  });
  const fields = [
    { key: 'name', label: 'Name', type: 'text' },
    { key: 'mail', label: 'E-mail', type: 'email', required: true },
  ];
  const { slug } = await ask('POST', '/payment-links', { productId, order: { fields } });
  const answer = await fetch(`${service.url}/p/${slug}/orders`, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', 'accept-language': 'de' },
    body: JSON.stringify({ f_name: 'Zoë <b>', f_mail: 'zoe@payer.example' }),
  });
  const { memo } = await ask('GET', `/checkouts/${((await answer.json()) as any).data.id}`);
  await service.context.localLedger!.client.pay({ to: shop.address, amount: '1', memo });
  const [receipt] = (await server.to('zoe@payer.example')) as [TakenMail];
  t.match(receipt.parsed.subject, /^Beleg · Mug/);
  const [notice] = (await server.to('till@shop.example')) as [TakenMail];
  t.match(text(notice), 'name: Zoë <b>\nmail: zoe@payer.example');
  t.notMatch(html(notice), 'Zoë <b>');
});

t.test('an OWNER’s address, role or user goes, and both the old address and the other OWNERs are told', async (t) => {
  const { ask, user } = await careful();
  await user('Oda', 'OWNER', 'oda@shop.example');
  const eve = await user('Eve', 'OWNER', 'eve@shop.example');
  await ask('PATCH', `/users/${eve}`, { email: 'eve2@strange.example' });
  await ask('PATCH', `/users/${eve}`, { email: 'eve3@strange.example', role: 'VIEWER' });
  await ask('PATCH', `/users/${eve}`, { email: null });
  await ask('PATCH', `/users/${eve}`, { role: 'OWNER', email: 'eve4@strange.example' });
  await ask('PATCH', `/users/${eve}`, { email: null });
  await ask('PATCH', `/users/${eve}`, { email: 'eve5@strange.example' });
  await ask('DELETE', `/users/${eve}`);
  const ivo = await user('Ivo', 'OWNER', 'ivo@shop.example', false);
  await ask('PATCH', `/users/${ivo}`, { email: 'ivo2@shop.example' });
  await server.to('oda@shop.example', 5);
  // E-mails to different addresses overtake each other.
  for (const [address, count] of [
    ['eve@shop.example', 1],
    ['eve2@strange.example', 2],
    ['eve4@strange.example', 2],
    ['eve5@strange.example', 1],
  ] as const)
    await server.to(address, count);
  const moved = 'E-mails to Eve go to another address';
  const role = 'Eve has another role';
  t.same(subjects('eve@shop.example'), [moved]);
  t.same(subjects('eve2@strange.example').toSorted(), [moved, role], 'who is demoted in the same step is told too');
  t.same(subjects('eve3@strange.example'), []);
  t.same(subjects('eve4@strange.example').toSorted(), [moved, role]);
  t.same(subjects('eve5@strange.example'), ['Eve is an owner no more']);
  t.same(subjects('ivo@shop.example'), []);
  t.same(subjects('oda@shop.example').toSorted(), [
    ...['Eve has another role', 'Eve has another role', 'Eve is an owner no more', 'Eve was invited as an owner'],
    'Ivo was invited as an owner',
  ]);
});

t.test(
  'however many invited OWNERs and changes, the OWNER hears of the new wallet, and little is stored',
  LONG,
  async (t) => {
    const { ask, user, wallet: walletOf } = await careful();
    await user('Ruth', 'OWNER', 'ruth@shop.example');
    for (let n = 0; n < 60; n += 1)
      await ask('POST', '/users', { name: `S${n}`, role: 'OWNER', email: `s${n}@x.example` });
    const hook = await ask('POST', '/webhooks', { name: 'shop', url: 'https://a.example/', events: ['wallet.gap'] });
    for (let n = 0; n < 50; n += 1) await ask('PATCH', `/webhooks/${hook.id}`, { url: `https://a.example/${n}` });
    await walletOf('Thief');
    await told('ruth@shop.example', /New wallet “Thief”/);
    const count = (pattern: RegExp) => subjects('ruth@shop.example').filter((subject) => pattern.test(subject)).length;
    t.same([count(/another URL/), count(/invited as an owner/)], [20, 20]);
    t.equal(await database.db.collection('mails').countDocuments({ to: /x\.example$/ }), 0);
  },
);

t.test('a server that is away delays no webhook; the e-mail comes by the schedule once it is back', async (t) => {
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const hook = { name: 'shop', url: `${receiver.origin}/hook`, events: ['checkout.paid'] };
  await service.api('POST', '/webhooks', hook);
  await server.close();
  await paid({ customerEmail: 'late@payer.example' });
  await receiver.until(() => receiver.requests.length === 1);
  await eventually(failure, 'the merchant sees it');
  t.match(await failure(), {
    to: 'late@payer.example',
    kind: 'receipt',
    isFinal: false,
    error: 'mail server not reachable',
  });
  const since = Date.now();
  await paid({});
  await receiver.until(() => receiver.requests.length === 2);
  t.ok(Date.now() - since < 5000, 'webhooks go on at once');
  aheadMs += 11 * 60_000;
  await eventually(async () => {
    const answer = await fetch(`${service.url}/health/ready`);
    return answer.status === 200 && (await answer.text()).includes('e-mails wait to be sent (1)');
  }, 'health warns');
  t.match(await (await fetch(`${service.url}/metrics`)).text(), /collect_mails_waiting 1\n/);

  const again = await startMailServer({ port: server.port });
  t.teardown(() => again.close());
  aheadMs += 3_600_000;
  const [mail] = (await again.to('late@payer.example')) as [TakenMail];
  t.match(mail.parsed.subject, 'Receipt');
  await eventually(async () => (await failure()) === null, 'what was sent is no failure any more');
  t.equal(again.mails.length, 1);

  again.behave((to) => (to.startsWith('nobody') ? 'refuse' : null));
  await paid({ customerEmail: 'nobody@payer.example' });
  await eventually(async () => {
    aheadMs += 600_000;
    return (await failure())?.isFinal;
  }, 'it is given up');
  t.match(await failure(), { to: 'nobody@payer.example', error: 'address refused (550)' });
  t.equal(again.attempts.filter((to) => to.startsWith('nobody')).length, 3, 'a refused address is tried three times');
});
