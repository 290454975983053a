/** Catch-up: a wallet's backlog, from Horizon to stored payments with events and deliveries,
 *  compared with insertMany of the same documents. */
import { pino } from 'pino';
import { networkInfo } from '../../contracts/networks.js';
import { createMemo } from '../../src/domain/memo.js';
import { systemClock } from '../../src/kit/clock.js';
import { insertTogether } from '../../src/kit/database.js';
import { createLedger } from '../../src/ledger/network-ledger.js';
import { createWatcher } from '../../src/watching/watcher.js';
import { monitored } from '../../test/helpers/commands.js';
import { SHOP } from '../../test/helpers/horizon-records.js';
import { testDatabase } from '../../test/helpers/mongo.js';
import { newId, openStoresOn, walletDoc } from '../../test/helpers/stores.js';
import { startStandIn } from './horizon.js';
import type { Section } from './report.js';
import { createScope, median, type Scope, timed } from './scope.js';

const RECORDS = Number(process.env.BENCH_RECORDS ?? 20_000);
const PAGE = 200;
const MEMO = createMemo(systemClock, 'link');

export async function catchUp(): Promise<Section> {
  const rows: Section['rows'] = [];
  for (const [name, options] of Object.entries({
    'unknown memo (payments only)': { memo: 'none', webhooks: 0 },
    'one link, its events, no webhook': { memo: MEMO, webhooks: 0 },
    'one link, its events, one webhook': { memo: MEMO, webhooks: 1 },
  })) {
    const runs = [await run(options), await run(options), await run(options)];
    const of = (pick: (each: (typeof runs)[0]) => number) => median(runs.map(pick));
    rows.push({
      name,
      values: {
        'records/s': of((each) => each.perSecond),
        'insertMany docs/s': of((each) => each.insertPerSecond),
        documents: runs[0]!.documents,
        'commands per page': of((each) => each.commandsPerPage),
      },
      ratio: of((each) => each.ratio),
    });
    console.log(`  ${name}: ${JSON.stringify(rows.at(-1))}`);
  }
  return {
    name: 'catch-up',
    title: `${RECORDS.toLocaleString('en')} waiting payments on one wallet`,
    aim: 'at least 2,000 records/s, and half the speed of insertMany (by pages of as many documents, same indexes, same write concern) of all that was stored',
    bound: { least: 0.5 },
    rows,
    notes: [],
  };
}

/** A wallet, a product and a link of an account, a watcher for the wallet, and a stand-in for
 *  Horizon that takes a backlog.
 *  @param options.accountId by default of a new account */
export async function openBacklog(
  scope: Scope,
  uri: string,
  { memo, webhooks, accountId }: { memo: string; webhooks: number; accountId?: string },
) {
  const { connection, transaction, stores, recorder } = await openStoresOn(scope, monitored(uri));
  const clock = systemClock;
  const log = pino({ level: 'silent' });
  const owner = accountId ?? newId('acct');
  const standIn = await startStandIn(scope, {
    passphrase: networkInfo.LOCAL.passphrase,
    beatMs: 0,
    spreadMs: 0,
    wayMs: 0,
    noise: 0,
    addresses: [],
    memo,
  });
  const horizon = createLedger({
    network: 'LOCAL',
    horizonUrls: [standIn.url],
    rpcUrls: [],
    passphrase: networkInfo.LOCAL.passphrase,
    budget: null,
    clock,
    log,
  });
  scope.teardown(() => horizon.close());

  const stamp = { at: clock.now(), ledger: 1000 };
  const wallet = walletDoc({
    accountId: owner,
    address: SHOP,
    network: 'LOCAL',
    windows: [{ from: stamp, until: null }],
    productCount: 1,
  });
  await stores.forAccount(owner).wallets.insert(wallet);
  const terms = {
    active: true,
    assetCode: 'XLM',
    assetIssuer: null,
    priceType: 'FIXED' as const,
    price: '10',
    minAmount: null,
    tolerancePercent: '0',
  };
  const productId = newId('prod');
  await transaction(async (session) => {
    const { products, paymentLinks } = stores.forAccount(owner);
    const ofProduct = products.insertsOf([
      {
        _id: productId,
        accountId: owner,
        name: 'Thing',
        nameKey: 'thing',
        description: null,
        imageUrl: null,
        walletId: wallet._id,
        ...terms,
        history: [{ from: null, terms, network: wallet.network }],
        stock: null,
        paymentLinkCount: 1,
        plainLinkCount: 1,
        revision: 0,
        createdAt: clock.now(),
      },
    ]);
    const ofLink = paymentLinks.insertsOf([
      {
        _id: newId('link'),
        accountId: owner,
        productId,
        name: null,
        slug: 'thing',
        memo: memo === 'none' ? MEMO : memo,
        active: true,
        history: [{ from: null, terms: { active: true, endsAt: null, takesOrders: false } }],
        paymentCount: 0,
        receivedCount: 0,
        ...{ order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null },
        ...{ completedCount: 0, orderCount: 0 },
        createdAt: clock.now(),
      },
    ]);
    await insertTogether([...ofProduct, ...ofLink], session);
  });
  for (let n = 0; n < webhooks; n++) {
    await stores.forAccount(owner).webhooks.insert({
      _id: newId('hook'),
      accountId: owner,
      name: 'Hook',
      url: 'https://shop.example/',
      events: ['payment.received', 'payment.completed'],
      status: 'PAUSED',
      secretMasked: '',
      secrets: [],
      failingSince: null,
      openedTo: 0,
      deliverySequence: 0,
      lease: null,
      createdAt: clock.now(),
    });
  }
  const watcher = createWatcher({
    ...stores.system,
    network: 'LOCAL',
    flagGap: async () => undefined,
    recorder,
    clock,
    log,
    metrics: { payments: () => undefined, parked: () => undefined },
    eventsStored: () => undefined,
  });
  const round = async () => {
    const session = horizon.session({ purpose: 'watching' });
    await watcher.round(session, await session.tip());
  };
  await round();
  return {
    connection,
    /** Puts payments into the next ledgers, then reads and stores them. @returns milliseconds of
     *  the round */
    async read(payments: number): Promise<number> {
      await standIn.add(payments, SHOP);
      return timed(round);
    },
  };
}

async function run(options: { memo: string; webhooks: number }) {
  const scope = createScope();
  try {
    const { uri, db } = await testDatabase(scope);
    const { connection, read } = await openBacklog(scope, uri, options);
    await read(PAGE * 5);
    let commands = 0;
    const byName: Record<string, number> = {};
    connection.getClient().on('commandStarted', ({ commandName, command }) => {
      commands += 1;
      const name = `${commandName} ${command[commandName]}`;
      byName[name] = (byName[name] ?? 0) + 1;
    });
    const tookMs = await read(RECORDS);
    if (process.env.BENCH_VERBOSE) console.log(byName);
    const stored = await db.collection('payments').countDocuments();
    if (stored !== RECORDS + PAGE * 5) throw new Error(`${stored} payments instead of ${RECORDS + PAGE * 5}`);

    // The same documents into empty collections with the same indexes.
    let documents = 0;
    let insertMs = 0;
    for (const name of ['payments', 'events', 'deliveries']) {
      const all = await db.collection(name).find().toArray();
      const docs = all.slice(-Math.round((all.length * RECORDS) / stored));
      if (docs.length === 0) continue;
      const copy = connection.db!.collection(`${name}-copy`);
      await copy.createIndexes((await db.collection(name).indexes()).map(({ v, ...index }) => index) as never);
      documents += docs.length;
      const from = performance.now();
      for (let at = 0; at < docs.length; at += PAGE) await copy.insertMany(docs.slice(at, at + PAGE));
      insertMs += performance.now() - from;
    }
    return {
      perSecond: (RECORDS / tookMs) * 1000,
      insertPerSecond: (documents / insertMs) * 1000,
      documents,
      commandsPerPage: commands / (RECORDS / PAGE),
      ratio: insertMs / tookMs,
    };
  } finally {
    await scope.close();
  }
}
