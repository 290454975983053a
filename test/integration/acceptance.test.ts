/** Acceptances of checkouts with very many payments, and what they leave to the worker. */
import { pino } from 'pino';
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { createAcceptanceFinisher, createAcceptCheckout } from '../../src/payments/index.js';
import type { CheckoutPayable } from '../../src/payments/payable.js';
import type { CheckoutDoc } from '../../src/selling/index.js';
import { openStores } from '../helpers/stores.js';

t.test(
  'ten accepted checkouts fail again and again → the eleventh is completed, and they are once they can',
  async (t) => {
    const { db, stores, transaction } = await openStores(t);
    const { system } = stores;
    const ids = Array.from({ length: 11 }, (_, nth) => `chk_${nth}`);
    await db.collection<{ _id: string }>('checkouts').insertMany(
      ids.map((_id) => ({
        ...{ _id, accountId: 'acct_a', memo: _id, slug: _id },
        ...{ completedUpTo: '', partsLeft: true },
      })),
    );
    const left = async (field: string) => db.collection('checkouts').countDocuments({ [field]: { $exists: true } });
    let failing = new Set(ids.slice(0, 10));
    const failed = ({ _id }: { _id: string }) => {
      if (failing.has(_id)) throw new Error('it cannot be completed now');
    };
    const finisher = createAcceptanceFinisher({
      ...system,
      checkouts: {
        ...system.checkouts,
        reloadToComplete: async (checkout, session) => {
          failed(checkout);
          return system.checkouts.reloadToComplete(checkout, session);
        },
        endPartDecisions: async (checkout, session) => {
          failed(checkout);
          return system.checkouts.endPartDecisions(checkout, session);
        },
      },
      settle: async () => false,
      transaction,
      log: pino({ level: 'silent' }),
      eventsStored: () => undefined,
    });
    const run = () => finisher.run(new AbortController().signal);
    await run();
    await run();
    t.same([await left('completedUpTo'), await left('partsLeft')], [10, 10]);
    failing = new Set();
    await run();
    await run();
    t.same([await left('completedUpTo'), await left('partsLeft')], [0, 0]);
  },
);

t.test('of 1,001 payments all are sent back → nothing is left to accept, until one has something left', async (t) => {
  const { db, stores, transaction } = await openStores(t);
  const of = { accountId: 'acct_a', walletId: 'wallet_a', checkoutId: 'chk_a', assetCode: 'XLM', assetIssuer: null };
  const insert = (count: number, amount: string, refundedAmount: string) =>
    db.collection<{ _id: string }>('payments').insertMany(
      Array.from({ length: count }, (_, nth) => ({
        ...{ _id: `pay_${amount}_${nth}`, ...of, operationId: `${amount}-${nth}`, changeIndex: 0 },
        ...{ status: 'UNDERPAID', amount, refundedAmount, createdAt: new Date() },
      })),
    );
  const checkout = {
    ...{ _id: 'chk_a', accountId: 'acct_a', memo: 'm', slug: 's', assetCode: 'XLM', assetIssuer: null },
    ...{
      amount: '100',
      status: 'EXPIRED',
      received: '0',
      paymentCount: 1001,
      expiresAt: new Date(),
      tolerancePercent: '0',
    },
  } as unknown as CheckoutDoc;
  await db.collection('checkouts').insertOne(checkout as never);
  const accept = createAcceptCheckout({ ...stores, settle: async () => false, clock: systemClock });
  const before = { link: null, checkout, product: null } as unknown as CheckoutPayable;
  const accepted = () => transaction((session) => accept(before, { at: new Date(), ledger: 1 }, session));

  await insert(1001, '0.2000001', '0.2000001');
  t.equal(await accepted(), 'nothing');
  await insert(1, '0.1', '0.0999999');
  t.match(await accepted(), { checkout: { status: 'PAID' } });
  t.match(await db.collection('payments').findOne({ amount: '0.1' }), { status: 'COMPLETED' });
});
