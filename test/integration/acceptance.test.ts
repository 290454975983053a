/** What an acceptance leaves to the worker: checkouts that fail hold up no others. */
import { pino } from 'pino';
import t from 'tap';
import { createAcceptanceFinisher } from '../../src/payments/index.js';
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
