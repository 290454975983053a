import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { LANGUAGES } from '../../contracts/languages.js';
import { acceptedLanguage, toLanguage } from '../../src/domain/accepted-language.js';
import { CATALOGUES, type TextKey } from '../../src/page/texts/index.js';
import { localeOf, wordsOf } from '../../src/page/words.js';
import { ISSUER, inEuro, pageCheckout, pageLink, servePages } from '../helpers/browser.js';
import { IS_LONG } from '../helpers/long.js';

const KEYS = Object.keys(CATALOGUES.en) as TextKey[];
const formsOf = (text: string | Record<string, string>) => (typeof text === 'string' ? { other: text } : text);
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
/** All of these languages write them as English does. */
const SAME = new Set<TextKey>([
  'memo',
  'transaction',
  'description',
  'poster',
  'payment',
  'amount',
  'subtotal',
  'total',
  'tip',
]);

t.test(
  'each language has every text, with the placeholders of the English one and the forms that it counts with',
  async (t) => {
    t.strictSame(LANGUAGES, ['en', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt', 'tr', 'id', 'ja', 'zh', 'ar']);
    for (const language of LANGUAGES) {
      const texts = CATALOGUES[language];
      t.strictSame(Object.keys(texts), KEYS, `${language}: all texts, in the same order`);
      const plural = new Intl.PluralRules(localeOf(language));
      const counted = [...new Set(Array.from({ length: 10_001 }, (_, n) => plural.select(n)))];
      // A list of faults, because an assertion for each of the texts costs more than the test.
      const faults: string[] = [];
      for (const key of KEYS) {
        const english = CATALOGUES.en[key];
        const forms = formsOf(texts[key]);
        const expected = placeholders(formsOf(english).other!);
        for (const [form, text] of Object.entries(forms)) {
          // A form for one or two may spell the number out.
          const spelled = ['one', 'two'].includes(form) && !text.includes('{n}');
          if (`${placeholders(text)}` !== `${spelled ? [] : expected}`) faults.push(`${key} ${form}: placeholders`);
          if (text !== text.trim() || text === '') faults.push(`${key} ${form}: spaces`);
        }
        if (typeof english === 'string' && typeof texts[key] !== 'string') faults.push(`${key}: forms`);
        if (typeof english !== 'string')
          for (const form of counted) if (!(form in forms)) faults.push(`${key} does not count ${form}`);
        const mayBeSame = language === 'en' || SAME.has(key);
        const hasWords = /[a-z]{3}/.test(formsOf(english).other!.replace(/\{\w+\}/g, ''));
        if (!mayBeSame && hasWords && isDeepStrictEqual(texts[key], english)) faults.push(`${key} is not translated`);
      }
      t.same(faults, [], language);
    }
  },
);

t.test('the pages and e-mails use every text', async (t) => {
  const folders = ['page', 'mail'].map((room) =>
    new URL(`../../src/${room}/`, import.meta.url).pathname.replace('/.test-build', ''),
  );
  const files = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  const source = files
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(name, 'utf8'))
    .join('\n');
  const unused = KEYS.filter((key) => !source.includes(`'${key}'`));
  t.strictSame(unused, []);
});

t.test('the browser’s first language that is here is spoken, English where none is', async (t) => {
  for (const [header, language] of [
    [undefined, 'en'],
    ['', 'en'],
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['sv, fi;q=0.9, pl;q=0.3, it;q=0.4', 'it'],
    ['en;q=0.1, ja', 'ja'],
    ['fr;q=0, nl;q=0.1', 'nl'],
    ['zh-Hant-TW', 'zh'],
    ['PT_BR', 'pt'],
    ['in-ID', 'id'],
    ['sv, IN;q=0.5', 'id'],
    ['cmn-Hans-CN', 'zh'],
    ['abcd, x-y, i-klingon, de-', 'de'],
    ['*', 'en'],
    ['sv, *;q=0.5', 'en'],
    ['constructor, __proto__, tr', 'tr'],
    [`${'sv,'.repeat(5000)}de`, 'en'],
    [';;;,,=', 'en'],
  ] as const)
    t.equal(acceptedLanguage(header), language, String(header).slice(0, 40));
  fc.assert(fc.property(fc.string(), (header) => LANGUAGES.includes(acceptedLanguage(header))));
  fc.assert(fc.property(fc.string(), (tag) => toLanguage(tag) === null || LANGUAGES.includes(toLanguage(tag)!)));
});

t.test('counts and times are written as each language does, in the digits of the amounts', async (t) => {
  t.equal(wordsOf('pl').count('pieces', 1), 'Za 1 sztukę');
  t.equal(wordsOf('pl').count('pieces', 3), 'Za 3 sztuki');
  t.equal(wordsOf('pl').count('pieces', 12), 'Za 12 sztuk');
  t.equal(wordsOf('ar').count('payments', 2), 'دفعتان');
  t.equal(wordsOf('ar').count('payments', 11), '11 دفعة');
  t.equal(wordsOf('de').number(10_000), '10.000');
  t.equal(wordsOf('de').timeLeft(12 * 60_000 + 5_999), '12 Min. 5 Sek.');
  t.match(wordsOf('ja').time(new Date('2026-11-21T09:30:00Z')), /2026\/11\/21.*9:30 UTC/);
  for (const language of LANGUAGES) t.notMatch(wordsOf(language).timeLeft(90_061_000), /[٠-٩۰-۹]/);
});

const ORDER = { reference: 'order-7', quantity: 3, received: '20', remaining: '5' } as const;
const PRODUCT = { assetCode: 'USDC', assetIssuer: ISSUER, price: '1234.5' };
const links = [
  pageLink('fixed', { product: PRODUCT, warnings: ['no_account', 'no_trustline', 'unknown'], brand: { name: 'Acme' } }),
  pageLink('custom', { product: { priceType: 'CUSTOM', price: null, minAmount: '2' }, wallet: { network: 'TESTNET' } }),
  pageLink('off', { active: false }),
  pageCheckout('part', ORDER),
  pageCheckout('paid', { ...ORDER, status: 'PAID', received: '30', excess: '5', refunded: '5', paidAt: new Date() }),
  pageCheckout('late', { ...ORDER, status: 'EXPIRED' }),
  pageCheckout('gone', { ...ORDER, status: 'CANCELLED' }),
  pageCheckout('checking', { ...ORDER, ended: true }),
];
const PATHS = ['/p/fixed', '/p/custom?amount=x', '/p/off', '/c/part', '/c/paid', '/c/late', '/c/gone', '/c/checking'];

t.test('a page speaks one language throughout, whatever its state', async (t) => {
  const { url, feed } = await servePages(t, links);
  feed.pay('link_off', { status: 'REJECTED', reason: 'link_inactive' });
  feed.pay('chk_part', { status: 'UNDERPAID', reason: 'partial', amount: '20', shortfallAmount: '5' });
  feed.pay('chk_paid', { reason: 'overpaid', amount: '30', excessAmount: '5', refundedAmount: '5' });
  const sentences = KEYS.flatMap((key) => Object.values(formsOf(CATALOGUES.en[key])))
    .flatMap((text) => text.split(/\{\w+\}/))
    .filter((part) => /\w+ \w+ \w+/.test(part));
  for (const language of LANGUAGES) {
    const paths = [...PATHS, '/c/paid/receipt', '/p/fixed/poster', '/p/none'];
    const byQuery = paths.map((path) => ({
      path: `${path}${path.includes('?') ? '&' : '?'}since=0&lang=${language}`,
      accept: 'fr',
    }));
    const byHeader = paths.map((path) => ({ path, accept: `${language}, en;q=0.5` }));
    for (const { path, accept } of [...byQuery, ...(IS_LONG ? byHeader : byHeader.slice(0, 1))]) {
      const answer = await fetch(url + path, { headers: { 'accept-language': accept } });
      const page = await answer.text();
      t.equal(answer.headers.get('content-language'), language);
      t.match(page, `<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}">`);
      t.notMatch(page, /\{\w+\}(?![^<]*">)/, 'no placeholder is left');
      if (language === 'en') continue;
      const text = page.replace(/<[^>]+>/g, ' ');
      t.strictSame(
        sentences.filter((part) => text.includes(part.trim())),
        [],
        `${path} in ${language}`,
      );
    }
  }
});

t.test('the language that was asked for goes on; one that is not here is as if none was', async (t) => {
  const { url, feed } = await servePages(t, links);
  feed.pay('chk_part', { status: 'UNDERPAID', reason: 'partial', amount: '20', shortfallAmount: '5' });
  const german = await (await fetch(`${url}/c/paid?lang=DE-at`)).text();
  t.match(german, 'href="/c/paid/receipt?lang=de"');
  t.match(german, 'data-lang="de"');
  t.match(await (await fetch(`${url}/p/custom?lang=de`)).text(), '<input type="hidden" name="lang" value="de">');
  for (const lang of ['xx', '', 'de&lang=fr', '<script>']) {
    const page = await (await fetch(`${url}/p/custom?lang=${lang}`, { headers: { 'accept-language': 'nl' } })).text();
    t.match(page, '<html lang="nl"');
    t.notMatch(page, 'data-lang');
  }
  const status = (await (await fetch(`${url}/c/part/status?lang=de`)).json()) as { title: string; html: string };
  t.match(status.title, '5 XLM');
  t.match(status.html, 'Noch 5 XLM zu bezahlen');
  const events = await fetch(`${url}/c/part/events?lang=tr`);
  let heard = '';
  for await (const chunk of events.body!) {
    heard += Buffer.from(chunk).toString();
    if (heard.includes('event: status') && heard.endsWith('\n\n')) break;
  }
  t.match(heard, 'Ödenecek 5 XLM kaldı');
});

t.test('from right to left, what is written the other way stays in its order', async (t) => {
  t.equal(wordsOf('ar').say('titlePay', { amount: '25 XLM' }), 'ادفع \u206825 XLM\u2069');
  t.equal(wordsOf('ar').count('payments', 11), '11 دفعة');
  t.equal(wordsOf('de').say('titlePay', { amount: '25 XLM' }), '25 XLM bezahlen');
});

t.test('a person reads money of a currency as his language writes it, wherever he reads it', async (t) => {
  const order = { currency: 'EUR', price: '3.5', amount: null } as const;
  const euro = (due: string | null) => ({ priced: inEuro({ due, minAmount: '1.5' }) });
  const part = { ...order, remaining: '10', received: '4' };
  const paid = { ...order, status: 'PAID', remaining: '0', received: '14', paidAt: new Date() } as const;
  const { url, feed } = await servePages(t, [
    pageLink('fixed', { ...euro('3.5'), product: { price: '14' } }),
    pageLink('open', { ...euro(null), product: { priceType: 'CUSTOM', price: null, minAmount: '6' } }),
    pageCheckout('part', part, euro('2.5')),
    pageCheckout('paid', paid, euro('0')),
  ]);
  feed.pay('chk_paid', { amount: '14', value: { currency: 'EUR', amount: '3.5' } });
  const read = async (path: string, lang: string) => {
    const page = await (await fetch(`${url}${path}${path.includes('?') ? '&' : '?'}lang=${lang}`)).text();
    return page.replace(/<[^>]+>/g, '').replace(/\s/g, ' ');
  };
  for (const [path, german, english] of [
    ['/p/fixed', ['14 XLM', '3,50 €', '0,25 €'], ['€3.50', '€0.25']],
    ['/p/fixed/poster', ['3,50 €'], ['€3.50']],
    ['/p/open', ['Mindestens 1,50 €'], ['At least €1.50']],
    ['/p/open?amount=2,5', ['2,50 €'], ['€2.50']],
    ['/c/part', ['Noch 2,50 € zu', '3,50 €'], ['€2.50 still to pay', '€3.50']],
    ['/c/paid/receipt', ['3,50 €', '14 XLM'], ['€3.50']],
  ] as const) {
    for (const [lang, texts] of [
      ['de', german],
      ['en', english],
    ] as const) {
      const page = await read(path, lang);
      for (const text of texts) t.ok(page.includes(text), `${text} on ${path}`);
      t.notMatch(page, /\d EUR/, path);
    }
  }
});

t.test('amounts in assets keep their point, in every language', async (t) => {
  const { url } = await servePages(t, links);
  for (const language of LANGUAGES) {
    const page = await (await fetch(`${url}/p/fixed?lang=${language}`)).text();
    t.match(page, 'data-copy="1234.5"', language);
    t.match(page.replace(/<[^>]+>/g, ''), /1234\.5 USDC/, language);
  }
});
