/** Every query of the service, as MongoDB's profiler saw it: each uses an index, and none looks at
 *  much more than it answers. */
import { mongo } from 'mongoose';
import t from 'tap';
import { seed } from '../../scripts/bench/seed.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService, type TestService } from '../helpers/service.js';

interface Profiled {
  ns: string;
  op: string;
  command: Record<string, any>;
  planSummary?: string;
  keysExamined?: number;
  docsExamined?: number;
  nreturned?: number;
  nMatched?: number;
  ndeleted?: number;
}

/** What may look at more than it answers, and why. */
const EXCEPTIONS: { reason: string; is: (query: Profiled, text: string) => boolean }[] = [
  {
    reason: 'what a search finds among links is counted and put in order as a whole',
    is: ({ ns, planSummary }, text) =>
      /\.paymentLinks$/.test(ns) && text.includes('"suffixes"') && planSummary?.includes('IXSCAN') === true,
  },
  {
    reason: 'what a search finds by its words is put in order as a whole',
    is: ({ ns, planSummary, docsExamined = 0, keysExamined = 0 }, text) =>
      /\.(payments|checkouts)$/.test(ns) &&
      text.includes('"words"') &&
      planSummary?.includes('words: 1') === true &&
      docsExamined <= keysExamined,
  },
  {
    reason: 'a substring of a name is in no index: the products of one account are looked through',
    is: ({ ns }, text) => /\.products$/.test(ns) && (text.includes('"$regex"') || text.includes('Regex')),
  },
  {
    reason:
      'a count looks at one index key for each document that it counts, at most 5,000 at once: longer lists remember theirs by stretch',
    is: ({ command, docsExamined = 0, keysExamined = 0 }, text) =>
      command.aggregate !== undefined && text.includes('"n":{"$sum":1}') && docsExamined === 0 && keysExamined <= 5200,
  },
  {
    reason: 'with several filters one index is walked, and what it finds is checked by the others',
    is: ({ ns }, text) => /\.payments$/.test(ns) && /"productId".*"walletId"|"walletId".*"productId"/.test(text),
  },
  {
    reason: 'a report looks at one index key for each payment that it adds up, and at no document',
    is: ({ planSummary, docsExamined = 0 }, text) =>
      docsExamined === 0 && text.includes('$toDecimal') && planSummary?.includes('IXSCAN') === true,
  },
  {
    reason: 'changes are followed in the oplog',
    is: ({ op, command }) => op === 'getmore' || JSON.stringify(command).includes('$changeStream'),
  },
  { reason: 'one document for each network', is: ({ ns }) => /\.networkStates$/.test(ns) },
];

const STORES = new Set(
  'accounts activities api-keys wallets gaps audits products paymentLinks payments events webhooks deliveries idempotency cursors networkStates parkedRecords leases countSegments'.split(
    ' ',
  ),
);

const pathsOf = (seeded: Awaited<ReturnType<typeof seed>>) => {
  const { productIds, linkIds, walletIds, webhookId, exchange, transactionHash, month } = seeded;
  const time = `createdFrom=${month.createdFrom}&createdTo=${month.createdTo}`;
  return [
    '/account',
    '/api-keys',
    '/wallets',
    `/wallets/${walletIds[0]}`,
    `/wallets/${walletIds[0]}/gaps`,
    `/wallets/${walletIds[0]}/audits`,
    '/products',
    '/products?active=true',
    '/products?search=thing',
    '/products?sortBy=name&sortOrder=asc',
    `/products/${productIds[0]}`,
    '/payment-links',
    '/payment-links?page=20',
    '/payment-links?active=false',
    `/payment-links?productId=${productIds[0]}`,
    '/payment-links?search=thing',
    `/payment-links?search=z&productId=${productIds[0]}&active=true`,
    `/payment-links/${linkIds[0]}`,
    '/payments',
    '/payments?page=270',
    '/payments?page=100&status=COMPLETED',
    '/payments?status=UNMATCHED&status=UNDERPAID',
    `/payments?productId=${productIds[0]}`,
    `/payments?productId=${productIds[0]}&page=100`,
    `/payments?paymentLinkId=${linkIds[0]}`,
    `/payments?walletId=${walletIds[0]}&status=UNDERPAID`,
    '/payments?needsDecision=true',
    '/payments?search=order-77',
    '/payments?search=order-77+abc',
    `/payments?search=${transactionHash}`,
    '/payments?needsDecision=true&status=UNDERPAID',
    '/payments?assetCode=USDC',
    `/payments?senderAddress=${exchange}`,
    `/payments?transactionHash=${transactionHash}`,
    `/payments?${time}`,
    `/payments?${time}&walletId=${walletIds[0]}`,
    `/payments?productId=${productIds[0]}&walletId=${walletIds[0]}&status=REJECTED`,
    `/reports/summary?from=${month.createdFrom}&to=${month.createdTo}&timezone=Europe/Berlin`,
    '/reports/summary?groupBy=product&status=REJECTED',
    '/reports/summary?currency=EUR&groupBy=day',
    '/reports/summary?status=COMPLETED&parts=true',
    '/events',
    '/events?order=asc&page=100',
    `/events?type=payment.completed&${time}`,
    '/events?after=4000',
    '/events?after=4000&type=payment.completed&pageSize=100',
    '/events?after=100000&wait=1',
    '/events?after=0&paymentId=pay_00000000000000000000000000',
    '/events?paymentId=pay_00000000000000000000000000',
    '/webhooks',
    `/webhooks/${webhookId}/deliveries`,
    `/webhooks/${webhookId}/deliveries?status=FAILED`,
    `/webhooks/${webhookId}/health`,
    '/activity',
    `/activity?subjectId=${productIds[0]}`,
    '/activity?actorId=system&page=2',
    '/activity?operation=products_update',
    `/activity?${time}`,
    `/activity?subjectId=${productIds[0]}&operation=products_update&${time}`,
  ];
};

/** What a merchant does, and what the ledger brings.
 *  @param service its `api` may be that of another process */
async function live(service: TestService, db: mongo.Db, origin: string): Promise<void> {
  const { link, product, wallet } = await startSelling(service);
  const ledger = service.context.localLedger!.client;
  const hook = (
    await service.api('POST', '/webhooks', {
      name: 'Hook',
      url: `${origin}/hook`,
      events: ['payment.received', 'payment.completed'],
    })
  ).data;
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await ledger.pay({ to: wallet.address, amount: '2', memo: link.memo });
  await ledger.pay({ to: wallet.address, amount: '25' });
  const path = `/payments?walletId=${wallet.id}&status=COMPLETED&status=UNDERPAID&status=UNMATCHED`;
  const paid = await eventually(async () => {
    const { data } = await service.api('GET', path);
    return data.length === 3 && data;
  }, 'three payments');
  const of = (status: string) => paid.find((each: { status: string }) => each.status === status).id;
  await service.api('POST', `/payments/${of('UNDERPAID')}/accept`);
  await service.api('POST', `/payments/${of('UNMATCHED')}/assign`, { paymentLinkId: link.id });
  const deliveries = await eventually(
    async () => {
      const { data } = await service.api('GET', `/webhooks/${hook.id}/deliveries?status=DELIVERED`);
      return data.length >= 5 && data;
    },
    'deliveries',
    30_000,
  );
  await service.api('POST', `/deliveries/${deliveries[0].id}/redeliver`);
  await service.api('POST', `/webhooks/${hook.id}/replay`, { status: 'ALL' });
  await service.api('POST', `/webhooks/${hook.id}/replay`, { status: 'FAILED' });
  // What is in flight when the webhook is deleted finds its deliveries cancelled.
  const ofHook = { webhookId: hook.id, accountId: service.accountId };
  await eventually(
    async () =>
      (await db.collection('replays').countDocuments()) === 0 &&
      (await db.collection('deliveries').findOne({ ...ofHook, status: 'PENDING' })) === null,
    'the end of the replays',
    60_000,
  );
  await fetch(`${service.url}/p/${link.slug}`);
  await service.api('PATCH', `/products/${product.id}`, { price: '30' });
  await service.api('PATCH', `/payment-links/${link.id}`, { active: false });
  const spare = (
    await service.api('POST', '/products', {
      name: 'Spare',
      walletId: wallet.id,
      assetCode: 'XLM',
      priceType: 'CUSTOM',
    })
  ).data;
  await service.api('POST', '/payment-links', { productId: spare.id });
  const other = (await service.api('POST', '/payment-links', { productId: spare.id })).data;
  await service.api('DELETE', `/payment-links/${other.id}`);
  await service.api('DELETE', `/products/${spare.id}`);
  await service.api('POST', `/webhooks/${hook.id}/rotate-secret`);
  await service.api('PATCH', `/webhooks/${hook.id}`, { status: 'PAUSED' });
  await service.api('PATCH', `/webhooks/${hook.id}`, { status: 'ACTIVE' });
  await service.api('DELETE', `/webhooks/${hook.id}`);
  const key = (await service.api('POST', '/api-keys', { name: 'More' })).data;
  await service.api('POST', `/api-keys/${key.id}/rotate`);
  await service.api('DELETE', `/api-keys/${key.id}`);
  await service.api('PATCH', `/wallets/${wallet.id}`, { active: false });
  for (let n = 0; n < 4; n++) {
    const { address } = await ledger.fund();
    await service.api('POST', '/wallets', { name: `W${n}`, address, network: 'LOCAL' });
  }
  await eventually(() => service.context.stores.system.cursors.byId('LOCAL:feed'), 'the feed');
}

/** What is wrong with a query; null when nothing is. */
/** Deliveries that an endpoint's queue holds at most. */
const MOST_HELD = 2000;

/** MongoDB's profiler cuts long commands off. */
const passedOver = ({ filter, $truncated = '' }: Profiled['command']): number =>
  filter?._id?.$nin?.length ?? (String($truncated).includes('$nin: [') ? MOST_HELD : 0);

function faultOf(query: Profiled): string | null {
  const { op, command, planSummary = '', keysExamined = 0, docsExamined = 0 } = query;
  if (planSummary.includes('COLLSCAN')) return 'reads the whole collection';
  const found = (query.nreturned ?? 0) + (query.nMatched ?? 0) + (query.ndeleted ?? 0);
  // What a query names to be passed over counts as answered.
  const answered = found + Number(command.skip ?? 0) + passedOver(command);
  const allowed = op === 'insert' ? 0 : 30 + 2 * answered;
  if (keysExamined > allowed || docsExamined > allowed) {
    return `looks at ${keysExamined} keys and ${docsExamined} documents for ${answered}`;
  }
  return null;
}

t.test('every query of the service uses an index and looks at little more than it answers', LONG, async (t) => {
  const database = await testDatabase(t, { own: true });
  const service = await startTestService(t, { database });
  const receiver = await startReceiver();
  t.teardown(receiver.close);
  const seeded = await seed(database.db, service.accountId, {
    payments: 8000,
    links: 600,
    events: 8000,
    deliveries: 6000,
  });
  // As those of an account that keeps books in a currency are.
  const rate = { currency: 'EUR', amount: '2.50', rate: '0.25', rateAt: new Date(), source: 'own' };
  const { matchedCount } = await database.db
    .collection<{ _id: string; status: string }>('payments')
    .updateMany({ _id: { $gt: seeded.paymentId }, status: 'COMPLETED' }, { $set: { value: rate } });
  t.ok(matchedCount > 1000, `${matchedCount} have a value`);
  const stranger = await service.openAccount();
  await seed(database.db, stranger.accountId, { payments: 600, links: 600, events: 600, deliveries: 600 });
  const { db } = database;
  await db.createCollection('system.profile', { capped: true, size: 64 * 2 ** 20 });
  await db.command({ profile: 2, filter: { ns: { $not: /(system|agenda|ledger|local)/i } } });

  for (const path of [...pathsOf(seeded), `/payments/${seeded.paymentId}`, `/payments/${seeded.paymentId}/refund`]) {
    for (let again = 0; again < 2; again++) {
      const { status, error } = await service.api('GET', path);
      if (status !== 200) throw new Error(`${path}: ${error?.message}`);
    }
  }
  for (const path of ['/payments/export?status=REJECTED', '/checkouts/export?status=OPEN']) {
    const headers = { authorization: `Bearer ${service.apiKey}` };
    await (await fetch(`${service.url}/api/v1${path}`, { headers })).text();
  }
  await live(service, db, receiver.origin);
  await db.command({ profile: 0 });

  const profiled = (await db.collection('system.profile').find().toArray()) as unknown as Profiled[];
  const ours = profiled.filter(({ ns }) => STORES.has(ns.slice(ns.indexOf('.') + 1)));
  const seen = new Set(ours.map(({ ns }) => ns.slice(ns.indexOf('.') + 1)));
  const used = new Set<string>();
  const faults = new Set<string>();
  for (const query of ours) {
    const fault = faultOf(query);
    if (fault === null) continue;
    const text = mongo.BSON.EJSON.stringify({ ...query.command, lsid: undefined, $clusterTime: undefined });
    const exception = EXCEPTIONS.find(({ is }) => is(query, text));
    if (exception) used.add(exception.reason);
    else faults.add(`${query.op} ${query.ns}: ${fault} (${query.planSummary}) ${text.slice(0, 600)}`);
  }
  t.ok(ours.length > 300, `${ours.length} queries on ${[...seen].join(', ')}`);
  t.same([...faults], []);
  for (const { reason } of EXCEPTIONS) t.ok(used.has(reason), `an exception: ${reason}`);
});
