import fc from 'fast-check';
import t from 'tap';
import { buttonColors, contrast } from '../../src/domain/brand.js';
import type { PagePayment } from '../../src/page/types.js';
import { ISSUER, pageCheckout, pageLink, servePages } from '../helpers/browser.js';
import { draws } from '../helpers/long.js';

const BRAND = {
  name: 'Bean <&> Leaf',
  logoUrl: 'https://cdn.shop.example/logo.png?v=1&w=2',
  color: '#FFD100',
  supportUrl: 'https://help.shop.example/ask?a=1&b=2',
  supportEmail: 'a%0d%0abcc%3ax&?@kfz-müller.example',
};
const SUPPORT = /<a href="https:\/\/help\.shop\.example\/ask\?a=1&amp;b=2"[^>]*>help\.shop\.example<\/a>/;
const MAIL = 'href="mailto:a%250d%250abcc%253ax%26%3F@kfz-m%C3%BCller.example"';

t.test('text on a button of any color stands out by 4.5:1, while the pointer is on it too', async (t) => {
  t.equal(contrast('#ffffff', '#000000'), 21);
  t.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48');
  const color = fc.integer({ min: 0, max: 0xffffff }).map((rgb) => `#${rgb.toString(16).padStart(6, '0')}`);
  const readable = (color: string) => {
    const { background, text, hover } = buttonColors(color);
    return background === color && contrast(background, text) >= 4.5 && contrast(hover, text) >= 4.5;
  };
  fc.assert(fc.property(color, readable), { ...draws(5000), examples: [['#777777'], ['#767676'], ['#757575']] });
});

t.test('a page shows the shop, and its policy lets in the logo of that shop alone', async (t) => {
  const product = { imageUrl: 'https://pictures.example/a.png' };
  const { url } = await servePages(t, [pageLink('ours', { brand: BRAND, product }), pageLink('other')]);
  const ours = await fetch(`${url}/p/ours`);
  const page = await ours.text();
  t.match(page, '<bdi>Bean &lt;&amp;&gt; Leaf</bdi>');
  t.match(
    page,
    '<img class="logo" src="https://cdn.shop.example/logo.png?v=1&amp;w=2" alt="" referrerpolicy="no-referrer"',
  );
  t.match(
    ours.headers.get('content-security-policy'),
    /; img-src 'self' https:\/\/pictures\.example https:\/\/cdn\.shop\.example;/,
  );
  t.match((await fetch(`${url}/p/other`)).headers.get('content-security-policy'), /; img-src 'self';/);
  t.notMatch(page, /<style| style="/i, 'the color comes as a file');

  const style = await fetch(`${url}/page/brand-ffd100.css`);
  t.match(page, '<link rel="stylesheet" href="/page/brand-ffd100.css">');
  t.match(style.headers.get('content-type'), /^text\/css/);
  t.equal(await style.text(), ':root { --main: #ffd100; --main-strong: #ffd826; --on-main: #000000; }\n');
  for (const file of ['brand-ffd10.css', 'brand-FFD100.css', 'brand-ffd100;x.css', 'brand-.css'])
    t.equal((await fetch(`${url}/page/${file}`)).status, 404, file);
});

t.test('a logo that no policy can name is not shown', async (t) => {
  const { url } = await servePages(t, [
    pageLink('odd', { brand: { logoUrl: "https://a;script-src 'unsafe-inline'/x.png" } }),
  ]);
  const answer = await fetch(`${url}/p/odd`);
  t.notMatch(await answer.text(), 'class="logo"');
  t.match(answer.headers.get('content-security-policy'), /; img-src 'self';/);
});

t.test('a refused payer is shown the contact of the shop, with links', async (t) => {
  const refusals: [string, Partial<PagePayment> | null, ReturnType<typeof pageLink>][] = [
    ['link off', null, pageLink('off', { active: false, brand: BRAND })],
    [
      'too little',
      { status: 'UNDERPAID', reason: 'below_price', shortfallAmount: '5' },
      pageLink('short', { brand: BRAND }),
    ],
    [
      'wrong asset',
      { status: 'REJECTED', reason: 'wrong_asset', assetIssuer: ISSUER },
      pageLink('wrong', { brand: BRAND }),
    ],
    ['expired', null, pageCheckout('late', { status: 'EXPIRED', received: '5' }, { brand: BRAND })],
    ['cancelled', null, pageCheckout('gone', { status: 'CANCELLED' }, { brand: BRAND })],
    ['no trustline', null, pageLink('untrusted', { brand: BRAND, warnings: ['no_trustline'] })],
  ];
  const { url, feed } = await servePages(
    t,
    refusals.map(([, , link]) => link),
  );
  for (const [title, payment, link] of refusals) {
    if (payment) feed.pay(link.linkId, payment);
    const page = await (await fetch(`${url}/${link.checkout ? 'c' : 'p'}/${link.slug}?since=0`)).text();
    t.match(page, /Ask <bdi>Bean &lt;&amp;&gt; Leaf<\/bdi>: /, title);
    t.match(page, SUPPORT, title);
    t.match(page, MAIL, title);
  }
});

t.test('a checkout’s page shows the order’s reference as text', async (t) => {
  const { url } = await servePages(t, [pageCheckout('order', { reference: '<b>order-7</b>' }), pageCheckout('plain')]);
  t.match(await (await fetch(`${url}/c/order`)).text(), 'Order <bdi>&lt;b&gt;order-7&lt;/b&gt;</bdi>');
  t.notMatch(await (await fetch(`${url}/c/plain`)).text(), 'reference');
});

t.test(
  'a receipt is there once the checkout is paid, and names the shop, the product, the time and the transactions',
  async (t) => {
    const paidAt = new Date('2026-11-21T09:30:00Z');
    const paid = {
      status: 'PAID',
      reference: 'order-7',
      received: '30',
      remaining: '0',
      refunded: '5',
      paidAt,
    } as const;
    const order = pageCheckout('paid', { ...paid, quantity: 2 }, { brand: BRAND });
    const { url, feed } = await servePages(t, [
      order,
      pageCheckout('open'),
      pageCheckout('late', { status: 'EXPIRED' }),
      pageCheckout('plain', paid, { accountName: 'Bean & Leaf GmbH' }),
      pageLink('link'),
    ]);
    const plain = await (await fetch(`${url}/c/plain/receipt`)).text();
    t.match(plain, '<p class="shop"><bdi>Bean &amp; Leaf GmbH</bdi></p>', 'without a brand the account is the seller');
    feed.pay('chk_paid', { amount: '10', status: 'UNDERPAID', reason: 'partial', transactionHash: 'a'.repeat(64) });
    feed.pay('chk_paid', {
      amount: '20',
      refundedAmount: '5',
      value: { currency: 'EUR', amount: '4.50' },
      closedAt: paidAt,
      transactionHash: 'b'.repeat(64),
    });
    feed.pay('chk_paid', { amount: '1', status: 'REJECTED', reason: 'checkout_paid', transactionHash: 'c'.repeat(64) });
    const answer = await fetch(`${url}/c/paid/receipt`);
    const page = await answer.text();
    t.equal(answer.status, 200);
    t.match(answer.headers.get('content-security-policy'), /; img-src 'self' https:\/\/cdn\.shop\.example;/);
    for (const part of [
      'Bean &lt;&amp;&gt; Leaf',
      'Coffee beans, 1 kg × 2',
      'order-7',
      'a'.repeat(64),
      'b'.repeat(64),
      '<time datetime="2026-11-21T09:30:00.000Z">',
      MAIL,
    ])
      t.match(page, part);
    t.notMatch(page, 'c'.repeat(64), 'what did not count is not on it');
    t.match(page.replace(/<[^>]+>/g, ''), /Amount\s*25 XLM\s*Received\s*30 XLM\s*Sent back\s*5 XLM/);
    for (const path of ['/c/open/receipt', '/c/late/receipt', '/c/none/receipt', '/p/link/receipt'])
      t.equal((await fetch(url + path)).status, 404, path);
    t.match(await (await fetch(`${url}/c/paid`)).text(), 'href="/c/paid/receipt"');
  },
);

t.test('a link’s poster shows the shop and the URL of the page, and neither address nor memo', async (t) => {
  const link = pageLink('stall', { brand: BRAND });
  const { url } = await servePages(t, [link, pageCheckout('order')], { publicUrl: 'https://pay.example/shop' });
  const page = await (await fetch(`${url}/p/stall/poster`)).text();
  t.match(page, 'Bean &lt;&amp;&gt; Leaf');
  t.match(page, 'https://pay.example/shop/p/stall<');
  t.notMatch(page, link.memo);
  t.notMatch(page, link.wallet.address);
  t.equal((await fetch(`${url}/c/order/poster`)).status, 404);
});

t.test('a poster in a currency shows its price, and no amount by the rate of the day', async (t) => {
  const priced = { currency: 'EUR', due: '9.5', minAmount: null, rate: null };
  const { url } = await servePages(t, [pageLink('beans', { priced })]);
  const page = (await (await fetch(`${url}/p/beans/poster`)).text()).replace(/<[^>]+>/g, '');
  t.match(page, '€9.50');
  t.notMatch(page, 'XLM');
});
