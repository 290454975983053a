// biome-ignore-all lint/suspicious/noExplicitAny: written like a server made in a hurry.
/** The baselines, handwritten with Express and the driver: the same answers, and a look-up of the
 *  key for each request. The minimal one reads and inserts one document. The one of the same work
 *  checks a body by the contract's Zod schema, and inserts the thing, its activity and its names in
 *  one transaction. Writes are acknowledged by a majority.
 *
 *  `tsx plain-server.ts MONGODB_URI [same-work]` */
import { createHash, randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import { mongo } from 'mongoose';
import { contract } from '../../contracts/index.js';

const client = await mongo.MongoClient.connect(process.argv[2]!, { writeConcern: { w: 'majority' } });
const db = client.db();
const keys = db.collection<any>('api-keys');
const products = db.collection<any>('products');
const wallets = db.collection<any>('wallets');
const links = db.collection<any>('paymentLinks');
const checkouts = db.collection<any>('checkouts');
const doesSameWork = process.argv[3] === 'same-work';

/** Answers false to a body that the contract refuses. */
const takes = (
  { input }: { input: { safeParse(body: unknown): { success: boolean } } },
  req: Request,
  res: Response,
) => {
  if (!doesSameWork || input.safeParse(req.body).success) return true;
  res.status(422).json({ data: null, error: { code: 'validation_error' } });
  return false;
};

/** @param named has a memo and a slug */
async function store(collection: mongo.Collection<any>, doc: any, operation: string, req: Request, named = true) {
  if (!doesSameWork) return void (await collection.insertOne(doc));
  const { _id, accountId, memo, slug } = doc;
  const names = [`memo:${memo}`, `slug:${slug}`].map((name) => ({ _id: name, accountId, payableId: _id }));
  const activity = {
    _id: `act_${randomBytes(13).toString('hex')}`,
    accountId,
    actor: { type: 'KEY', id: 'key', name: 'Key' },
    operation,
    subjectId: _id,
    changes: Object.entries(req.body).map(([field, to]) => ({ field, from: null, to })),
    address: req.ip,
  };
  await client.withSession((session) =>
    session.withTransaction(async () => {
      await collection.insertOne(doc, { session });
      if (named) await db.collection<any>('payableNames').insertMany(names, { session });
      await db.collection<any>('activities').insertOne(activity, { session });
    }),
  );
}
const app = express();
app.disable('x-powered-by');
app.use(express.json({ limit: '100kb' }));

app.use(async (req: Request, res: Response, next: NextFunction) => {
  const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? '';
  const key = await keys.findOne({ hash: createHash('sha256').update(token).digest('hex') });
  if (!key || (key.expiresAt && key.expiresAt < new Date()))
    return void res.status(401).json({ data: null, error: { code: 'unauthorized' } });
  res.locals.accountId = key.accountId;
  next();
});

const show = (product: any, wallet: any) => ({
  id: product._id,
  name: product.name,
  description: product.description,
  imageUrl: product.imageUrl,
  assetCode: product.assetCode,
  assetIssuer: product.assetIssuer,
  priceType: product.priceType,
  price: product.price,
  minAmount: product.minAmount,
  active: product.active,
  wallet: { id: wallet._id, name: wallet.name, address: wallet.address, network: wallet.network },
  paymentLinkCount: product.paymentLinkCount,
  createdAt: product.createdAt.toISOString(),
});

app.get('/products/:id', async (req, res) => {
  const product = await products.findOne({ _id: req.params.id, accountId: res.locals.accountId });
  if (!product) return void res.status(404).json({ data: null, error: { code: 'not_found' } });
  const wallet = await wallets.findOne({ _id: product.walletId, accountId: product.accountId });
  res.json({ data: show(product, wallet), error: null });
});

app.get('/products', async (req, res) => {
  const page = Number(req.query.page ?? 1);
  const pageSize = Number(req.query.pageSize ?? 20);
  const filter = { accountId: res.locals.accountId };
  const [items, total] = await Promise.all([
    products
      .find(filter)
      .sort({ _id: -1 })
      .skip((page - 1) * pageSize)
      .limit(pageSize)
      .toArray(),
    products.countDocuments(filter),
  ]);
  const used = await wallets
    .find({ _id: { $in: [...new Set(items.map((item: any) => item.walletId))] }, accountId: res.locals.accountId })
    .toArray();
  const byId = new Map(used.map((wallet: any) => [wallet._id, wallet]));
  res.json({
    data: items.map((item: any) => show(item, byId.get(item.walletId))),
    error: null,
    meta: { page, pageSize, total, totalPages: Math.ceil(total / pageSize) },
  });
});

app.post('/products', async (req, res) => {
  if (!takes(contract.products.create, req, res)) return;
  const { name, walletId, assetCode, priceType, price } = req.body;
  if (typeof name !== 'string' || typeof price !== 'string' || !/^\d+(\.\d{1,7})?$/.test(price)) {
    return void res.status(422).json({ data: null, error: { code: 'validation_error' } });
  }
  const wallet = await wallets.findOne({ _id: walletId, accountId: res.locals.accountId });
  if (!wallet) return void res.status(422).json({ data: null, error: { code: 'validation_error' } });
  const terms = {
    active: true,
    assetCode,
    assetIssuer: null,
    priceType,
    price,
    minAmount: null,
    tolerancePercent: '0',
  };
  const product = {
    _id: `prod_${randomBytes(13).toString('hex')}`,
    accountId: res.locals.accountId,
    name,
    nameKey: name.toLowerCase(),
    description: null,
    imageUrl: null,
    walletId,
    ...terms,
    history: [{ from: null, terms }],
    paymentLinkCount: 0,
    revision: 0,
    createdAt: new Date(),
  };
  await store(products, product, 'products_create', req, false);
  res.status(201).json({ data: show(product, wallet), error: null });
});

const linkOf = (link: any, product: any) => ({
  id: link._id,
  slug: link.slug,
  memo: link.memo,
  url: `https://pay.example/p/${link.slug}`,
  active: link.active,
  paymentCount: link.paymentCount,
  product: {
    id: product._id,
    name: product.name,
    assetCode: product.assetCode,
    priceType: product.priceType,
    price: product.price,
  },
  createdAt: link.createdAt.toISOString(),
});

app.post('/payment-links', async (req, res) => {
  if (!takes(contract.paymentLinks.create, req, res)) return;
  const product = await products.findOne({ _id: req.body.productId, accountId: res.locals.accountId });
  if (!product) return void res.status(422).json({ data: null, error: { code: 'validation_error' } });
  const link = {
    // Begins with a letter, so that the id sorts after those of the existing links.
    _id: `link_z${randomBytes(13).toString('hex')}`,
    accountId: res.locals.accountId,
    productId: product._id,
    slug: randomBytes(8).toString('hex'),
    memo: randomBytes(6).toString('hex').toUpperCase(),
    active: true,
    history: [{ from: null, terms: { active: true } }],
    paymentCount: 0,
    receivedCount: 0,
    createdAt: new Date(),
  };
  await store(links, link, 'paymentLinks_create', req);
  res.status(201).json({ data: linkOf(link, product), error: null });
});

app.post('/checkouts', async (req, res) => {
  if (!takes(contract.checkouts.create, req, res)) return;
  const { productId, reference } = req.body;
  const product = await products.findOne({ _id: productId, accountId: res.locals.accountId });
  const wallet = product && (await wallets.findOne({ _id: product.walletId, accountId: res.locals.accountId }));
  if (!wallet?.active) return void res.status(422).json({ data: null, error: { code: 'validation_error' } });
  const createdAt = new Date();
  const terms = { name: product.name, description: product.description, assetCode: 'XLM', assetIssuer: null };
  const checkout = {
    _id: `chk_z${randomBytes(13).toString('hex')}`,
    accountId: res.locals.accountId,
    productId,
    walletId: wallet._id,
    slug: randomBytes(8).toString('hex'),
    memo: randomBytes(6).toString('hex').toUpperCase(),
    reference,
    metadata: {},
    ...terms,
    amount: product.price,
    quantity: 1,
    successUrl: null,
    cancelUrl: null,
    status: 'OPEN',
    received: '0',
    paymentCount: 0,
    expiresAt: new Date(createdAt.getTime() + 86_400_000),
    paidAt: null,
    closedAt: null,
    createdAt,
  };
  await store(checkouts, checkout, 'checkouts_create', req);
  const { _id, accountId, walletId, received, paymentCount, ...shown } = checkout;
  const summary = { id: product._id, name: product.name, assetCode: product.assetCode, price: product.price };
  const paidTo = { id: wallet._id, name: wallet.name, address: wallet.address, network: wallet.network };
  const amounts = { receivedAmount: '0', remainingAmount: checkout.amount, excessAmount: null };
  const url = `https://pay.example/c/${checkout.slug}`;
  res.status(201).json({ data: { id: _id, ...shown, ...amounts, url, product: summary, wallet: paidTo }, error: null });
});

const server = app.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
process.on('disconnect', () => process.exit(0));
