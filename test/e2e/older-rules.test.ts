/** What was stored under older rules stays usable: a change checks what it names, and nothing
 *  else of the resource. */
import t from 'tap';
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';
import { testDatabase } from '../helpers/mongo.js';
import { startSelling, startTestService } from '../helpers/service.js';

const database = await testDatabase(t);
const service = await startTestService(t, { database });
const { api } = service;
const { wallet, product, link } = await startSelling(service);
const LONG = 'n'.repeat(5000);

/** By the path of each PATCH: the stored document, what today's rules refuse in it, and changes
 *  that do not touch that. */
const CASES: Record<string, () => Promise<{ of: [collection: string, id: string]; old: object; changes: object[] }>> = {
  '/account': async () => ({
    of: ['accounts', service.accountId],
    old: {
      name: LONG,
      brand: {
        name: LONG,
        logoUrl: 'http://shop.example/x.svg',
        color: 'red',
        supportEmail: 'a@-x-.example',
        url: null,
      },
      rateMarkups: [{ from: new Date(0), percent: '55.555' }],
    },
    changes: [{ brand: { supportUrl: 'https://shop.example/help' } }, { booksCurrency: 'EUR' }, {}],
  }),
  '/coupons/{id}': async () => ({
    of: ['coupons', (await api('POST', '/coupons', { code: 'SPRING', percentOff: '10' })).data.id],
    old: { code: '!', percentOff: '150.12345', currency: 'HUF', minSubtotal: '1.1234567' },
    changes: [{ active: false }, { maxRedemptions: 5 }, {}],
  }),
  '/payment-links/{id}': async () => ({
    of: ['paymentLinks', link.id],
    old: { name: LONG },
    changes: [{ active: false }, { active: true }],
  }),
  '/products/{id}': async () => ({
    of: ['products', product.id],
    old: {
      ...{ name: LONG, description: LONG, imageUrl: 'http://shop.example/x.png' },
      ...{ currency: 'HUF', price: '25.1234567' },
    },
    changes: [{ active: false }, { name: 'Shirt' }, { active: true, description: null }],
  }),
  '/users/{id}': async () => ({
    of: ['users', (await api('POST', '/users', { name: 'Ana', role: 'VIEWER' })).data.id],
    old: { name: LONG, email: 'a@-x-.example' },
    changes: [{ role: 'CASHIER' }, { name: 'Ana' }],
  }),
  '/wallets/{id}': async () => ({
    of: ['wallets', wallet.id],
    old: { name: LONG },
    changes: [{ active: false }, { active: true }],
  }),
  '/webhooks/{id}': async () => {
    const body = { name: 'Shop', url: 'https://127.0.0.1:1/', events: ['payment.received'] };
    return {
      of: ['webhooks', (await api('POST', '/webhooks', body)).data.id],
      old: { name: LONG, url: `ftp://shop.example/${'p'.repeat(3000)}` },
      changes: [{ status: 'PAUSED' }, { events: ['payment.completed'] }, { name: 'Shop' }],
    };
  },
};

const patches = Object.values(contract)
  .flatMap((operations) => Object.values(operations as Record<string, Operation>))
  .filter(({ method }) => method === 'PATCH')
  .map(({ path }) => path);

t.same(Object.keys(CASES).sort(), patches.toSorted(), 'every PATCH of the contract has its case');

for (const path of Object.keys(CASES))
  t.test(`PATCH ${path} → what was stored before is not refused for rules of today`, async (t) => {
    const {
      of: [collection, id],
      old,
      changes,
    } = await CASES[path]!();
    const { matchedCount } = await database.db.collection(collection).updateOne({ _id: id as never }, { $set: old });
    t.equal(matchedCount, 1);
    const at = path.replace('{id}', id);
    t.equal((await api('GET', at)).status, 200, 'it is shown');
    for (const change of changes) {
      const { status, error } = await api('PATCH', at, change);
      t.match({ status, error }, { status: 200, error: null }, JSON.stringify(change));
    }
  });
