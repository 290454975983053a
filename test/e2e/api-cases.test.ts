/** One table of cases, run over REST and over tRPC on the real service: what is accepted, what is
 *  refused, and every fault by its path and code. */
import { Asset, Keypair, Operation } from '@stellar/stellar-sdk';
import mongoose from 'mongoose';
import t from 'tap';
import type { ErrorCode } from '../../contracts/errors.js';
import { answered, call, type Outcome, operations, TRANSPORTS, type Transport } from '../helpers/api.js';
import { type Access, monitored, namesAccount, recordAccesses } from '../helpers/commands.js';
import { IS_LONG, LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startTestService } from '../helpers/service.js';

const ISSUER = 'GDSH3DACNUIXAE2E6WBWUFMO3Y4COGCXJVWNKWU5GL5UJVSBFDYOGUY4';
const database = await testDatabase(t);
const connectionsBefore = mongoose.connections.length;
// Other files of this process have been answered, too.
answered.clear();
const service = await startTestService(t, { role: 'api', database: { uri: monitored(database.uri) } });
const accesses = recordAccesses(mongoose.connections[connectionsBefore]!);
await service.join('worker');
const accountIds: string[] = [];
const ledger = service.context.localLedger!.client;

type Tap = Parameters<Parameters<typeof t.test>[0]>[0];
type Input = Record<string, unknown>;

/** What the cases of one transport begin with: an account of its own, with one of everything. */
interface World {
  call: (name: string, input?: Input, key?: string) => Promise<Outcome>;
  /** Calls, and fails unless it is accepted. */
  make: (name: string, input?: Input) => Promise<any>;
  wallet: any;
  /** Signs for the wallet's account. */
  walletSecret: string;
  product: any;
  custom: any;
  link: any;
  webhook: any;
  readKey: string;
  /** Payments by what became of them. */
  completed: any;
  underpaid: any;
  rejected: any;
  unmatched: any;
}

async function createWorld(transport: Transport): Promise<World> {
  const { apiKey, accountId } = await service.openAccount();
  accountIds.push(accountId);
  const ask: World['call'] = (name, input, key = apiKey) => call(transport, service.url, key, name, input);
  const make: World['make'] = async (name, input) => {
    const { outcome, data, error } = await ask(name, input);
    if (outcome !== 'ok') throw new Error(`${name}: ${JSON.stringify(error)}`);
    return data;
  };
  const { address, secret: walletSecret } = await ledger.fund();
  const wallet = await make('wallets.create', { name: 'Shop', address, network: 'LOCAL' });
  const fixed = { name: 'T-shirt', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '25' };
  const product = await make('products.create', fixed);
  const custom = await make('products.create', {
    name: 'Donation',
    walletId: wallet.id,
    assetCode: 'USDC',
    assetIssuer: ISSUER,
    priceType: 'CUSTOM',
    minAmount: '1.5000000',
  });
  const link = await make('paymentLinks.create', { productId: product.id });
  const off = await make('paymentLinks.create', { productId: product.id });
  await make('paymentLinks.update', { id: off.id, active: false });
  const webhook = await make('webhooks.create', {
    name: 'shop',
    url: 'https://127.0.0.1:1/hook',
    events: ['payment.completed', 'payment.received'],
  });
  const readKey = (await make('apiKeys.create', { name: 'reader', scope: 'READ' })).key;

  const hashes: string[] = [];
  for (const [amount, memo] of [
    ['25', link.memo],
    ['24.5', link.memo],
    ['25', off.memo],
    ['3', 'nobody knows'],
  ] as const) {
    hashes.push((await ledger.pay({ to: address, amount, memo })).hash);
  }
  const paid = await eventually(async () => {
    const all = await Promise.all(
      hashes.map((transactionHash) =>
        ask('payments.list', { transactionHash, status: ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'] }),
      ),
    );
    return all.every(({ data }) => data.length === 1) && all.map(({ data }) => data[0]);
  }, 'four payments');
  const [completed, underpaid, rejected, unmatched] = paid;
  return {
    ...{ call: ask, make, wallet, walletSecret, product, custom, link, webhook, readKey },
    ...{ completed, underpaid, rejected, unmatched },
  };
}

type Expected =
  | { match: unknown }
  | { code: ErrorCode; faults?: [path: string, code: string][] }
  | { check: (answer: Outcome, world: World, t: Tap) => unknown };
type Case = [
  title: string,
  name: string,
  input: Input | ((world: World) => Input | Promise<Input>),
  expected: Expected,
];

const ok = (match: unknown = {}): Expected => ({ match });
const refused = (code: ErrorCode): Expected => ({ code });
const faults = (...all: [path: string, code: string][]): Expected => ({ code: 'validation_error', faults: all });

const shirt =
  (changes: Input = {}) =>
  ({ wallet }: World): Input => ({
    ...{ name: 'T-shirt', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '25' },
    ...changes,
  });
/** A shirt, as its links, payments and checkouts show it. */
const summaryOf = ({ id }: { id: string }) => ({
  ...{ id, name: 'T-shirt', assetCode: 'XLM', priceType: 'FIXED', price: '25' },
  ...{ currency: null, quote: null },
});
const donation = (changes: Input = {}) => shirt({ priceType: 'CUSTOM', price: undefined, ...changes });
const token = (changes: Input = {}) => shirt({ assetCode: 'USDC', assetIssuer: ISSUER, ...changes });
/** A new product, and changes to it. */
const changed =
  (from: (world: World) => Input, changes: Input) =>
  async (world: World): Promise<Input> => ({ id: (await world.make('products.create', from(world))).id, ...changes });
const newAddress = async () => (await ledger.fund()).address;
const hook = (changes: Input = {}): Input => ({
  ...{ name: 'shop', url: 'https://shop.example/hook', events: ['payment.completed'] },
  ...changes,
});
const madeHook =
  (changes: Input = {}) =>
  async (world: World): Promise<Input> => ({ id: (await world.make('webhooks.create', hook())).id, ...changes });
const everyStatus = { status: ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'] };

// biome-ignore format: one case a line
const products: Case[] = [
  [
    'a FIXED product in XLM has exactly the documented fields',
    'products.create',
    shirt(),
    {
      check: ({ data }, { wallet }, t) => {
        const { id, createdAt, ...rest } = data;
        t.match(id, /^prod_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
        t.equal(new Date(createdAt).toISOString(), createdAt);
        t.strictSame(rest, {
          name: 'T-shirt',
          description: null,
          imageUrl: null,
          assetCode: 'XLM',
          assetIssuer: null,
          priceType: 'FIXED',
          price: '25',
          minAmount: null,
          tolerancePercent: '0',
          stock: null,
          currency: null,
          quote: null,
          active: true,
          wallet: { id: wallet.id, name: wallet.name, address: wallet.address, network: 'LOCAL' },
          paymentLinkCount: 0,
        });
      },
    },
  ],
  ['all optional fields are kept', 'products.create', shirt({ description: 'd', imageUrl: 'https://x.example/i.png', active: false }), ok({ description: 'd', imageUrl: 'https://x.example/i.png', active: false })],
  ['null is accepted for every nullable field of a FIXED product', 'products.create', shirt({ minAmount: null, assetIssuer: null, description: null, imageUrl: null }), ok({ minAmount: null, description: null })],
  ['null is accepted as the price of a CUSTOM product', 'products.create', donation({ price: null, minAmount: null }), ok({ price: null, minAmount: null })],
  ['a CUSTOM product needs no minimum', 'products.create', donation(), ok({ priceType: 'CUSTOM', minAmount: null })],
  ['a CUSTOM product may have a minimum', 'products.create', donation({ minAmount: '0.0000001' }), ok({ minAmount: '0.0000001' })],
  ['an issued asset keeps its issuer', 'products.create', token(), ok({ assetCode: 'USDC', assetIssuer: ISSUER })],
  ['an asset code has up to 12 letters and digits', 'products.create', token({ assetCode: 'aBcDeF123456' }), ok({ assetCode: 'aBcDeF123456' })],
  ['xlm in small letters is an issued asset', 'products.create', token({ assetCode: 'xlm' }), ok({ assetCode: 'xlm' })],
  ['amounts come back in canonical form', 'products.create', shirt({ price: '10.5000000' }), ok({ price: '10.5' })],
  ['a whole amount loses its decimals', 'products.create', shirt({ price: '10.0' }), ok({ price: '10' })],
  ['the largest amount is accepted', 'products.create', shirt({ price: '922337203685.4775807' }), ok({ price: '922337203685.4775807' })],
  ['one stroop is accepted', 'products.create', shirt({ price: '0.0000001' }), ok({ price: '0.0000001' })],
  ['120 characters of name are accepted, counted as characters', 'products.create', shirt({ name: '👕'.repeat(120) }), ok({ name: '👕'.repeat(120) })],
  ['2,000 characters of description are accepted', 'products.create', shirt({ description: 'é'.repeat(2000) }), ok()],
  ['a name keeps its blanks', 'products.create', shirt({ name: '  a  ' }), ok({ name: '  a  ' })],
  ['a name that looks like an operator is text', 'products.create', shirt({ name: '{"$gt":""}' }), ok({ name: '{"$gt":""}' })],

  ['without anything, every required field is missing', 'products.create', {}, faults(['name', 'required'], ['walletId', 'required'], ['assetCode', 'required'], ['priceType', 'required'])],
  ['a FIXED product needs a price', 'products.create', shirt({ price: undefined }), faults(['price', 'required'])],
  ['the price of a FIXED product is not null', 'products.create', shirt({ price: null }), faults(['price', 'required'])],
  ['a FIXED product has no minimum', 'products.create', shirt({ minAmount: '1' }), faults(['minAmount', 'not_allowed'])],
  ['a CUSTOM product has no price', 'products.create', donation({ price: '1' }), faults(['price', 'not_allowed'])],
  ['XLM has no issuer', 'products.create', shirt({ assetIssuer: ISSUER }), faults(['assetIssuer', 'not_allowed'])],
  ['every other asset has one', 'products.create', shirt({ assetCode: 'USDC' }), faults(['assetIssuer', 'required'])],
  ['null is no issuer', 'products.create', token({ assetIssuer: null }), faults(['assetIssuer', 'required'])],
  ...(['0', '0.0', '0.0000000'].map((price) => [
    `the price ${price} is too small`,
    'products.create',
    shirt({ price }),
    faults(['price', 'too_small']),
  ]) as Case[]),
  ...(['922337203685.4775808', '999999999999', '1'.repeat(500)].map((price) => [
    `the price ${price} is too big`,
    'products.create',
    shirt({ price }),
    faults(['price', 'too_big']),
  ]) as Case[]),
  ...([
    '-1',
    '+1',
    '.5',
    '5.',
    '007',
    '1e3',
    '0x10',
    '1,5',
    ' 1',
    '1 ',
    '',
    'NaN',
    'Infinity',
    '1.00000001',
    '٣',
  ].map((price) => [
    `"${price}" is no amount`,
    'products.create',
    shirt({ price }),
    faults(['price', 'invalid_format']),
  ]) as Case[]),
  ...([25, 0.5, true, {}, [], ['25']].map((price) => [
    `the price ${JSON.stringify(price)} is no text`,
    'products.create',
    shirt({ price }),
    faults(['price', 'invalid_type']),
  ]) as Case[]),
  ['an operator is no price', 'products.create', shirt({ price: { $gt: '0' } }), faults(['price', 'invalid_type'])],
  ['an operator is no name', 'products.create', shirt({ name: { $ne: null } }), faults(['name', 'invalid_type'])],
  ['an operator is no wallet', 'products.create', shirt({ walletId: { $ne: null } }), faults(['walletId', 'invalid_type'])],
  ['a blank name is refused', 'products.create', shirt({ name: ' \t ' }), faults(['name', 'too_small'])],
  ['an empty name is refused', 'products.create', shirt({ name: '' }), faults(['name', 'too_small'])],
  ['a name of null is refused', 'products.create', shirt({ name: null }), faults(['name', 'invalid_type'])],
  ['121 characters of name are too many', 'products.create', shirt({ name: 'a'.repeat(121) }), faults(['name', 'too_big'])],
  ['2,001 characters of description are too many', 'products.create', shirt({ description: 'a'.repeat(2001) }), faults(['description', 'too_big'])],
  ['NUL is no text', 'products.create', shirt({ name: 'a\0b' }), faults(['name', 'invalid_format'])],
  ['half a surrogate pair is no text', 'products.create', shirt({ name: 'a\ud83d' }), faults(['name', 'invalid_format'])],
  ...([
    'http://x.example/i.png',
    'javascript:alert(1)',
    'ftp://x.example',
    'x.example/i.png',
    '//x.example',
    'https://',
    'https://u:p@x.example',
    'data:image/png;base64,AA',
    '',
  ].map((imageUrl) => [
    `"${imageUrl}" is no image URL`,
    'products.create',
    shirt({ imageUrl }),
    faults(['imageUrl', 'invalid_format']),
  ]) as Case[]),
  ['2,049 characters of URL are too many', 'products.create', shirt({ imageUrl: `https://x.example/${'a'.repeat(2031)}` }), faults(['imageUrl', 'too_big'])],
  ...(['', 'US DC', 'USDC!', 'ABCDEFGHIJKLM', 'ÄÖ', '$gt'].map((assetCode) => [
    `"${assetCode}" is no asset code`,
    'products.create',
    token({ assetCode }),
    faults(['assetCode', 'invalid_format']),
  ]) as Case[]),
  ...([ISSUER.toLowerCase(), `${ISSUER.slice(0, -1)}X`, ISSUER.slice(1), 'SAAA', ''].map((assetIssuer) => [
    `"${assetIssuer}" is no issuer`,
    'products.create',
    token({ assetIssuer }),
    faults(['assetIssuer', 'invalid_format']),
  ]) as Case[]),
  ['"yes" is no boolean', 'products.create', shirt({ active: 'yes' }), faults(['active', 'invalid_type'])],
  ['null is no boolean', 'products.create', shirt({ active: null }), faults(['active', 'invalid_type'])],
  ['FREE is no price type', 'products.create', shirt({ priceType: 'FREE' }), faults(['priceType', 'invalid_value'])],
  ['unknown fields are faults, one each', 'products.create', shirt({ foo: 1, createdAt: 'x' }), faults(['foo', 'unrecognized_key'], ['createdAt', 'unrecognized_key'])],
  ['fields of the answer are no fields of the body', 'products.create', shirt({ paymentLinkCount: 5, wallet: {} }), faults(['paymentLinkCount', 'unrecognized_key'], ['wallet', 'unrecognized_key'])],
  ['prototype names are unknown fields', 'products.create', shirt(JSON.parse('{"__proto__": {"active": false}, "constructor": 1, "toString": 2}')), faults(['__proto__', 'unrecognized_key'], ['constructor', 'unrecognized_key'], ['toString', 'unrecognized_key'])],
  [
    'all faults come in one answer, those between fields too',
    'products.create',
    {
      name: '',
      walletId: 7,
      assetCode: 'XLM',
      assetIssuer: 'x',
      priceType: 'FIXED',
      minAmount: 1,
      description: 5,
      imageUrl: 'http://x',
      active: 1,
      more: 1,
    },
    faults(
      ['name', 'too_small'],
      ['walletId', 'invalid_type'],
      ['assetIssuer', 'invalid_format'],
      ['assetIssuer', 'not_allowed'],
      ['price', 'required'],
      ['minAmount', 'invalid_type'],
      ['minAmount', 'not_allowed'],
      ['description', 'invalid_type'],
      ['imageUrl', 'invalid_format'],
      ['active', 'invalid_type'],
      ['more', 'unrecognized_key'],
    ),
  ],
  ['an unknown wallet is a fault of the body', 'products.create', shirt({ walletId: 'wallet_01jd3k5v9ye6rbh2x7q0w4tznc' }), faults(['walletId', 'not_found'])],
  ['an empty wallet id is told with the other faults', 'products.create', shirt({ name: '', walletId: '', price: '0' }), faults(['name', 'too_small'], ['walletId', 'not_found'], ['price', 'too_small'])],
  ['a wallet id of the wrong form is answered alike', 'products.create', shirt({ walletId: 'x' }), faults(['walletId', 'not_found'])],

  ['a product is read by its id', 'products.get', ({ product }) => ({ id: product.id }), ok({ name: 'T-shirt', paymentLinkCount: 2 })],
  ['an unknown product is not found', 'products.get', { id: 'prod_01jd3k5v9ye6rbh2x7q0w4tznc' }, refused('not_found')],
  ['an id of the wrong form is not found', 'products.get', { id: 'nonsense' }, refused('not_found')],
  ['an id of another kind is not found', 'products.get', ({ wallet }) => ({ id: wallet.id }), refused('not_found')],
  ['an id with odd characters is not found', 'products.get', { id: 'a/b?c#d%e$f é' }, refused('not_found')],

  ['an empty PATCH changes nothing', 'products.update', changed(shirt({ description: 'd' }), {}), ok({ name: 'T-shirt', description: 'd', price: '25' })],
  ['a PATCH changes only what it names', 'products.update', changed(shirt({ description: 'd' }), { name: 'New' }), ok({ name: 'New', description: 'd', price: '25' })],
  ['null clears a field', 'products.update', changed(shirt({ description: 'd', imageUrl: 'https://x.example/i' }), { description: null, imageUrl: null }), ok({ description: null, imageUrl: null })],
  ['a product is switched off', 'products.update', changed(shirt(), { active: false }), ok({ active: false })],
  ['a price is changed, and canonical', 'products.update', changed(shirt(), { price: '30.50' }), ok({ price: '30.5' })],
  ['FIXED becomes CUSTOM when the price goes', 'products.update', changed(shirt(), { priceType: 'CUSTOM', price: null, minAmount: '2' }), ok({ priceType: 'CUSTOM', price: null, minAmount: '2' })],
  ['CUSTOM becomes FIXED when a price comes', 'products.update', changed(donation({ minAmount: '1' }), { priceType: 'FIXED', price: '9', minAmount: null }), ok({ priceType: 'FIXED', price: '9', minAmount: null })],
  ['XLM becomes an issued asset with an issuer', 'products.update', changed(shirt(), { assetCode: 'EURC', assetIssuer: ISSUER }), ok({ assetCode: 'EURC', assetIssuer: ISSUER })],
  ['an issued asset becomes XLM when the issuer goes', 'products.update', changed(token(), { assetCode: 'XLM', assetIssuer: null }), ok({ assetCode: 'XLM', assetIssuer: null })],
  ['the merged product is validated: CUSTOM with a price', 'products.update', changed(shirt(), { priceType: 'CUSTOM' }), faults(['price', 'not_allowed'])],
  ['the merged product is validated: FIXED without a price', 'products.update', changed(donation({ minAmount: '1' }), { priceType: 'FIXED' }), faults(['price', 'required'], ['minAmount', 'not_allowed'])],
  ['the price of a FIXED product cannot be cleared', 'products.update', changed(shirt(), { price: null }), faults(['price', 'required'])],
  ['the merged product is validated: an issuer for XLM', 'products.update', changed(shirt(), { assetIssuer: ISSUER }), faults(['assetIssuer', 'not_allowed'])],
  ['the merged product is validated: an asset without issuer', 'products.update', changed(shirt(), { assetCode: 'USDC' }), faults(['assetIssuer', 'required'])],
  ['the merged product is validated: XLM with the old issuer', 'products.update', changed(token(), { assetCode: 'XLM' }), faults(['assetIssuer', 'not_allowed'])],
  ['a PATCH has the faults of a create', 'products.update', changed(shirt(), { name: '', price: 3, foo: 1 }), faults(['name', 'too_small'], ['price', 'invalid_type'], ['foo', 'unrecognized_key'])],
  ['an unknown wallet in a PATCH is a fault of the body', 'products.update', changed(shirt(), { walletId: 'wallet_x' }), faults(['walletId', 'not_found'])],
  ['what a PATCH says is checked before the product is looked up', 'products.update', { id: 'prod_x', name: '' }, faults(['name', 'too_small'])],
  ['an unknown wallet in a PATCH is told before an unknown product', 'products.update', { id: 'prod_x', walletId: 'wallet_x' }, faults(['walletId', 'not_found'])],
  ['an unknown product cannot be changed', 'products.update', { id: 'prod_x', name: 'a' }, refused('not_found')],

  ['a product is deleted, and says so', 'products.delete', changed(shirt(), {}), { check: ({ data }, _world, t) => t.match(data, { id: /^prod_/, deleted: true }) }],
  ['a product with payments is not deleted', 'products.delete', ({ product }) => ({ id: product.id }), refused('conflict')],
  ['an unknown product is not deleted', 'products.delete', { id: 'prod_x' }, refused('not_found')],
  [
    'the links of a deleted product are gone',
    'paymentLinks.get',
    async (world) => {
      const { id } = await world.make('products.create', shirt()(world));
      const link = await world.make('paymentLinks.create', { productId: id });
      await world.make('products.delete', { id });
      return { id: link.id };
    },
    refused('not_found'),
  ],
];

// biome-ignore format: one case a line
const wallets: Case[] = [
  [
    'a wallet has exactly the documented fields',
    'wallets.create',
    async () => ({ name: 'Till', address: await newAddress(), network: 'LOCAL' }),
    {
      check: ({ data }, _world, t) => {
        t.same(Object.keys(data).sort(), ['active', 'address', 'createdAt', 'id', 'name', 'network', 'sync']);
        t.same(Object.keys(data.sync).sort(), ['at', 'ledger', 'parked', 'reason', 'state']);
        t.match(data, { id: /^wallet_/, active: true, network: 'LOCAL' });
      },
    },
  ],
  ['an address is registered once', 'wallets.create', ({ wallet }) => ({ name: 'Again', address: wallet.address, network: 'LOCAL' }), refused('conflict')],
  ['a network that is not watched is refused', 'wallets.create', { name: 'a', address: ISSUER, network: 'PUBLIC' }, faults(['network', 'invalid_value'])],
  ['a network that is not watched is listed with the other faults', 'wallets.create', { name: '', address: ISSUER, network: 'PUBLIC' }, faults(['name', 'too_small'], ['network', 'invalid_value'])],
  ['an unknown network is refused', 'wallets.create', { name: 'a', address: ISSUER, network: 'MOON' }, faults(['network', 'invalid_value'])],
  ['an address must have its checksum', 'wallets.create', { name: 'a', address: `${ISSUER.slice(0, -1)}A`, network: 'LOCAL' }, faults(['address', 'invalid_format'])],
  ['a muxed address is no wallet', 'wallets.create', { name: 'a', address: 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ', network: 'LOCAL' }, faults(['address', 'invalid_format'])],
  ['everything that is missing is named', 'wallets.create', {}, faults(['name', 'required'], ['address', 'required'], ['network', 'required'])],
  ['a wallet is read', 'wallets.get', ({ wallet }) => ({ id: wallet.id }), ok({ name: 'Shop', network: 'LOCAL' })],
  ['wallets are found by a part of their name, whatever its case', 'wallets.list', { search: 'sHO' }, { check: ({ data }, { wallet }, t) => t.ok(data.some(({ id }: any) => id === wallet.id) && data.every(({ name }: any) => /sho/i.test(name))) }],
  ['wallets are found by a new name and never by the old one, without marks and case', 'wallets.list', async ({ make }) => {
    const { id } = await make('wallets.create', { name: 'Straße', address: await newAddress(), network: 'LOCAL' });
    await make('wallets.update', { id, name: 'Οδός İstanbul' });
    return { search: 'ΟΔΟΣ istan' };
  }, { check: ({ data }, _world, t) => t.same(data.map(({ name }: any) => name), ['Οδός İstanbul']) }],
  ['wallets are found by the name that they were made with, without marks and case', 'wallets.list', async ({ make }) => {
    await make('wallets.create', { name: 'Café Straße', address: await newAddress(), network: 'LOCAL' });
    return { search: 'CAFE STRASSE' };
  }, { check: ({ data }, _world, t) => t.same(data.map(({ name }: any) => name), ['Café Straße']) }],
  ['wallets are found by their address', 'wallets.list', ({ wallet }) => ({ search: wallet.address }), { check: ({ data }, { wallet }, t) => t.same(data.map(({ id }: any) => id), [wallet.id]) }],
  ['no character of a search among wallets is a pattern', 'wallets.list', { search: 'S.op' }, { check: ({ meta }, _world, t) => t.equal(meta!.total, 0) }],
  ['an unknown wallet is not found', 'wallets.get', { id: 'wallet_x' }, refused('not_found')],
  ['a wallet is renamed', 'wallets.update', async ({ make }) => ({ id: (await make('wallets.create', { name: 'a', address: await newAddress(), network: 'LOCAL' })).id, name: 'b' }), ok({ name: 'b', active: true })],
  ['a wallet is switched off', 'wallets.update', async ({ make }) => ({ id: (await make('wallets.create', { name: 'a', address: await newAddress(), network: 'LOCAL' })).id, active: false }), ok({ name: 'a', active: false })],
  ['an empty PATCH of a wallet changes nothing', 'wallets.update', ({ wallet }) => ({ id: wallet.id }), ok({ name: 'Shop', active: true })],
  ['the address of a wallet is for good', 'wallets.update', ({ wallet }) => ({ id: wallet.id, address: ISSUER, network: 'LOCAL' }), faults(['address', 'unrecognized_key'], ['network', 'unrecognized_key'])],
  ['an unknown wallet is not changed', 'wallets.update', { id: 'wallet_x', name: 'a' }, refused('not_found')],
  ['a wallet in use is not deleted', 'wallets.delete', ({ wallet }) => ({ id: wallet.id }), refused('conflict')],
  ['an unused wallet is deleted', 'wallets.delete', async ({ make }) => ({ id: (await make('wallets.create', { name: 'a', address: await newAddress(), network: 'LOCAL' })).id }), ok({ deleted: true })],
  ['an unknown wallet is not deleted', 'wallets.delete', { id: 'wallet_x' }, refused('not_found')],
  ['the gaps of a wallet', 'wallets.gaps', ({ wallet }) => ({ id: wallet.id }), ok([])],
  ['the gaps of an unknown wallet', 'wallets.gaps', { id: 'wallet_x' }, refused('not_found')],
  ['nothing is mended where nothing was missed', 'wallets.mendGaps', ({ wallet }) => ({ id: wallet.id }), ok({ mended: 0, open: 0 })],
  ['a source must be a URL', 'wallets.mendGaps', ({ wallet }) => ({ id: wallet.id, horizonUrl: 'horizon' }), faults(['horizonUrl', 'invalid_format'])],
  ['a source has no credentials', 'wallets.mendGaps', ({ wallet }) => ({ id: wallet.id, horizonUrl: 'https://a:b@horizon.example' }), faults(['horizonUrl', 'invalid_format'])],
  ['the gaps of an unknown wallet are not mended', 'wallets.mendGaps', { id: 'wallet_x' }, refused('not_found')],
  ['an audit is started', 'wallets.startAudit', async ({ make }) => ({ id: (await make('wallets.create', { name: 'a', address: await newAddress(), network: 'LOCAL' })).id }), ok({ status: 'RUNNING', assets: [], finishedAt: null })],
  ['an audit takes no fields', 'wallets.startAudit', ({ wallet }) => ({ id: wallet.id, from: 1 }), faults(['from', 'unrecognized_key'])],
  ['an unknown wallet is not audited', 'wallets.startAudit', { id: 'wallet_x' }, refused('not_found')],
  ['the audits of an unknown wallet', 'wallets.audits', { id: 'wallet_x' }, refused('not_found')],
  ['the statement of a wallet whose account is not there', 'wallets.statement', async ({ make }) => ({ id: (await make('wallets.create', { name: 'a', address: await newAddress(), network: 'LOCAL' })).id }), ok({ assets: [{ assetCode: 'XLM', opening: '0', closing: '0', movements: [] }] })],
  ['a statement is of a time', 'wallets.statement', ({ wallet }) => ({ id: wallet.id, from: 'yesterday' }), refused('bad_request')],
  ['the statement of an unknown wallet', 'wallets.statement', { id: 'wallet_x' }, refused('not_found')],
];

// biome-ignore format: one case a line
const links: Case[] = [
  [
    'a link has exactly the documented fields',
    'paymentLinks.create',
    ({ product }) => ({ productId: product.id }),
    {
      check: ({ data }, { product }, t) => {
        const { id, slug, memo, url, createdAt, ...rest } = data;
        t.match({ id, createdAt }, { id: /^link_/, createdAt: /Z$/ });
        t.match(memo, /^[0-9A-HJKMNP-TV-Z]{8,12}$/);
        t.equal(url, `${service.url}/p/${slug}`);
        t.strictSame(rest, {
          name: null,
          active: true,
          paymentCount: 0,
          ...{ order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null },
          product: summaryOf(product),
        });
      },
    },
  ],
  ['a link of a CUSTOM product has no price', 'paymentLinks.create', ({ custom }) => ({ productId: custom.id }), ok({ product: { priceType: 'CUSTOM', price: null } })],
  ['a link with an end, texts and a limit', 'paymentLinks.create', ({ product }) => ({ productId: product.id, endsAt: '2030-01-01', inactiveText: 'Later', afterPayment: { message: 'Thanks' }, maxPayments: 3 }), ok({ endsAt: '2030-01-01T00:00:00.000Z', inactiveText: 'Later', afterPayment: { message: 'Thanks', url: null }, maxPayments: 3 })],
  ['an order link has the defaults of its form', 'paymentLinks.create', ({ product }) => ({ productId: product.id, order: { fields: [] } }), ok({ order: { fields: [], quantity: null, suggestedAmounts: [], tipPercents: [], coupons: false, minutes: 60 } })],
  ['an order needs fields', 'paymentLinks.create', ({ product }) => ({ productId: product.id, order: {} }), faults(['order.fields', 'required'])],
  ['every fault of a form is told, and of its product', 'paymentLinks.create', ({ custom }) => ({ productId: custom.id, order: { fields: [{ key: 'a', label: '', type: 'select' }, { key: 'a', label: 'A', type: 'text', options: ['x'] }], quantity: { min: 2, max: 1 }, minutes: 3, color: 'red' } }), faults(['order.fields.0.label', 'too_small'], ['order.minutes', 'too_small'], ['order.color', 'unrecognized_key'], ['order.fields.0.options', 'required'], ['order.fields.1.key', 'duplicate'], ['order.fields.1.options', 'not_allowed'], ['order.quantity.max', 'too_small'], ['order.quantity', 'not_allowed'])],
  ['a link takes at least one payment', 'paymentLinks.create', ({ product }) => ({ productId: product.id, maxPayments: 0 }), faults(['maxPayments', 'too_small'])],
  ['a link leads to https alone', 'paymentLinks.create', ({ product }) => ({ productId: product.id, afterPayment: { url: 'http://shop.example' } }), faults(['afterPayment.url', 'invalid_format'])],
  ['a long text of a link is refused', 'paymentLinks.create', ({ product }) => ({ productId: product.id, inactiveText: 'x'.repeat(301), afterPayment: { message: 'x'.repeat(501) } }), faults(['inactiveText', 'too_big'], ['afterPayment.message', 'too_big'])],
  ['a link becomes an order link, and loses its end', 'paymentLinks.update', async ({ make, product }) => ({ id: (await make('paymentLinks.create', { productId: product.id, endsAt: '2030-01-01' })).id, order: { fields: [], minutes: 5 }, endsAt: null }), ok({ order: { minutes: 5 }, endsAt: null })],
  ['an order link has no instructions', 'paymentLinks.instructions', async ({ make, product }) => ({ id: (await make('paymentLinks.create', { productId: product.id, order: { fields: [] } })).id }), refused('conflict')],
  ['a link needs a product', 'paymentLinks.create', {}, faults(['productId', 'required'])],
  ['an unknown product is a fault of the body', 'paymentLinks.create', { productId: 'prod_x' }, faults(['productId', 'not_found'])],
  ['nothing else about a link is chosen', 'paymentLinks.create', ({ product }) => ({ productId: product.id, memo: 'MINE', slug: 'mine', active: false }), faults(['memo', 'unrecognized_key'], ['slug', 'unrecognized_key'], ['active', 'unrecognized_key'])],
  ['a link has a name for the merchant', 'paymentLinks.create', ({ product }) => ({ productId: product.id, name: 'Théke' }), ok({ name: 'Théke' })],
  ['a link has no name unless it is given one', 'paymentLinks.create', ({ product }) => ({ productId: product.id, name: null }), ok({ name: null })],
  ['a link’s name has at most 120 characters', 'paymentLinks.create', ({ product }) => ({ productId: product.id, name: 'x'.repeat(121) }), faults(['name', 'too_big'])],
  ['a link is renamed', 'paymentLinks.update', async ({ make, product }) => ({ id: (await make('paymentLinks.create', { productId: product.id, name: 'a' })).id, name: 'Stall', active: false }), ok({ name: 'Stall', active: false })],
  ['a link loses its name', 'paymentLinks.update', async ({ make, product }) => ({ id: (await make('paymentLinks.create', { productId: product.id, name: 'a' })).id, name: null }), ok({ name: null })],
  ['a link is read', 'paymentLinks.get', ({ link }) => ({ id: link.id }), ok({ active: true, paymentCount: 2 })],
  ['an unknown link is not found', 'paymentLinks.get', { id: 'link_x' }, refused('not_found')],
  ['a link is switched off', 'paymentLinks.update', async ({ make, product }) => ({ id: (await make('paymentLinks.create', { productId: product.id })).id, active: false }), ok({ active: false })],
  ['an empty PATCH of a link changes nothing', 'paymentLinks.update', ({ link }) => ({ id: link.id }), ok({ active: true })],
  ['a link is switched by a boolean', 'paymentLinks.update', ({ link }) => ({ id: link.id, active: 'false' }), faults(['active', 'invalid_type'])],
  ['an unknown link is not changed', 'paymentLinks.update', { id: 'link_x', active: true }, refused('not_found')],
  ['a link with payments is not deleted', 'paymentLinks.delete', ({ link }) => ({ id: link.id }), refused('conflict')],
  ['a link without payments is deleted', 'paymentLinks.delete', async ({ make, product }) => ({ id: (await make('paymentLinks.create', { productId: product.id })).id }), ok({ deleted: true })],
  ['an unknown link is not deleted', 'paymentLinks.delete', { id: 'link_x' }, refused('not_found')],
];

// biome-ignore format: one case a line
const webhooks: Case[] = [
  [
    'a new webhook shows its secret',
    'webhooks.create',
    hook(),
    {
      check: ({ data }, _world, t) => {
        const { id, secret, secretMasked, createdAt, ...rest } = data;
        t.match({ id, createdAt }, { id: /^hook_/, createdAt: /Z$/ });
        t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
        t.equal(secretMasked, `whsec_…${secret.slice(-4)}`);
        t.strictSame(rest, { ...hook(), status: 'ACTIVE' });
      },
    },
  ],
  ['a webhook that is read shows no secret', 'webhooks.get', madeHook(), { check: ({ data }, _world, t) => t.same(Object.keys(data).sort(), ['createdAt', 'events', 'id', 'name', 'secretMasked', 'status', 'url']) }],
  ['everything that is missing is named', 'webhooks.create', {}, faults(['name', 'required'], ['url', 'required'], ['events', 'required'])],
  ['a webhook is told of something', 'webhooks.create', hook({ events: [] }), faults(['events', 'too_small'])],
  ['an unknown event kind is named by its place', 'webhooks.create', hook({ events: ['payment.completed', 'payment.lost', 7] }), faults(['events.1', 'invalid_value'], ['events.2', 'invalid_value'])],
  ['events are a list', 'webhooks.create', hook({ events: 'payment.completed' }), faults(['events', 'invalid_type'])],
  ['an event kind that is named twice counts once', 'webhooks.create', hook({ events: ['payment.received', 'payment.received'] }), ok({ events: ['payment.received'] })],
  ...(['http://shop.example/hook', 'https://user:pass@shop.example/', 'ftp://shop.example', 'shop', ''].map((url) => [
    `"${url}" is no webhook URL`,
    'webhooks.create',
    hook({ url }),
    faults(['url', 'invalid_format']),
  ]) as Case[]),
  ['a private address is refused when it is called, not when it is made', 'webhooks.create', hook({ url: 'https://10.0.0.1/hook' }), ok({ url: 'https://10.0.0.1/hook' })],
  ['a webhook is paused', 'webhooks.update', madeHook({ status: 'PAUSED' }), ok({ status: 'PAUSED' })],
  ['a webhook is changed', 'webhooks.update', madeHook({ name: 'b', url: 'https://b.example/', events: ['payment.received'] }), ok({ name: 'b', url: 'https://b.example/', events: ['payment.received'], status: 'ACTIVE' })],
  ['an empty PATCH of a webhook changes nothing', 'webhooks.update', madeHook(), ok(hook())],
  ['a secret is not chosen', 'webhooks.update', madeHook({ secret: 'whsec_x', secretMasked: 'x' }), faults(['secret', 'unrecognized_key'], ['secretMasked', 'unrecognized_key'])],
  ['OFF is no status', 'webhooks.update', madeHook({ status: 'OFF' }), faults(['status', 'invalid_value'])],
  ['an unknown webhook is not found', 'webhooks.get', { id: 'hook_x' }, refused('not_found')],
  ['an unknown webhook is not changed', 'webhooks.update', { id: 'hook_x', name: 'a' }, refused('not_found')],
  ['rotating shows a new secret', 'webhooks.rotateSecret', madeHook(), ok({ secret: /^whsec_/ })],
  ['an unknown webhook has no secret to rotate', 'webhooks.rotateSecret', { id: 'hook_x' }, refused('not_found')],
  ['older secrets are ended, also when there are none', 'webhooks.deletePreviousSecret', madeHook(), ok({ deleted: true })],
  ['an unknown webhook has no older secrets', 'webhooks.deletePreviousSecret', { id: 'hook_x' }, refused('not_found')],
  ['a webhook that never sent anything is idle', 'webhooks.health', madeHook(), ok({ state: 'IDLE', pending: 0, lastError: null })],
  ['an unknown webhook has no health', 'webhooks.health', { id: 'hook_x' }, refused('not_found')],
  ['without failed deliveries nothing is sent again', 'webhooks.replay', madeHook(), ok({ replayed: 0 })],
  ['an unknown webhook sends nothing again', 'webhooks.replay', { id: 'hook_x' }, refused('not_found')],
  ['a replay is of FAILED or ALL', 'webhooks.replay', async (world) => ({ ...(await madeHook()(world)), status: 'SOME' }), faults(['status', 'invalid_value'])],
  ['a test says what came back', 'webhooks.test', ({ webhook }) => ({ id: webhook.id }), ok({ responseStatus: null, error: String })],
  ['an unknown webhook is not tested', 'webhooks.test', { id: 'hook_x' }, refused('not_found')],
  ['a webhook is deleted', 'webhooks.delete', madeHook(), ok({ deleted: true })],
  ['an unknown webhook is not deleted', 'webhooks.delete', { id: 'hook_x' }, refused('not_found')],
  ['deliveries of a webhook are listed', 'webhooks.deliveries', ({ webhook }) => ({ id: webhook.id }), { check: ({ data, meta }, _world, t) => t.ok(data.length >= 4 && meta!.total === data.length) }],
  ['deliveries are filtered by status', 'webhooks.deliveries', ({ webhook }) => ({ id: webhook.id, status: 'CANCELLED' }), ok([])],
  ['an unknown status of deliveries is refused', 'webhooks.deliveries', ({ webhook }) => ({ id: webhook.id, status: 'LOST' }), refused('bad_request')],
  ['deliveries of an unknown webhook are not found', 'webhooks.deliveries', { id: 'hook_x' }, refused('not_found')],
  ['a delivery is read', 'deliveries.get', async ({ make, webhook }) => ({ id: (await make('webhooks.deliveries', { id: webhook.id }))[0].id }), { check: ({ data }, { webhook }, t) => t.match(data, { id: /^dlv_/, webhookId: webhook.id, status: 'PENDING' }) }],
  ['a delivery is sent again', 'deliveries.redeliver', async ({ make, webhook }) => ({ id: (await make('webhooks.deliveries', { id: webhook.id }))[0].id }), ok({ status: 'PENDING' })],
  ['an unknown delivery is not found', 'deliveries.get', { id: 'dlv_x' }, refused('not_found')],
  ['an unknown delivery is not sent', 'deliveries.redeliver', { id: 'dlv_x' }, refused('not_found')],
];

// biome-ignore format: one case a line
const money: Case[] = [
  [
    'a payment has exactly the documented fields',
    'payments.get',
    ({ completed }) => ({ id: completed.id }),
    {
      check: ({ data }, { link, product, wallet }, t) => {
        const {
          id,
          senderAddress,
          transactionHash,
          operationId,
          ledger: sequence,
          ledgerClosedAt,
          createdAt,
          ...rest
        } = data;
        t.match({ id, operationId, senderAddress }, { id: /^pay_/, operationId: /^\d+$/, senderAddress: /^G/ });
        t.match({ transactionHash, sequence }, { transactionHash: /^[0-9a-f]{64}$/, sequence: Number });
        t.match({ ledgerClosedAt, createdAt }, { ledgerClosedAt: /Z$/, createdAt: /Z$/ });
        t.strictSame(rest, {
          status: 'COMPLETED',
          reason: null,
          amount: '25',
          assetCode: 'XLM',
          assetIssuer: null,
          expectedAmount: '25',
          excessAmount: null,
          shortfallAmount: null,
          memo: link.memo,
          memoType: "text",
          destinationMuxedId: null,
          senderMuxedAddress: null,
          receiverAddress: wallet.address,
          network: 'LOCAL',
          paymentLinkId: link.id,
          checkoutId: null,
          product: summaryOf(product),
          walletId: wallet.id,
          explorerUrl: null,
          needsDecision: false,
          decisionNote: null,
          value: null,
          refundedAmount: '0',
          refunds: [],
        });
      },
    },
  ],
  ['an unknown payment is not found', 'payments.get', { id: 'pay_x' }, refused('not_found')],
  [
    'instructions say how to pay a link',
    'paymentLinks.instructions',
    ({ link }) => ({ id: link.id }),
    {
      check: ({ data }, { link, wallet }, t) =>
        t.match(data, { address: wallet.address, memo: link.memo, amount: '25', qrSvg: /^<svg/, pageUrl: link.url }),
    },
  ],
  [
    'an amount for a fixed price is refused',
    'paymentLinks.instructions',
    ({ link }) => ({ id: link.id, amount: '25' }),
    refused('bad_request'),
  ],
  [
    'instructions take no amount that is none',
    'paymentLinks.instructions',
    ({ link }) => ({ id: link.id, amount: 'seven' }),
    refused('bad_request'),
  ],
  ['an unknown link has no instructions', 'paymentLinks.instructions', { id: 'link_x' }, refused('not_found')],
  [
    'a refund is a request that sends the payment back',
    'payments.refund',
    ({ completed }) => ({ id: completed.id }),
    {
      check: ({ data }, { completed }, t) =>
        t.match(data, {
          uri: /^web\+stellar:pay\?/,
          destination: completed.senderAddress,
          amount: '25',
          assetCode: 'XLM',
          assetIssuer: null,
        }),
    },
  ],
  ['a part of a refund is no more than is left', 'payments.refund', ({ completed }) => ({ id: completed.id, amount: '25.1' }), refused('bad_request')],
  ['a part of a refund is an amount', 'payments.refund', ({ completed }) => ({ id: completed.id, amount: '0' }), refused('bad_request')],
  ['a wallet holds lumens', 'wallets.assets', ({ wallet }) => ({ id: wallet.id }), { check: ({ data }, _, t) => t.match(data, [{ assetCode: 'XLM', assetIssuer: null, authorized: true, known: null }]) }],
  ['an unknown wallet holds nothing', 'wallets.assets', { id: 'wallet_x' }, refused('not_found')],
  ['an unknown payment has no refund', 'payments.refund', { id: 'pay_x' }, refused('not_found')],
  [
    'a proof of a payment is made when it is asked for',
    'payments.proof',
    ({ completed }) => ({ id: completed.id, level: 'ledger' }),
    {
      check: ({ data }, { completed }, t) =>
        t.match(data, {
          state: 'READY',
          level: 'ledger',
          reason: null,
          retryAfterSeconds: null,
          proof: { claim: { amount: '25', transactionHash: completed.transactionHash }, statement: { keyId: 'whk_1' } },
        }),
    },
  ],
  ['a proof has one of two levels', 'payments.proof', ({ completed }) => ({ id: completed.id, level: 'best' }), refused('bad_request')],
  ['an unknown payment has no proof', 'payments.proof', { id: 'pay_x' }, refused('not_found')],
  [
    'unmatched payments are listed only when asked for',
    'payments.list',
    {},
    {
      check: ({ data, meta }, _world, t) => {
        t.same(data.map((payment: any) => payment.status).sort(), ['COMPLETED', 'REJECTED', 'UNDERPAID']);
        t.equal(meta!.total, 3);
      },
    },
  ],
  ['several statuses are asked for at once', 'payments.list', { status: ['UNMATCHED', 'UNDERPAID'] }, { check: ({ data }, _world, t) => t.same(data.map((payment: any) => payment.status).sort(), ['UNDERPAID', 'UNMATCHED']) }],
  [
    'payments come newest first',
    'payments.list',
    everyStatus,
    {
      check: ({ data }, _world, t) => {
        const ids = data.map((payment: any) => payment.id);
        t.same(ids, [...ids].sort().reverse());
      },
    },
  ],
  ['payments of a product', 'payments.list', ({ custom }) => ({ productId: custom.id }), ok([])],
  ['payments of a link', 'payments.list', ({ link }) => ({ paymentLinkId: link.id }), { check: ({ data }, _world, t) => t.equal(data.length, 2) }],
  ['payments of a wallet', 'payments.list', ({ wallet }) => ({ walletId: wallet.id, ...everyStatus }), { check: ({ data }, _world, t) => t.equal(data.length, 4) }],
  ['payments of an asset', 'payments.list', { assetCode: 'USDC' }, ok([])],
  ['payments of a sender', 'payments.list', ({ completed }) => ({ senderAddress: completed.senderAddress, transactionHash: completed.transactionHash }), { check: ({ data }, _world, t) => t.equal(data.length, 1) }],
  [
    'createdFrom counts, createdTo does not',
    'payments.list',
    ({ completed }) => ({
      createdFrom: completed.createdAt,
      createdTo: new Date(Date.parse(completed.createdAt) + 1).toISOString(),
    }),
    { check: ({ data }, { completed }, t) => t.ok(data.some((payment: any) => payment.id === completed.id)) },
  ],
  ['createdTo is exclusive', 'payments.list', ({ completed }) => ({ createdTo: completed.createdAt, transactionHash: completed.transactionHash }), ok([])],
  ['a date alone is midnight', 'payments.list', { createdFrom: '2000-01-01', createdTo: '2000-01-02' }, ok([])],
  ['an offset is understood', 'payments.list', { createdFrom: '2000-01-01T00:00:00+02:00', createdTo: '2000-01-02T00:00:00Z' }, ok([])],
  ['a moment must be one', 'payments.list', { createdFrom: 'yesterday' }, refused('bad_request')],
  ['the 30th of February is no date', 'payments.list', { createdFrom: '2026-02-30' }, refused('bad_request')],
  ['an unknown status is refused', 'payments.list', { status: ['LOST'] }, refused('bad_request')],
  ['a COMPLETED payment cannot be accepted', 'payments.accept', ({ completed }) => ({ id: completed.id }), refused('conflict')],
  ['an UNMATCHED payment cannot be accepted', 'payments.accept', ({ unmatched }) => ({ id: unmatched.id }), refused('conflict')],
  ['an unknown payment cannot be accepted', 'payments.accept', { id: 'pay_x' }, refused('not_found')],
  ['payments are searched by words', 'payments.list', ({ link }) => ({ search: `${link.memo.slice(0, 6).toLowerCase()} t-sh` }), { check: ({ data }, { link }, t) => t.ok(data.length >= 2 && data.every(({ paymentLinkId }: any) => paymentLinkId === link.id)) }],
  ['what no word begins with is not found', 'payments.list', { search: 'shirtless' }, ok([])],
  ['a search is not blank', 'payments.list', { search: ' ' }, refused('bad_request')],
  ['checkouts are searched by words', 'checkouts.list', { search: 'nothing-like-this' }, ok([])],
  ['a user is invited', 'users.create', { name: 'Ana', role: 'CASHIER', email: 'ana@shop.example' }, { check: ({ data }, _, t) => t.match(data, { id: /^user_/, name: 'Ana', role: 'CASHIER', email: 'ana@shop.example', status: 'INVITED', url: /\/dashboard\/invite\//, expiresAt: String }) }],
  ['a user has a role', 'users.create', { name: 'Ana', role: 'KING' }, faults(['role', 'invalid_value'])],
  ['a user has a name and a role', 'users.create', {}, faults(['name', 'required'], ['role', 'required'])],
  ['an e-mail address has a form', 'users.create', { name: 'Ana', role: 'VIEWER', email: 'ana' }, faults(['email', 'invalid_format'])],
  ['users are listed', 'users.list', {}, { check: ({ data }, _, t) => t.match(data[0], { name: 'Ana', status: 'INVITED' }) }],
  ['one user is shown', 'users.get', async ({ make }) => ({ id: (await make('users.create', { name: 'Ben', role: 'VIEWER' })).id }), ok({ name: 'Ben', role: 'VIEWER', email: null, status: 'INVITED' })],
  ['an unknown user is not shown', 'users.get', { id: 'user_x' }, refused('not_found')],
  ['a user is changed', 'users.update', async ({ make }) => ({ id: (await make('users.create', { name: 'Ben', role: 'VIEWER' })).id, role: 'MANAGER', email: null }), ok({ name: 'Ben', role: 'MANAGER', email: null })],
  ['an unknown user is not changed', 'users.update', { id: 'user_x', name: 'x' }, refused('not_found')],
  ['a user is removed', 'users.delete', async ({ make }) => ({ id: (await make('users.create', { name: 'Ben', role: 'VIEWER' })).id }), ok({ deleted: true })],
  ['the last OWNER stays', 'users.delete', async ({ make }) => ({ id: (await make('users.create', { name: 'Ona', role: 'OWNER' })).id }), refused('conflict')],
  ['an unknown user is not removed', 'users.delete', { id: 'user_x' }, refused('not_found')],
  ['a user is invited again', 'users.invite', async ({ make }) => ({ id: (await make('users.create', { name: 'Ben', role: 'VIEWER' })).id }), ok({ url: /\/dashboard\/invite\//, expiresAt: String })],
  ['an unknown user is not invited', 'users.invite', { id: 'user_x' }, refused('not_found')],
  ['passkeys are listed', 'users.passkeys', async ({ make }) => ({ id: (await make('users.create', { name: 'Ben', role: 'VIEWER' })).id }), { check: ({ data }, _, t) => t.same(data, []) }],
  ['an unknown user has no passkeys', 'users.passkeys', { id: 'user_x' }, refused('not_found')],
  ['an unknown passkey is not removed', 'users.deletePasskey', async ({ make }) => ({ id: (await make('users.create', { name: 'Ben', role: 'VIEWER' })).id, passkeyId: 'x' }), refused('not_found')],
  ['a COMPLETED payment is not dismissed', 'payments.dismiss', ({ completed }) => ({ id: completed.id }), refused('conflict')],
  ['an unknown payment is not dismissed', 'payments.dismiss', { id: 'pay_x', note: null }, refused('not_found')],
  ['a note has 500 characters', 'payments.dismiss', ({ rejected }) => ({ id: rejected.id, note: 'é'.repeat(501) }), faults(['note', 'too_big'])],
  ['a note is not blank', 'payments.dismiss', ({ rejected }) => ({ id: rejected.id, note: ' ' }), faults(['note', 'too_small'])],
  ['a REJECTED payment is dismissed', 'payments.dismiss', ({ rejected }) => ({ id: rejected.id, note: 'a tip' }), ok({ status: 'REJECTED', needsDecision: false, decisionNote: 'a tip' })],
  ['a dismissed payment stays as it is', 'payments.dismiss', ({ rejected }) => ({ id: rejected.id, note: 'another' }), ok({ decisionNote: 'a tip' })],
  ['payments that need a decision are listed whatever their status', 'payments.list', { needsDecision: true }, { check: ({ data, meta }, { underpaid, unmatched }, t) => {
    t.same(data.map(({ id }: any) => id).sort(), [underpaid.id, unmatched.id].sort());
    t.equal(meta!.total, 2);
  } }],
  ['those of one status', 'payments.list', { needsDecision: true, status: ['UNMATCHED'] }, { check: ({ data }, { unmatched }, t) => t.same(data.map(({ id }: any) => id), [unmatched.id]) }],
  ['the others are listed', 'payments.list', { needsDecision: false, status: ['REJECTED', 'UNDERPAID'] }, { check: ({ data }, { rejected }, t) => t.same(data.map(({ id }: any) => id), [rejected.id]) }],
  ['an UNDERPAID payment is accepted', 'payments.accept', ({ underpaid }) => ({ id: underpaid.id }), ok({ status: 'COMPLETED', reason: null, shortfallAmount: '0.5' })],
  ['a REJECTED payment is accepted', 'payments.accept', ({ rejected }) => ({ id: rejected.id }), ok({ status: 'COMPLETED', reason: null })],
  ['a transaction that is not on the ledger refunds nothing', 'payments.addRefund', ({ completed }) => ({ id: completed.id, transactionHash: 'ab'.repeat(32) }), refused('conflict')],
  ['an unknown payment has no refunds', 'payments.addRefund', { id: 'pay_x', transactionHash: 'ab'.repeat(32) }, refused('not_found')],
  ['a transaction hash has 64 digits', 'payments.addRefund', ({ completed }) => ({ id: completed.id, transactionHash: 'abc' }), faults(['transactionHash', 'invalid_format'])],
  [
    'money that was sent back without the memo is booked by its transaction',
    'payments.addRefund',
    async ({ rejected, walletSecret }) => {
      const back = Operation.payment({ destination: rejected.senderAddress, asset: Asset.native(), amount: '5' });
      const { hash } = await ledger.submit({ from: Keypair.fromSecret(walletSecret), operations: [back] });
      return { id: rejected.id, transactionHash: hash };
    },
    ok({ refundedAmount: '5', refunds: [{ amount: '5' }] }),
  ],
  ['a matched payment is not assigned', 'payments.assign', ({ completed, link }) => ({ id: completed.id, paymentLinkId: link.id }), refused('conflict')],
  ['a payment is assigned to a link', 'payments.assign', ({ unmatched }) => ({ id: unmatched.id }), faults(['paymentLinkId', 'required'])],
  ['an unknown link is a fault of the body', 'payments.assign', ({ unmatched }) => ({ id: unmatched.id, paymentLinkId: 'link_x' }), faults(['paymentLinkId', 'not_found'])],
  ['a fault of the body is told before an unknown payment', 'payments.assign', { id: 'pay_x', paymentLinkId: 'link_x' }, faults(['paymentLinkId', 'not_found'])],
  ['an unknown payment is not assigned', 'payments.assign', ({ link }) => ({ id: 'pay_x', paymentLinkId: link.id }), refused('not_found')],
  ['an UNMATCHED payment is judged when it is assigned', 'payments.assign', ({ unmatched, link }) => ({ id: unmatched.id, paymentLinkId: link.id }), ok({ status: 'UNDERPAID', reason: 'below_price', shortfallAmount: '22' })],
  [
    'events come newest first',
    'events.list',
    {},
    {
      check: ({ data }, _world, t) => {
        const ids = data.map((event: any) => event.id);
        t.ok(ids.length >= 4);
        t.same(ids, [...ids].sort().reverse());
      },
    },
  ],
  [
    'events come oldest first when asked for',
    'events.list',
    { order: 'asc', type: 'payment.received' },
    {
      check: ({ data }, _world, t) => {
        const ids = data.map((event: any) => event.id);
        t.same(ids, [...ids].sort());
        t.ok(data.every((event: any) => event.type === 'payment.received'));
      },
    },
  ],
  [
    'events of a payment',
    'events.list',
    ({ completed }) => ({ paymentId: completed.id }),
    {
      check: ({ data }, { completed }, t) => {
        t.same(data.map((event: any) => event.type).sort(), ['payment.completed', 'payment.received']);
        t.ok(data.every((event: any) => event.data.payment.id === completed.id));
      },
    },
  ],
  ['events of a time', 'events.list', { createdTo: '2000-01-01' }, ok([])],
  ['an unknown event kind is refused', 'events.list', { type: 'payment.lost' }, refused('bad_request')],
  ['an unknown order is refused', 'events.list', { order: 'random' }, refused('bad_request')],
  ['an event is read', 'events.get', async ({ make }) => ({ id: (await make('events.list'))[0].id }), ok({ id: /^evt_/, data: { payment: {}, paymentLink: {}, product: {} } })],
  ['an unknown event is not found', 'events.get', { id: 'evt_x' }, refused('not_found')],
];

// biome-ignore format: one case a line
const keys: Case[] = [
  [
    'the account is the caller’s',
    'account.get',
    {},
    {
      check: ({ data }, _world, t) => {
        t.same(Object.keys(data).sort(), ['booksCurrency', 'brand', 'createdAt', 'embedOrigins', 'id', 'name', 'onboarding', 'rateMarkupPercent', 'tipPercents', 'tolerancePercent']);
        t.same(data.brand, { name: null, logoUrl: null, color: null, supportUrl: null, supportEmail: null });
        t.match(data.id, /^acct_/);
      },
    },
  ],
  ['no change of the account', 'account.update', {}, ok({ brand: { name: null } })],
  ['the first steps are put away', 'account.update', { onboarding: 'hidden' }, ok({ onboarding: 'hidden' })],
  ['and shown again', 'account.update', { onboarding: 'shown' }, ok({ onboarding: 'shown' })],
  ['they are shown or hidden', 'account.update', { onboarding: 'gone' }, faults(['onboarding', 'invalid_value'])],
  ['what is left until the account can be paid', 'account.readiness', {}, ok([{ step: 'wallet' }, { step: 'product' }, { step: 'link' }, { step: 'payment' }, { step: 'told' }, { step: 'access', done: false }])],
  ['a brand is set', 'account.update', { brand: { name: 'Bean & Leaf', color: '#1b6E4b', supportEmail: 'help@shop.example' } }, ok({ brand: { name: 'Bean & Leaf', logoUrl: null, color: '#1b6E4b', supportUrl: null, supportEmail: 'help@shop.example' } })],
  ['a brand changes the fields that it names', 'account.update', { brand: { logoUrl: 'https://shop.example/logo.png', name: null } }, ok({ brand: { name: null, logoUrl: 'https://shop.example/logo.png', color: '#1b6E4b' } })],
  ['an empty brand changes nothing', 'account.update', { brand: {} }, ok({ brand: { color: '#1b6E4b' } })],
  ['every fault of a brand is named', 'account.update', { brand: { name: ' ', logoUrl: 'http://shop.example/a.png', color: 'green', supportUrl: 'javascript:alert(1)', supportEmail: 'a@b?cc=x', slogan: 'x' } }, faults(['brand.name', 'too_small'], ['brand.logoUrl', 'invalid_format'], ['brand.color', 'invalid_format'], ['brand.supportUrl', 'invalid_format'], ['brand.supportEmail', 'invalid_format'], ['brand.slogan', 'unrecognized_key'])],
  ...(['#12345', '#1234567', '1b6e4b', '#gggggg', '#fff', 'red'].map((color): Case => [`${color} is no color`, 'account.update', { brand: { color } }, faults(['brand.color', 'invalid_format'])])),
  ['a brand is an object', 'account.update', { brand: null }, faults(['brand', 'invalid_type'])],
  ['nothing is told by e-mail at first, and a service without a mail server says so', 'notifications.get', {}, ok({ recipients: [], kinds: [], sending: false, lastFailure: null })],
  ['what is told by e-mail, and whom', 'notifications.set', { recipients: ['a@shop.example', 'A@shop.example', 'b@shop.example'], kinds: ['wallet.gap', 'payment.completed', 'wallet.gap'] }, ok({ recipients: ['a@shop.example', 'b@shop.example'], kinds: ['payment.completed', 'wallet.gap'], sending: false })],
  ['both lists are needed', 'notifications.set', {}, faults(['recipients', 'required'], ['kinds', 'required'])],
  ['every fault of notifications is named', 'notifications.set', { recipients: ['a@shop.example\r\nBcc: b@shop.example', 'a@shop.example, b@shop.example'], kinds: ['payment.received'], to: 'x' }, faults(['recipients.0', 'invalid_format'], ['recipients.1', 'invalid_format'], ['kinds.0', 'invalid_value'], ['to', 'unrecognized_key'])],
  ['21 recipients are too many', 'notifications.set', { recipients: Array.from({ length: 21 }, (_, n) => `a${n}@shop.example`), kinds: [] }, faults(['recipients', 'too_big'])],
  ['notifications stay as they were', 'notifications.get', {}, ok({ recipients: ['a@shop.example', 'b@shop.example'], kinds: ['payment.completed', 'wallet.gap'] })],
  ['a name of the account is not chosen here', 'account.update', { name: 'x' }, faults(['name', 'unrecognized_key'])],
  [
    'a new API key is shown once',
    'apiKeys.create',
    { name: 'shop', expiresAt: '2099-01-01T00:00:00Z' },
    {
      check: ({ data }, _world, t) => {
        t.match(data.key, /^sk_[0-9A-Za-z]{43}$/);
        t.equal(data.keyMasked, `${data.key.slice(0, 6)}…${data.key.slice(-4)}`);
        t.match(data, { id: /^key_/, scope: 'FULL', lastUsedAt: null, expiresAt: '2099-01-01T00:00:00.000Z' });
      },
    },
  ],
  ['a key may only read', 'apiKeys.create', { name: 'r', scope: 'READ', expiresAt: null }, ok({ scope: 'READ', expiresAt: null })],
  ['a key needs a name', 'apiKeys.create', {}, faults(['name', 'required'])],
  ['a key has a known scope', 'apiKeys.create', { name: 'a', scope: 'WRITE' }, faults(['scope', 'invalid_value'])],
  ['a key does not expire in the past', 'apiKeys.create', { name: 'a', expiresAt: '2001-01-01T00:00:00Z' }, faults(['expiresAt', 'too_small'])],
  ['an expiry in the past is listed with the other faults', 'apiKeys.create', { name: '', expiresAt: '2001-01-01', foo: 1 }, faults(['name', 'too_small'], ['expiresAt', 'too_small'], ['foo', 'unrecognized_key'])],
  ['a faulty expiry is one fault', 'apiKeys.create', { expiresAt: '2001' }, faults(['name', 'required'], ['expiresAt', 'invalid_format'])],
  ['an expiry is a moment', 'apiKeys.create', { name: 'a', expiresAt: 'soon' }, faults(['expiresAt', 'invalid_format'])],
  ['a key is not chosen', 'apiKeys.create', { name: 'a', key: 'sk_mine' }, faults(['key', 'unrecognized_key'])],
  ['listed keys are masked', 'apiKeys.list', {}, { check: ({ data }, _world, t) => t.ok(data.length > 1 && data.every((key: any) => !('key' in key))) }],
  ['a key is rotated', 'apiKeys.rotate', async ({ make }) => ({ id: (await make('apiKeys.create', { name: 'a' })).id }), ok({ key: /^sk_/ })],
  ['a key is revoked', 'apiKeys.delete', async ({ make }) => ({ id: (await make('apiKeys.create', { name: 'a' })).id }), ok({ deleted: true })],
  ['an unknown key is not rotated', 'apiKeys.rotate', { id: 'key_x' }, refused('not_found')],
  ['an unknown key is not revoked', 'apiKeys.delete', { id: 'key_x' }, refused('not_found')],
];

const bad = refused('bad_request');
const pages: Case[] = [...operations]
  .filter(([, { isList }]) => isList)
  .flatMap(([name, operation]): Case[] => {
    const at = (query: Input) => (world: World) =>
      'id' in operation.params
        ? { id: (name.startsWith('wallets.') ? world.wallet : world.webhook).id, ...query }
        : query;
    return [
      [
        `${name}: the first page has 20 items at most`,
        name,
        at({}),
        {
          check: ({ data, meta }, _world, t) =>
            t.match(meta, { page: 1, pageSize: 20, total: Number, totalPages: Math.ceil(meta!.total / 20) }) &&
            t.equal(data.length, Math.min(20, meta!.total)),
        },
      ],
      [
        `${name}: a page past the end is empty, with the right meta`,
        name,
        at({ page: 900, pageSize: 1 }),
        {
          check: ({ data, meta }, _world, t) => {
            t.same(data, []);
            t.match(meta, { page: 900, pageSize: 1 });
            t.equal(meta!.totalPages, meta!.total);
          },
        },
      ],
      [
        `${name}: 100 items are a page`,
        name,
        at({ pageSize: 100 }),
        { check: ({ meta }, _world, t) => t.equal(meta!.pageSize, 100) },
      ],
      [`${name}: page 0 is refused`, name, at({ page: 0 }), bad],
      [`${name}: page -1 is refused`, name, at({ page: -1 }), bad],
      [`${name}: page 1.5 is refused`, name, at({ page: 1.5 }), bad],
      [`${name}: page "x" is refused`, name, at({ page: 'x' }), bad],
      [`${name}: 0 items are no page`, name, at({ pageSize: 0 }), bad],
      [`${name}: 101 items are too many`, name, at({ pageSize: 101 }), bad],
      [`${name}: an unknown parameter is refused`, name, at({ foo: 'bar' }), bad],
    ];
  });

/** A product like this one. */
const sold = ({ wallet, assetCode, priceType, price }: any) => ({
  walletId: wallet.id,
  assetCode,
  priceType,
  price,
});

// biome-ignore format: one case a line
const lists: Case[] = [
  ['products are found by a part of their name, whatever its case', 'products.list', { search: 'dONAT' }, { check: ({ data }, _world, t) => t.same(data.map((product: any) => product.name), ['Donation']) }],
  ['products are found without marks and case', 'products.list', async ({ make, product }) => {
    const { id } = await make('products.create', { ...sold(product), name: 'Οδόσα 12' });
    await make('products.update', { id, name: 'ΟΔΌΣΑ 12' });
    await make('products.create', { ...sold(product), name: 'İstanbul Straße' });
    return { search: 'οδός' };
  }, { check: ({ data }, _world, t) => t.same(data.map(({ name }: any) => name), ['ΟΔΌΣΑ 12']) }],
  ['links are found by their product’s name without marks and case', 'paymentLinks.list', async ({ make, product }) => {
    const { id } = await make('products.create', { ...sold(product), name: 'İstanbul Straße' });
    await make('paymentLinks.create', { productId: id });
    return { search: 'istanbul STRASSE' };
  }, { check: ({ data }, _world, t) => t.same(data.map(({ product }: any) => product.name), ['İstanbul Straße']) }],
  ...(['.*', '^T', '[a-z]', '(', '\\', '$', 'T|D', '%', '_', 'T-shirt$'].map((search) => [
    `"${search}" is searched as it is`,
    'products.list',
    { search },
    ok([]),
  ]) as Case[]),
  ['an empty search finds everything', 'products.list', { search: '' }, { check: ({ meta }, _world, t) => t.ok(meta!.total > 1) }],
  ['a search of 201 characters is refused', 'products.list', { search: 'a'.repeat(201) }, bad],
  ['active products', 'products.list', { active: true, pageSize: 100 }, { check: ({ data }, _world, t) => t.ok(data.length > 0 && data.every((product: any) => product.active)) }],
  ['inactive products', 'products.list', { active: false }, { check: ({ data }, _world, t) => t.ok(data.length > 0 && data.every((product: any) => !product.active)) }],
  ['banana is no boolean', 'products.list', { active: 'banana' }, bad],
  [
    'products are sorted by name',
    'products.list',
    { sortBy: 'name', sortOrder: 'asc', pageSize: 100 },
    {
      check: ({ data }, _world, t) => {
        const names = data.map((product: any) => product.name.toLowerCase());
        t.same(names, [...names].sort());
      },
    },
  ],
  [
    'products come newest first',
    'products.list',
    { pageSize: 100 },
    {
      check: ({ data }, _world, t) => {
        const ids = data.map((product: any) => product.id);
        t.same(ids, [...ids].sort().reverse());
      },
    },
  ],
  [
    'oldest first',
    'products.list',
    { sortOrder: 'asc', pageSize: 100 },
    {
      check: ({ data }, _world, t) => {
        const ids = data.map((product: any) => product.id);
        t.same(ids, [...ids].sort());
      },
    },
  ],
  ['an unknown sort field is refused', 'products.list', { sortBy: 'price' }, bad],
  ['an unknown sort direction is refused', 'products.list', { sortOrder: 'up' }, bad],
  ['links of a product', 'paymentLinks.list', ({ custom }) => ({ productId: custom.id }), { check: ({ data }, { custom }, t) => t.ok(data.length > 0 && data.every((link: any) => link.product.id === custom.id)) }],
  ['links are found by their memo', 'paymentLinks.list', ({ link }) => ({ search: link.memo.slice(1).toLowerCase() }), { check: ({ data }, { link }, t) => t.same(data.map(({ id }: any) => id), [link.id]) }],
  ['links are found by their name, without marks and case', 'paymentLinks.list', { search: 'THEK' }, { check: ({ data }, _world, t) => t.same(data.map(({ name }: any) => name), ['Théke']) }],
  ['links are found by the name that they have now', 'paymentLinks.list', async ({ make, product }) => {
    const { id } = await make('paymentLinks.create', { productId: product.id, name: 'Foremost' });
    await make('paymentLinks.update', { id, name: 'Hindmost' });
    return { search: 'most' };
  }, { check: ({ data }, _world, t) => t.same(data.map(({ name }: any) => name), ['Hindmost']) }],
  ['links are found by their slug', 'paymentLinks.list', ({ link }) => ({ search: link.slug }), { check: ({ data }, { link }, t) => t.same(data.map(({ id }: any) => id), [link.id]) }],
  ['links are found by their product’s name', 'paymentLinks.list', { search: 'nation' }, { check: ({ data }, _world, t) => t.ok(data.length > 0 && data.every((link: any) => link.product.name === 'Donation')) }],
  ['inactive links', 'paymentLinks.list', { active: false }, { check: ({ data }, _world, t) => t.ok(data.length > 0 && data.every((link: any) => !link.active)) }],
  ['links of an unknown product', 'paymentLinks.list', { productId: 'prod_x' }, ok([])],
];

const order =
  (changes: Input = {}) =>
  ({ product }: World): Input => ({ productId: product.id, ...changes });
const orderOf =
  (changes: Input = {}) =>
  ({ custom }: World): Input => ({ productId: custom.id, ...changes });
const plainOrder =
  (changes: Input = {}) =>
  ({ wallet }: World): Input => ({
    walletId: wallet.id,
    name: 'Order 7',
    assetCode: 'XLM',
    amount: '9.50',
    ...changes,
  });
/** A checkout of lines. */
const basket =
  (lines: Input[], changes: Input = {}) =>
  ({ wallet }: World): Input => ({ walletId: wallet.id, assetCode: 'XLM', lines, ...changes });
const tea = (changes: Input = {}): Input => ({ name: 'Tea', price: '2.5', ...changes });
/** A line of a product that was made so. */
const soldAs =
  (product: (world: World) => Input, changes: Input = {}) =>
  async (world: World) =>
    basket([{ productId: (await world.make('products.create', product(world))).id }], changes)(world);
/** A new checkout, and what is asked of it. */
const ordered =
  (changes: Input = {}, more: Input = {}) =>
  async (world: World): Promise<Input> => ({
    id: (await world.make('checkouts.create', order(changes)(world))).id,
    ...more,
  });
/** A new checkout that a part was paid of. */
const partlyPaid = async (world: World): Promise<Input> => {
  const { id, memo } = await world.make('checkouts.create', order()(world));
  await ledger.pay({ to: world.wallet.address, amount: '10', memo });
  await eventually(async () => (await world.make('payments.list', { checkoutId: id })).length === 1, 'a part');
  return { id };
};
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));

// biome-ignore format: one case a line
const orders: Case[] = [
  ['lines of names and prices', 'checkouts.create', basket([tea({ quantity: 2, taxPercent: '7.00' }), { name: 'Cup', price: '10', taxPercent: '19' }], { reference: 'b-1' }), ok({ name: 'Tea, Cup', product: null, quantity: null, amount: '15', price: null, lines: [{ productId: null, name: 'Tea', quantity: 2, price: '2.5', taxPercent: '7', total: '5' }, { productId: null, name: 'Cup', quantity: 1, price: '10', taxPercent: '19', total: '10' }], subtotal: '15', discountAmount: '0', discountName: null, taxAmount: '1.9237415', tipAmount: '0', total: '15', remainingAmount: '15' })],
  ['a line of a product has its name and price', 'checkouts.create', ({ wallet, product }) => ({ walletId: wallet.id, assetCode: 'XLM', name: 'Table 4', lines: [{ productId: product.id, quantity: 2 }, tea()] }), ok({ name: 'Table 4', product: null, amount: '52.5', lines: [{ name: 'T-shirt', quantity: 2, price: '25', total: '50' }, { name: 'Tea' }] })],
  ['discount, tax on top and tip', 'checkouts.create', basket([tea({ quantity: 4, taxPercent: '10' })], { taxIncluded: false, discount: { name: 'Regulars', percent: '20' }, tip: '0.5' }), ok({ subtotal: '10', discountAmount: '2', discountName: 'Regulars', taxAmount: '0.8', tipAmount: '0.5', total: '9.3', amount: '9.3', taxIncluded: false })],
  ['a discount and a tip of a product', 'checkouts.create', order({ quantity: 2, discount: { amount: '10' }, tip: '1' }), ok({ amount: '41', quantity: 2, discountName: null, lines: [{ total: '50' }], total: '41' })],
  ['a discount of an order without lines', 'checkouts.create', plainOrder({ discount: { percent: '50' } }), ok({ amount: '4.75', lines: [{ name: 'Order 7', price: '9.5', total: '9.5' }] })],
  ['a discount is cut to what there is', 'checkouts.create', basket([tea()], { discount: { amount: '100' }, tip: '1' }), ok({ discountAmount: '2.5', total: '1' })],
  ['nothing left to pay is refused', 'checkouts.create', basket([tea()], { discount: { percent: '100' } }), faults(['lines', 'too_small'])],
  ['more than the ledger can hold is refused', 'checkouts.create', basket([tea({ price: '922337203685.4775807' }), tea()]), faults(['lines', 'too_big'])],
  ['no lines are refused', 'checkouts.create', basket([]), faults(['lines', 'too_small'])],
  ['50 lines', 'checkouts.create', basket(Array.from({ length: 50 }, () => tea())), ok({ total: '125' })],
  ['51 lines are refused', 'checkouts.create', basket(Array.from({ length: 51 }, () => tea())), faults(['lines', 'too_big'])],
  ['every fault of a line is told', 'checkouts.create', basket([tea({ price: '0', quantity: 10_001, taxPercent: '101' }), { quantity: 0, colour: 'red' }]), faults(['lines.0.price', 'too_small'], ['lines.0.quantity', 'too_big'], ['lines.0.taxPercent', 'invalid_format'], ['lines.1.quantity', 'too_small'], ['lines.1.colour', 'unrecognized_key'], ['lines.1.name', 'required'], ['lines.1.price', 'required'])],
  ['three decimals of a tax', 'checkouts.create', basket([tea({ taxPercent: '7.125' })]), ok({ lines: [{ taxPercent: '7.125' }] })],
  ...(['7.1251', '-1', '1e1', '', '100.001', '07'].map((taxPercent): Case => [`a tax of ${JSON.stringify(taxPercent)} is refused`, 'checkouts.create', basket([tea({ taxPercent })]), faults(['lines.0.taxPercent', 'invalid_format'])])),
  ...(['0', '100.01', '12.345', 'ten'].map((percent): Case => [`a discount of ${percent} percent is refused`, 'checkouts.create', basket([tea()], { discount: { percent } }), faults(['discount.percent', 'invalid_format'])])),
  ['a discount by percent and amount is refused', 'checkouts.create', basket([tea()], { discount: { percent: '1', amount: '1' } }), faults(['discount.amount', 'not_allowed'])],
  ['a discount of nothing is refused', 'checkouts.create', basket([tea()], { discount: { name: 'x' } }), faults(['discount.percent', 'required'])],
  ['a tip of nothing', 'checkouts.create', basket([tea()], { tip: '0' }), ok({ tipAmount: '0', total: '2.5' })],
  ['a tip below nothing is refused', 'checkouts.create', basket([tea()], { tip: '-1' }), faults(['tip', 'invalid_format'])],
  ['the lines say price and product', 'checkouts.create', basket([tea()], { productId: 'prod_01jd3k5v9ye6rbh2x7q0w4tznc', amount: '1', price: '1', quantity: 1 }), faults(['productId', 'not_allowed'], ['amount', 'not_allowed'], ['price', 'not_allowed'], ['quantity', 'not_allowed'])],
  ['lines need wallet and asset', 'checkouts.create', { lines: [tea()] }, faults(['walletId', 'required'], ['assetCode', 'required'])],
  ['a product says its name and price', 'checkouts.create', ({ wallet, product }) => ({ walletId: wallet.id, assetCode: 'XLM', lines: [{ productId: product.id, name: 'x', price: '1' }] }), faults(['lines.0.name', 'not_allowed'], ['lines.0.price', 'not_allowed'])],
  ['an unknown product of a line is refused', 'checkouts.create', basket([tea(), { productId: 'prod_01jd3k5v9ye6rbh2x7q0w4tznc' }]), faults(['lines.1.productId', 'not_found'])],
  ['a CUSTOM product is no line', 'checkouts.create', soldAs(donation()), faults(['lines.0.productId', 'not_allowed'])],
  ['a product in another asset is no line', 'checkouts.create', soldAs(token()), faults(['lines.0.productId', 'not_allowed'])],
  ['a product in another currency is no line', 'checkouts.create', soldAs(shirt({ currency: 'EUR' })), faults(['lines.0.productId', 'not_allowed'])],
  ['an inactive product of a line is refused', 'checkouts.create', soldAs(shirt({ active: false })), refused('conflict')],
  ['a line finer than its currency is refused', 'checkouts.create', basket([tea({ price: '1.005' })], { currency: 'EUR', tip: '0.001', discount: { amount: '0.009' } }), faults(['lines.0.price', 'invalid_format'], ['discount.amount', 'invalid_format'], ['tip', 'invalid_format'])],
  ['taxes are added up by day or month', 'reports.summary', { groupBy: 'asset', taxes: true }, refused('bad_request')],
];

const madeCoupon =
  (code: string, changes: Input = {}) =>
  async ({ make }: World): Promise<Input> => ({
    id: (await make('coupons.create', { code, percentOff: '10' })).id,
    ...changes,
  });

// biome-ignore format: one case a line
const coupons: Case[] = [
  ['a coupon has exactly the documented fields', 'coupons.create', { code: 'spring-10', percentOff: '10' }, { check: ({ data: { id, createdAt, ...rest } }, _, t) => {
    t.match(id, /^coup_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
    t.ok(createdAt);
    t.strictSame(rest, { code: 'SPRING-10', percentOff: '10', amountOff: null, currency: null, assetCode: null, assetIssuer: null, productIds: null, minSubtotal: null, startsAt: null, endsAt: null, maxRedemptions: null, redemptions: 0, active: true });
  } }],
  ['a code is taken once, whatever its case', 'coupons.create', { code: 'Spring-10', percentOff: '5' }, refused('conflict')],
  ['an amount off is in a currency', 'coupons.create', { code: 'FIVE', amountOff: '5', currency: 'EUR', minSubtotal: '20.00', maxRedemptions: 3 }, ok({ amountOff: '5', currency: 'EUR', minSubtotal: '20', maxRedemptions: 3 })],
  ['an amount off needs what it is in', 'coupons.create', { code: 'NONE', amountOff: '5' }, faults(['currency', 'required'])],
  ['a coupon takes a percentage or an amount', 'coupons.create', { code: 'BOTH', percentOff: '5', amountOff: '5', assetCode: 'XLM' }, faults(['amountOff', 'not_allowed'])],
  ['a coupon takes something', 'coupons.create', { code: 'NOTHING' }, faults(['percentOff', 'required'])],
  ...['ab', 'a'.repeat(41), 'SPRING 10', 'FRÜHLING', ''].map((code): Case => [`${JSON.stringify(code)} is no code`, 'coupons.create', { code, percentOff: '5' }, faults(['code', 'invalid_format'])]),
  ...['0', '100.01', '1.234', 'ten'].map((percentOff): Case => [`${percentOff} percent off are refused`, 'coupons.create', { code: 'PERCENT', percentOff }, faults(['percentOff', 'invalid_format'])]),
  ['a coupon ends after it starts', 'coupons.create', { code: 'SHORT', percentOff: '5', startsAt: '2030-01-02T00:00:00Z', endsAt: '2030-01-01T00:00:00Z' }, faults(['endsAt', 'too_small'])],
  ['redemptions are not chosen', 'coupons.create', { code: 'USED', percentOff: '5', redemptions: 3 }, faults(['redemptions', 'unrecognized_key'])],
  ['a coupon of an unknown product is refused', 'coupons.create', { code: 'LOST', percentOff: '5', productIds: ['prod_01jd3k5v9ye6rbh2x7q0w4tznc'] }, faults(['productIds.0', 'not_found'])],
  ['coupons are listed, the newest first', 'coupons.list', {}, { check: ({ data }, _, t) => t.same(data.map(({ code }: any) => code), ['FIVE', 'SPRING-10']) }],
  ['a coupon is read', 'coupons.get', madeCoupon('READ-ME'), ok({ code: 'READ-ME', redemptions: 0 })],
  ['an unknown coupon is not there', 'coupons.get', { id: 'coup_x' }, refused('not_found')],
  ['a coupon is switched off', 'coupons.update', madeCoupon('OFF', { active: false }), ok({ code: 'OFF', active: false, percentOff: '10' })],
  ['a coupon turns from a percentage into an amount', 'coupons.update', madeCoupon('TURN', { percentOff: null, amountOff: '2', assetCode: 'XLM' }), ok({ percentOff: null, amountOff: '2', assetCode: 'XLM' })],
  ['an unknown coupon is not changed', 'coupons.update', { id: 'coup_x', active: false }, refused('not_found')],
  ['a coupon is deleted', 'coupons.delete', madeCoupon('GONE'), ok({ deleted: true })],
  ['an unknown coupon is not deleted', 'coupons.delete', { id: 'coup_x' }, refused('not_found')],
  ['an order of an unknown coupon is refused', 'checkouts.create', basket([tea()], { couponCode: 'NO-SUCH' }), faults(['couponCode', 'not_found'])],
  ['an order by a coupon is cheaper', 'checkouts.create', basket([tea()], { couponCode: 'spring-10' }), ok({ subtotal: '2.5', discountAmount: '0.25', discountName: 'SPRING-10', total: '2.25' })],
];

// biome-ignore format: one case a line
const checkouts: Case[] = [
  [
    'a checkout of a FIXED product has exactly the documented fields',
    'checkouts.create',
    order({ quantity: 3, reference: 'o-1', metadata: { 'a.b': 'c' }, successUrl: 'https://shop.example/ok?x=1', cancelUrl: 'http://localhost:8080/cart' }),
    {
      check: ({ data }, { wallet, product }, t) => {
        const { id, slug, memo, memoId, muxedAddress, url, createdAt, expiresAt, ...rest } = data;
        t.match(id, /^chk_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
        t.match(memo, /^[0-9A-HJKMNP-TV-Z]{12}$/);
        t.match(memoId, /^[0-9]{18,19}$/);
        t.match(muxedAddress, /^M[A-Z2-7]{68}$/);
        t.ok(url.endsWith(`/c/${slug}`));
        t.equal(Date.parse(expiresAt) - Date.parse(createdAt), 24 * 3_600_000);
        t.strictSame(rest, {
          status: 'OPEN', reference: 'o-1', metadata: { 'a.b': 'c' }, paymentLinkId: null, customer: { name: null, email: null, phone: null, address: null }, answers: {}, customerEmail: null, language: null, name: 'T-shirt', description: null, assetCode: 'XLM', assetIssuer: null,
          amount: '75', currency: null, price: null, quote: null, quantity: 3,
          lines: [{ productId: product.id, name: 'T-shirt', quantity: 3, price: '25', taxPercent: null, total: '75' }], taxIncluded: true,
          subtotal: '75', discountAmount: '0', discountName: null, taxAmount: '0', tipAmount: '0', total: '75', tolerancePercent: '0',
          receivedAmount: '0', receivedValue: null, remainingAmount: '75', remainingValue: null, excessAmount: null,
          product: summaryOf(product),
          wallet: { id: wallet.id, name: 'Shop', address: wallet.address, network: 'LOCAL' },
          successUrl: 'https://shop.example/ok?x=1', cancelUrl: 'http://localhost:8080/cart', paidAt: null, closedAt: null,
        });
      },
    },
  ],
  ['one is bought when no quantity is given', 'checkouts.create', order(), ok({ quantity: 1, amount: '25', metadata: {}, reference: null })],
  ...['https:shop.example', 'https:///shop.example', 'https:/shop.example', 'https://@shop.example', 'http:localhost'].flatMap((url): Case[] => [
    [`a page at ${url} is refused`, 'checkouts.create', order({ successUrl: url, cancelUrl: url }), faults(['successUrl', 'invalid_format'], ['cancelUrl', 'invalid_format'])],
    [`a webhook at ${url} is refused`, 'webhooks.create', { name: 'a', url, events: ['payment.completed'] }, faults(['url', 'invalid_format'])],
    [`an image at ${url} is refused`, 'products.create', shirt({ imageUrl: url }), faults(['imageUrl', 'invalid_format'])],
    [`a Horizon at ${url} is refused`, 'wallets.mendGaps', ({ wallet }) => ({ id: wallet.id, horizonUrl: url }), faults(['horizonUrl', 'invalid_format'])],
  ]),
  ['null counts as absent', 'checkouts.create', order({ walletId: null, quantity: null, description: null, assetIssuer: null, reference: null, successUrl: null, cancelUrl: null }), ok({ quantity: 1 })],
  ['a payer’s address and language', 'checkouts.create', order({ customerEmail: 'Ana.O’x@customer.example'.replace('’', "'"), language: 'ar' }), ok({ customerEmail: "Ana.O'x@customer.example", language: 'ar' })],
  ['without a payer’s address', 'checkouts.create', order({ customerEmail: null, language: null }), ok({ customerEmail: null, language: null })],
  ...(['ana', 'ana@customer.example\r\nBcc: b@x.example', 'a@x.example,b@x.example', 'Ana <a@x.example>', ''].map((customerEmail): Case => [`${JSON.stringify(customerEmail)} is no address`, 'checkouts.create', order({ customerEmail }), faults(['customerEmail', 'invalid_format'])])),
  ['Klingon is no language', 'checkouts.create', order({ language: 'tlh' }), faults(['language', 'invalid_value'])],
  ['a payer’s address is found', 'checkouts.list', { search: 'ANA.O customer.ex' }, { check: ({ data }, _world, t) => t.same(data.map(({ customerEmail }: any) => customerEmail), ["Ana.O'x@customer.example"]) }],
  ['10,000 are bought', 'checkouts.create', order({ quantity: 10_000 }), ok({ amount: '250000' })],
  ['10,001 are too many', 'checkouts.create', order({ quantity: 10_001 }), faults(['quantity', 'too_big'])],
  ['0 are too few', 'checkouts.create', order({ quantity: 0 }), faults(['quantity', 'too_small'])],
  ['one and a half is no quantity', 'checkouts.create', order({ quantity: 1.5 }), faults(['quantity', 'invalid_type'])],
  ['what costs more than the ledger can hold is refused', 'checkouts.create', async (world) => ({ productId: (await world.make('products.create', shirt({ price: '922337203685.4775807' })(world))).id, quantity: 2 }), faults(['quantity', 'too_big'])],
  ['a FIXED product says the amount', 'checkouts.create', order({ amount: '25' }), faults(['amount', 'not_allowed'])],
  ['the product says name, asset and description', 'checkouts.create', order({ name: 'x', assetCode: 'XLM', assetIssuer: ISSUER, description: 'x' }), faults(['name', 'not_allowed'], ['assetCode', 'not_allowed'], ['assetIssuer', 'not_allowed'], ['description', 'not_allowed'])],
  ['a CUSTOM product needs an amount', 'checkouts.create', orderOf(), faults(['amount', 'required'])],
  ['a CUSTOM product has no quantity', 'checkouts.create', orderOf({ quantity: 1, amount: '2' }), faults(['quantity', 'not_allowed'])],
  ['the minimum of a CUSTOM product holds', 'checkouts.create', orderOf({ amount: '1.4999999' }), faults(['amount', 'too_small'])],
  ['the minimum of a CUSTOM product is enough', 'checkouts.create', orderOf({ amount: '1.50' }), ok({ amount: '1.5', quantity: null, assetCode: 'USDC', assetIssuer: ISSUER })],
  ['an unknown product is refused', 'checkouts.create', { productId: 'prod_x' }, faults(['productId', 'not_found'])],
  ['an inactive product is refused', 'checkouts.create', async (world) => ({ productId: (await world.make('products.create', shirt({ active: false })(world))).id }), refused('conflict')],
  ['a checkout without a product', 'checkouts.create', plainOrder({ description: 'Two of them' }), ok({ product: null, quantity: null, name: 'Order 7', description: 'Two of them', amount: '9.5' })],
  ['neither product nor wallet', 'checkouts.create', {}, faults(['productId', 'required'])],
  ['product and wallet', 'checkouts.create', plainOrder({ productId: 'prod_01jd3k5v9ye6rbh2x7q0w4tznc' }), faults(['productId', 'not_allowed'])],
  ['an unknown wallet is refused', 'checkouts.create', plainOrder({ walletId: 'wallet_x' }), faults(['walletId', 'not_found'])],
  ['without a product name, asset and amount are required', 'checkouts.create', ({ wallet }) => ({ walletId: wallet.id }), faults(['name', 'required'], ['assetCode', 'required'], ['amount', 'required'])],
  ['without a product there is no quantity', 'checkouts.create', plainOrder({ quantity: 1 }), faults(['quantity', 'not_allowed'])],
  ['XLM has no issuer', 'checkouts.create', plainOrder({ assetIssuer: ISSUER }), faults(['assetIssuer', 'not_allowed'])],
  ['another asset needs its issuer', 'checkouts.create', plainOrder({ assetCode: 'USDC' }), faults(['assetIssuer', 'required'])],
  ['an amount of 0 is refused', 'checkouts.create', plainOrder({ amount: '0' }), faults(['amount', 'too_small'])],
  ['a JSON number is no amount', 'checkouts.create', plainOrder({ amount: 5 }), faults(['amount', 'invalid_type'])],
  ['a reference of 120 characters', 'checkouts.create', order({ reference: '😀'.repeat(120) }), ok()],
  ['a reference of 121 characters is refused', 'checkouts.create', order({ reference: 'x'.repeat(121) }), faults(['reference', 'too_big'])],
  ['20 entries of metadata, the longest', 'checkouts.create', order({ metadata: { ...entries(19), ['K_.-'.repeat(10)]: 'v'.repeat(500) } }), ok()],
  ['21 entries are refused', 'checkouts.create', order({ metadata: entries(21) }), faults(['metadata', 'too_big'])],
  ['21 entries are refused together with a bad value', 'checkouts.create', order({ metadata: { ...entries(20), a: 1 } }), faults(['metadata.a', 'invalid_type'], ['metadata', 'too_big'])],
  ['a key that no object keeps is refused', 'checkouts.create', order({ metadata: JSON.parse('{"__proto__": "x", "a": "b"}') }), faults(['metadata.__proto__', 'invalid_key'])],
  ['names of methods are keys like any other', 'checkouts.create', order({ metadata: { constructor: 'x', toString: 'y' } }), ok({ metadata: { constructor: 'x', toString: 'y' } })],
  ['an empty product id is told with the other faults', 'checkouts.create', () => ({ productId: '', quantity: 0 }), faults(['productId', 'not_found'], ['quantity', 'too_small'])],
  ['a value of 501 characters is refused', 'checkouts.create', order({ metadata: { a: 'v'.repeat(501) } }), faults(['metadata.a', 'too_big'])],
  ['a value that is no text is refused', 'checkouts.create', order({ metadata: { a: 1 } }), faults(['metadata.a', 'invalid_type'])],
  ['a key of 41 characters is refused', 'checkouts.create', order({ metadata: { ['k'.repeat(41)]: 'v' } }), { code: 'validation_error' }],
  ['a key with a blank is refused', 'checkouts.create', order({ metadata: { 'a b': 'v' } }), { code: 'validation_error' }],
  ['an end 61 seconds ahead', 'checkouts.create', (world) => order({ expiresAt: inMs(61_000) })(world), ok()],
  ['an end 59 seconds ahead is refused', 'checkouts.create', (world) => order({ expiresAt: inMs(59_000) })(world), faults(['expiresAt', 'too_small'])],
  ['an end in the past is refused', 'checkouts.create', order({ expiresAt: '2020-01-01' }), faults(['expiresAt', 'too_small'])],
  ['an end 90 days ahead', 'checkouts.create', (world) => order({ expiresAt: inMs(90 * 86_400_000 - 1000) })(world), ok()],
  ['an end more than 90 days ahead is refused', 'checkouts.create', (world) => order({ expiresAt: inMs(90 * 86_400_000 + 60_000) })(world), faults(['expiresAt', 'too_big'])],
  ['an end that is no time is refused', 'checkouts.create', order({ expiresAt: 'tomorrow' }), faults(['expiresAt', 'invalid_format'])],
  ['the end is told with the other faults', 'checkouts.create', order({ expiresAt: '2020-01-01', quantity: 0 }), faults(['expiresAt', 'too_small'], ['quantity', 'too_small'])],
  ...(['https://shop.example/a?b=c#d', 'http://localhost/x', 'http://127.0.0.1:3000/x', 'http://[::1]/x'].map((successUrl) => [`a payer may be sent to ${successUrl}`, 'checkouts.create', order({ successUrl }), ok({ successUrl })]) as Case[]),
  ...(['http://shop.example', 'https://a:b@shop.example', 'javascript:alert(1)', 'ftp://localhost/x', 'http://localhost.evil.example', 'shop.example', ' https://shop.example', `https://shop.example/${'a'.repeat(2048)}`].map((cancelUrl) => [`a payer is not sent to ${cancelUrl.slice(0, 40)}`, 'checkouts.create', order({ cancelUrl }), { code: 'validation_error' }]) as Case[]),
  ['an unknown field is refused', 'checkouts.create', order({ colour: '1' }), faults(['colour', 'unrecognized_key'])],
  ['a checkout is read', 'checkouts.get', ordered({ reference: 'r' }), ok({ status: 'OPEN', reference: 'r' })],
  ['an unknown checkout', 'checkouts.get', { id: 'chk_x' }, refused('not_found')],
  ['instructions say what remains', 'checkouts.instructions', partlyPaid, ok({ amount: '15', assetCode: 'XLM', network: 'LOCAL', uri: /amount=15&/ })],
  ['instructions of an unknown checkout', 'checkouts.instructions', { id: 'x' }, refused('not_found')],
  ['instructions of a cancelled checkout are refused', 'checkouts.instructions', async (world) => ({ id: (await world.make('checkouts.cancel', await ordered()(world))).id }), refused('conflict')],
  ['a checkout is cancelled', 'checkouts.cancel', ordered(), { check: ({ data }, _world, t) => { t.equal(data.status, 'CANCELLED'); t.ok(data.closedAt); } }],
  ['cancelling again changes nothing', 'checkouts.cancel', async (world) => ({ id: (await world.make('checkouts.cancel', await ordered()(world))).id }), ok({ status: 'CANCELLED' })],
  ['an unknown checkout is not cancelled', 'checkouts.cancel', { id: 'x' }, refused('not_found')],
  ['a part is accepted as enough', 'checkouts.accept', partlyPaid, ok({ status: 'PAID', receivedAmount: '10', remainingAmount: '0', excessAmount: null })],
  ['what was accepted is not cancelled', 'checkouts.cancel', async (world) => ({ id: (await world.make('checkouts.accept', await partlyPaid(world))).id }), refused('conflict')],
  ['nothing came, so there is nothing to accept', 'checkouts.accept', ordered(), refused('conflict')],
  ['an unknown checkout is not accepted', 'checkouts.accept', { id: 'x' }, refused('not_found')],
  ['checkouts by reference, exactly', 'checkouts.list', async (world) => { await world.make('checkouts.create', order({ reference: 'find.me' })(world)); await world.make('checkouts.create', order({ reference: 'find.me 2' })(world)); return { reference: 'find.me' }; }, { check: ({ data }, _world, t) => t.same(data.map(({ reference }: any) => reference), ['find.me']) }],
  ['checkouts by status', 'checkouts.list', { status: 'CANCELLED', pageSize: 100 }, { check: ({ data }, _world, t) => t.ok(data.length > 0 && data.every(({ status }: any) => status === 'CANCELLED')) }],
  ['an unknown status is refused', 'checkouts.list', { status: 'DONE' }, bad],
  ['checkouts by product', 'checkouts.list', ({ custom }) => ({ productId: custom.id }), { check: ({ data }, { custom }, t) => t.ok(data.length > 0 && data.every(({ product }: any) => product.id === custom.id)) }],
  ['checkouts by wallet, newest first', 'checkouts.list', ({ wallet }) => ({ walletId: wallet.id, pageSize: 100 }), { check: ({ data }, _world, t) => t.same(data.map(({ id }: any) => id), data.map(({ id }: any) => id).sort().reverse()) }],
  ['checkouts from tomorrow on', 'checkouts.list', () => ({ createdFrom: inMs(86_400_000) }), ok([])],
  ['checkouts before today', 'checkouts.list', { createdTo: '2020-01-01' }, ok([])],
  ['a payment is assigned to a link or a checkout, not to both', 'payments.assign', ({ unmatched, link }) => ({ id: unmatched.id, paymentLinkId: link.id, checkoutId: 'chk_01jd3k5v9ye6rbh2x7q0w4tznc' }), faults(['paymentLinkId', 'not_allowed'])],
  ['a payment is not assigned to an unknown checkout', 'payments.assign', ({ unmatched }) => ({ id: unmatched.id, checkoutId: 'chk_x' }), faults(['checkoutId', 'not_found'])],
  ['payments of an unknown checkout', 'payments.list', { checkoutId: 'chk_x' }, ok([])],
  ['sums of payments', 'reports.summary', { groupBy: 'asset' }, { check: ({ data }, _world, t) => t.ok(Array.isArray(data)) }],
];

const PAIR = { currency: 'EUR', assetCode: 'XLM', network: 'LOCAL' };
// biome-ignore format: one case a line
const rates: Case[] = [
  ['a price is quoted by the demo source', 'rates.quote', { ...PAIR, price: '10' }, ok({ amount: '40', rate: '0.25', source: 'demo' })],
  ['a price finer than its currency is refused', 'rates.quote', { ...PAIR, currency: 'JPY', price: '1.5' }, bad],
  ['a price in no currency is refused', 'rates.quote', { ...PAIR, currency: 'XLM', price: '1' }, bad],
  ['a price on a network that is not watched is refused', 'rates.quote', { ...PAIR, network: 'PUBLIC', price: '1' }, bad],
  ['an own rate that is not there is not ended', 'rates.delete', PAIR, refused('not_found')],
  ['a rate is set', 'rates.set', { ...PAIR, rate: '0.50' }, ok({ ...PAIR, assetIssuer: null, rate: '0.5', source: 'own', stale: false })],
  ['a rate until an end', 'rates.set', () => ({ ...PAIR, currency: 'USD', rate: '0.5', expiresAt: inMs(60_000) }), ok({ rate: '0.5' })],
  ['a rate that ended is refused', 'rates.set', { ...PAIR, rate: '1', expiresAt: '2020-01-01' }, faults(['expiresAt', 'too_small'])],
  ...(['0', '-1', '1e3', '0.1234567890123', 1] as const).map((rate): Case => [`${rate} is no rate`, 'rates.set', { ...PAIR, rate }, { code: 'validation_error' }]),
  ['an asset but XLM needs its issuer', 'rates.set', { ...PAIR, assetCode: 'USDC', rate: '1' }, faults(['assetIssuer', 'required'])],
  ['rates are listed', 'rates.list', {}, { check: ({ data }, _world, t) => t.same(data.map(({ currency, rate }: any) => [currency, rate]), [['EUR', '0.5'], ['USD', '0.5']]) }],
  ['a price is quoted by an own rate', 'rates.quote', { ...PAIR, price: '10' }, ok({ amount: '20', source: 'own' })],
  ['a rate is ended', 'rates.delete', PAIR, ok({ deleted: true })],
  ['a tolerance is set', 'account.update', { tolerancePercent: '1.50' }, ok({ tolerancePercent: '1.5' })],
  ['tips of the point of sale are set', 'account.update', { tipPercents: ['5', '12.50'] }, ok({ tipPercents: ['5', '12.5'] })],
  ['no tips are offered', 'account.update', { tipPercents: [] }, ok({ tipPercents: [] })],
  ['tips of nothing or too much are refused', 'account.update', { tipPercents: ['0', '10', '100.1', '1.234'] }, faults(['tipPercents.0', 'invalid_format'], ['tipPercents.2', 'invalid_format'], ['tipPercents.3', 'invalid_format'])],
  ['eleven tips are refused', 'account.update', { tipPercents: Array.from({ length: 11 }, (_, n) => `${n + 1}`) }, faults(['tipPercents', 'too_big'])],
  ['a new product has the tolerance of its account', 'products.create', shirt(), ok({ tolerancePercent: '1.5' })],
  ['a new checkout has the tolerance of its account', 'checkouts.create', plainOrder(), ok({ tolerancePercent: '1.5' })],
  ['a tolerance of nothing is set', 'account.update', { tolerancePercent: '0' }, ok({ tolerancePercent: '0' })],
  ['a product has its own tolerance', 'products.create', shirt({ tolerancePercent: '5.00' }), ok({ tolerancePercent: '5' })],
  ['a product is changed to another tolerance', 'products.update', changed(shirt(), { tolerancePercent: '0.25' }), ok({ tolerancePercent: '0.25' })],
  ['a checkout has the tolerance of its product', 'checkouts.create', async (world) => ({ productId: (await world.make('products.create', shirt({ tolerancePercent: '2' })(world))).id }), ok({ tolerancePercent: '2' })],
  ['a checkout has its own tolerance', 'checkouts.create', order({ tolerancePercent: '0.01' }), ok({ tolerancePercent: '0.01' })],
  ...(['5.01', '-1', '1.234', '', 'x', 2] as const).map((tolerancePercent): Case => [`a tolerance of ${JSON.stringify(tolerancePercent)} is refused`, 'checkouts.create', order({ tolerancePercent }), { code: 'validation_error' }]),
  ['a markup is set', 'account.update', { rateMarkupPercent: '2.50' }, ok({ rateMarkupPercent: '2.5' })],
  ...(['20.1', '-1', '2.00001', 'x', 2] as const).map((rateMarkupPercent): Case => [`${rateMarkupPercent} is no markup`, 'account.update', { rateMarkupPercent }, { code: 'validation_error' }]),
  ['books are kept in a currency', 'account.update', { booksCurrency: 'EUR' }, ok({ booksCurrency: 'EUR', rateMarkupPercent: '2.5' })],
  ['values are summed up', 'reports.summary', { groupBy: 'asset', currency: 'EUR' }, { check: ({ data }, _world, t) => t.match(data, [{ value: String, valued: Number }]) }],
  ['values in no currency are refused', 'reports.summary', { currency: 'XLM' }, bad],
  ['books are kept in none', 'account.update', { booksCurrency: null }, ok({ booksCurrency: null })],
  ['books in no currency are refused', 'account.update', { booksCurrency: 'XLM' }, faults(['booksCurrency', 'invalid_format'])],
  ['no change of the account', 'account.update', {}, ok({ rateMarkupPercent: '2.5' })],
  ['a product in a currency', 'products.create', shirt({ currency: 'EUR', price: '9.50' }), ok({ currency: 'EUR', price: '9.5', quote: { source: 'demo' } })],
  ['a price finer than the currency is refused', 'products.create', shirt({ currency: 'EUR', price: '9.501' }), faults(['price', 'invalid_format'])],
  ['a product of an asset gets a currency', 'products.update', changed(shirt(), { currency: 'EUR' }), ok({ currency: 'EUR', price: '25' })],
  ['a product loses its currency', 'products.update', changed(shirt({ currency: 'EUR' }), { currency: null }), ok({ currency: null, quote: null })],
  ['a checkout in a currency', 'checkouts.create', ({ wallet }) => ({ walletId: wallet.id, name: 'Beans', assetCode: 'XLM', currency: 'EUR', price: '5' }), ok({ amount: null, currency: 'EUR', price: '5', remainingValue: '5' })],
  ['a currency without a price is refused', 'checkouts.create', ({ wallet }) => ({ walletId: wallet.id, name: 'Beans', assetCode: 'XLM', currency: 'EUR' }), faults(['price', 'required'])],
];

const cases = [
  ...rates,
  ...pages,
  ...products,
  ...wallets,
  ...links,
  ...webhooks,
  ...money,
  ...keys,
  ...lists,
  ...orders,
  ...coupons,
  ...checkouts,
];

const isRefusal = ([, , , expected]: Case) => 'code' in expected;
/** For each operation the first case that is accepted, and the first that is refused; those of
 *  rates build on each other. */
const firstCases = cases.filter(
  (each, index) =>
    rates.includes(each) ||
    cases.findIndex((other) => other[1] === each[1] && isRefusal(other) === isRefusal(each)) === index,
);

for (const transport of TRANSPORTS) {
  // Both transports call one router, so the second one needs no case twice.
  const some = transport === 'REST' ? cases : firstCases;
  t.test(`${some.length} cases over ${transport}`, transport === 'REST' ? {} : LONG, async (t) => {
    const world = await createWorld(transport);
    for (const [title, name, input, expected] of some) {
      const answer = await world.call(name, typeof input === 'function' ? await input(world) : input);
      const said = `${title}: ${JSON.stringify(answer.error ?? answer.data)?.slice(0, 300)}`;
      if ('code' in expected) {
        t.equal(answer.outcome, expected.code, said);
        if (expected.faults) {
          const found = answer.error?.details?.map(({ path, code }) => [path, code]).sort();
          t.same(found, [...expected.faults].sort(), said);
        }
      } else {
        t.equal(answer.outcome, 'ok', said);
        if (answer.outcome !== 'ok') continue;
        if ('match' in expected) t.match(answer.data, expected.match, said);
        else await t.test(title, async (t) => void expected.check(answer, world, t));
      }
    }
    t.test('a READ key reads everything and writes nothing', async (t) => {
      for (const [name, operation] of operations) {
        const { outcome } = await world.call(name, { id: 'x' }, world.readKey);
        if (operation.readOnly && !operation.needsFullKey) t.not(outcome, 'forbidden', name);
        else t.equal(outcome, 'forbidden', `${name}, before its input is looked at`);
      }
    });
    t.test('without a valid key nothing is said but that', async (t) => {
      const keys = ['sk_unknown', `sk_${'a'.repeat(43)}`, 'x y', `${world.readKey}x`];
      for (const [index, name] of [...operations.keys()].entries()) {
        // In every run each key is sent to a quarter of the operations.
        for (const key of IS_LONG ? keys : [keys[index % keys.length]!])
          t.equal((await world.call(name, { id: 'x' }, key)).outcome, 'unauthorized', name);
      }
    });
  });
}

t.test(
  'links of many products that are made side by side are counted exactly, and one of no product fails alone',
  async (t) => {
    const { make, call, wallet } = await createWorld('REST');
    const shirts = Array.from({ length: 5 }, (_, n) => `Shirt ${n}`);
    const terms = { walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' };
    const made = await Promise.all(shirts.map((name) => make('products.create', { ...terms, name })));
    const ids = made.map(({ id }) => id);
    // The first product gets one link, the last five.
    const asked = [...ids.flatMap((id, n) => Array(n + 1).fill(id)), 'prod_x', 'prod_x'];
    const answers = await Promise.all(asked.map((productId) => call('paymentLinks.create', { productId })));
    t.same(
      answers.map(({ outcome }) => outcome),
      asked.map((id) => (id === 'prod_x' ? 'validation_error' : 'ok')),
    );
    await make('paymentLinks.delete', { id: answers[1]!.data.id });
    const counts = await Promise.all(ids.map(async (id) => (await make('products.get', { id })).paymentLinkCount));
    t.same(counts, [1, 1, 3, 4, 5]);
  },
);

t.test('every operation was accepted once at least', async (t) => {
  // Only a browser makes a passkey that can be removed: the test of people does.
  for (const [name, { status }] of operations)
    if (name !== 'users.deletePasskey') t.ok(answered.get(`${name} ${status}`), name);
});

const fieldsOf = (filter: Access['filter'] = {}) => Object.keys(filter).join();
/** What a request may look for without naming its account, and why. */
const NAMELESS: { reason: string; is: (access: Access) => boolean }[] = [
  {
    reason: 'networks, addresses and records on them, and processes belong to no account',
    is: ({ collection }) => /^(networkStates|cursors|parkedRecords|leases|webhookKeys|ledger_\w+)$/.test(collection),
  },
  {
    reason: 'which account asks is known by its API key only',
    is: ({ collection, filter }) => collection === 'api-keys' && fieldsOf(filter) === 'hash',
  },
  {
    reason: 'what markets say belongs to no account',
    is: ({ collection }) => /^rate(Samples|Pairs)$/.test(collection),
  },
  {
    reason: 'a refund is booked as the watcher books it, by the address that it was sent from',
    is: ({ collection, filter }) => collection === 'wallets' && fieldsOf(filter) === 'network,address',
  },
  {
    reason: "gaps go by the wallet, which was read as the account's",
    is: ({ collection, filter }) => collection === 'gaps' && /^walletId,/.test(fieldsOf(filter)),
  },
];

t.test(
  'what a request asks MongoDB for names its account, so that a database divided by accounts answers it from one part',
  async (t) => {
    const nameless = accesses.filter((access) => !accountIds.some((id) => namesAccount(access, id)));
    const shapes = nameless
      .filter((access) => !NAMELESS.some(({ is }) => is(access)))
      .map(({ command, collection, filter = {} }) => `${command} ${collection} ${Object.keys(filter)}`);
    t.same([...new Set(shapes)].sort(), []);
    t.ok(accesses.length > 1000, `${accesses.length} in all`);
    for (const { reason, is } of NAMELESS) t.ok(nameless.some(is), `an exception: ${reason}`);
  },
);
