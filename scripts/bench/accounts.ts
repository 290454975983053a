/** Accounts: the lists of one account among ten thousand, compared with those of an account alone
 *  in its database. */
import { testDatabase } from '../../test/helpers/mongo.js';
import { newId, openStoresOn } from '../../test/helpers/stores.js';
import type { Section } from './report.js';
import { createScope, type Scope } from './scope.js';
import { seed, withoutIndexes } from './seed.js';
import { aProcessOfItsOwn, compareSides, openSide, type Side, sizesOf } from './size.js';

const OWN = 10_000;
const ACCOUNTS = Number(process.env.BENCH_ACCOUNTS ?? 10_000);
/** Payments of each other account. */
const EACH = Number(process.env.BENCH_EACH ?? 100);

/** Fields whose values differ between accounts. */
const NAMES = [
  ...['_id', 'accountId', 'walletId', 'productId', 'paymentLinkId', 'eventId', 'subjectId', 'webhookId'],
  ...['slug', 'memo', 'operationId', 'transactionHash', 'list', 'after', 'address', 'receiverAddress', 'payableId'],
];

/** Fills the database with copies of one account, inside MongoDB. */
async function addOthers(scope: Scope, { database }: Side): Promise<void> {
  const template = await testDatabase(scope);
  await openStoresOn(scope, template.uri);
  const accountId = newId('acct');
  await template.db
    .collection<{ _id: string }>('accounts')
    .insertOne({ _id: accountId, ...{ name: 'Other', createdAt: new Date(), creations: 0 } });
  await seed(template.db, accountId, { ...sizesOf(EACH), products: 5 });
  const number = { $concat: ['_', { $toString: '$n' }] };
  const renamed = (name: string) => {
    const value = `$one.${name}`;
    return { $cond: [{ $in: [{ $ifNull: [value, ''] }, ['']] }, value, { $concat: [value, number] }] };
  };
  for (const { name } of await template.db.listCollections().toArray()) {
    const one = await template.db.collection(name).findOne();
    if (!one) continue;
    const names = NAMES.filter((each) => each in one);
    const copies = [
      { $project: { _id: 0, one: '$$ROOT' } },
      { $set: { n: { $range: [0, ACCOUNTS] } } },
      { $unwind: '$n' },
      { $replaceWith: { $mergeObjects: ['$one', Object.fromEntries(names.map((each) => [each, renamed(each)]))] } },
      { $merge: { into: { db: database.name, coll: name }, whenMatched: 'fail' } },
    ];
    await withoutIndexes(database.db.collection(name), () => template.db.collection(name).aggregate(copies).toArray());
  }
  console.log(`  ${ACCOUNTS} other accounts`);
}

export async function accounts(): Promise<Section> {
  const scope = createScope();
  try {
    const alone = await openSide(scope, OWN);
    const among = await openSide(scope, OWN);
    await addOthers(scope, among);
    const rows = await compareSides(scope, alone, among);
    const stats = await among.database.db.command({ dbStats: 1, scale: 2 ** 20 });
    const [more, each, all] = [ACCOUNTS, EACH, ACCOUNTS * EACH].map((count) => count.toLocaleString('en'));
    return {
      name: 'accounts',
      title: `An account of ${OWN.toLocaleString('en')} payments among ${more} others of ${each} each, beside one that is alone`,
      aim: 'p99 at most 3 times that of the account that is alone (ms over HTTP; "big": among the others)',
      bound: { most: 3 },
      rows,
      notes: [
        `${all} payments of others in the same database; data ${Math.round(stats.dataSize)} MB, indexes ${Math.round(stats.indexSize)} MB.`,
        await aProcessOfItsOwn(scope, among),
      ],
    };
  } finally {
    await scope.close();
  }
}
