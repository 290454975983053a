/** Paying from a wallet in the browser: transactions made for it, checked and handed to the local
 *  ledger, whose words are told as sentences. */
import {
  Account,
  Asset,
  Claimant,
  type FeeBumpTransaction,
  Keypair,
  Memo,
  Operation,
  type Transaction,
  TransactionBuilder,
  type xdr,
} from '@stellar/stellar-sdk';
import t from 'tap';
import { LANGUAGES } from '../../contracts/languages.js';
import { networkInfo } from '../../contracts/networks.js';
import { enterNumber } from '../../src/page/entered-amount.js';
import { type PlainKey, wordsOf } from '../../src/page/words.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const service = await startTestService(t);
const ledger = service.context.localLedger!.client;
const { passphrase } = networkInfo.LOCAL;
const { wallet, product, link } = await startSelling(service);
const payer = Keypair.fromSecret((await ledger.fund()).secret);

async function post(path: string, body: unknown) {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const { data, error } = (await response.json()) as { data: any; error: any };
  return { status: response.status, data, error, headers: response.headers };
}
const order = async (fields: object = {}) =>
  (await service.api('POST', '/checkouts', { productId: product.id, quantity: 2, ...fields })).data;
const sign = (xdr: string, key = payer) => {
  const transaction = TransactionBuilder.fromXdr(xdr, passphrase);
  transaction.sign(key);
  return transaction.toXdr();
};
const paymentsOf = (query: string, count: number) =>
  eventually(async () => {
    const { data } = await service.api('GET', `/payments?${query}`);
    return data.length === count && data;
  }, `${count} payments of ${query}`);
const sequenceOf = async (address: string): Promise<string> =>
  ((await (await fetch(`${service.context.localLedger!.url}/accounts/${address}`)).json()) as any).sequence;

/** A signed transaction of the payer's, as a wallet could make it. */
async function made(
  operations: xdr.Operation[],
  { memo = Memo.none(), seconds = 60, from = payer }: { memo?: Memo; seconds?: number; from?: Keypair } = {},
): Promise<Transaction> {
  const account = new Account(from.publicKey(), await sequenceOf(from.publicKey()));
  const builder = new TransactionBuilder(account, { fee: '100', networkPassphrase: passphrase, memo });
  for (const operation of operations) builder.addOperation(operation);
  const transaction = builder.setTimeout(seconds).build();
  transaction.sign(from);
  return transaction;
}
const payment = (amount: string, destination: string = wallet.address, asset = Asset.native()) =>
  Operation.payment({ destination, asset, amount });

t.test(
  'a transaction is one unsigned payment with the memo for 5 minutes; signed and handed over, it pays',
  async (t) => {
    const checkout = await order();
    const path = new URL(checkout.url).pathname;
    const { status, data } = await post(`${path}/transaction`, { account: payer.publicKey() });
    t.equal(status, 200);
    t.same(Object.keys(data), ['xdr', 'networkPassphrase']);
    t.equal(data.networkPassphrase, passphrase);
    const transaction = TransactionBuilder.fromXdr(data.xdr, passphrase) as Transaction;
    t.equal(transaction.signatures.length, 0);
    t.match(transaction.operations, [{ type: 'payment', destination: wallet.address, amount: '50.0000000' }]);
    t.equal(Buffer.from(transaction.memo.value! as string).toString(), checkout.memo);
    const validSeconds = Number(transaction.timeBounds!.maxTime) - Date.now() / 1000;
    t.ok(validSeconds > 290 && validSeconds <= 300);

    const signed = sign(data.xdr);
    const handed = await post(`${path}/submit`, { xdr: signed });
    t.same([handed.status, handed.data], [200, { transactionHash: Buffer.from(transaction.hash()).toString('hex') }]);
    const [came] = await paymentsOf(`checkoutId=${checkout.id}`, 1);
    t.match(came, { status: 'COMPLETED', amount: '50', transactionHash: handed.data.transactionHash });
    t.equal((await service.api('GET', `/checkouts/${checkout.id}`)).data.status, 'PAID');
    t.match(await post(`${path}/submit`, { xdr: signed }), { status: 409, error: { code: 'conflict' } });
    t.match(await post(`${path}/transaction`, { account: payer.publicKey() }), { status: 409 });
  },
);

t.test(
  'the link of a CUSTOM product takes the amount that the payer chose, a FIXED one only what is due',
  async (t) => {
    const custom = await startSelling(service, { priceType: 'CUSTOM', price: null, minAmount: '5' });
    const path = new URL(custom.link.url).pathname;
    const ask = (amount?: unknown, at = path) => post(`${at}/transaction`, { account: payer.publicKey(), amount });
    t.match(await ask(), { status: 422, error: { details: [{ path: 'amount', code: 'required' }] } });
    t.match(await ask('4.9'), { status: 422, error: { details: [{ path: 'amount', code: 'too_small' }] } });
    t.match(await ask(7), { status: 422, error: { code: 'validation_error', details: [{ path: 'amount' }] } });
    const { data } = await ask('7.50');
    t.equal((await post(`${path}/submit`, { xdr: sign(data.xdr) })).status, 200);
    await paymentsOf(`paymentLinkId=${custom.link.id}`, 1);

    const fixed = new URL(link.url).pathname;
    t.equal((await ask(undefined, fixed)).status, 200);
    t.equal((await ask('25.0', fixed)).status, 200);
    t.match(await ask('24', fixed), { status: 422, error: { details: [{ path: 'amount', code: 'not_allowed' }] } });
  },
);

t.test('a FIXED price in a currency takes no other amount than what is due, of a link and of a checkout', async (t) => {
  const beans = await startSelling(service, { currency: 'EUR', price: '9.50' });
  const checkout = (await service.api('POST', '/checkouts', { productId: beans.product.id })).data;
  for (const { url } of [beans.link, checkout]) {
    const path = new URL(url).pathname;
    const ask = (name: string, amount?: string) => post(`${path}/${name}`, { account: payer.publicKey(), amount });
    const { data } = await ask('transaction');
    const [{ amount: due }] = (TransactionBuilder.fromXdr(data.xdr, passphrase) as Transaction).operations as any;
    t.equal((await ask('transaction', due)).status, 200, 'what is due may be named');
    for (const [name, amount] of [
      ['transaction', '1'],
      ['transaction', '9000'],
      ['ways', '1'],
    ] as const) {
      const details = [{ path: 'amount', code: 'not_allowed' }];
      t.match(await ask(name, amount), { status: 422, error: { details } }, `${name} of ${amount}`);
    }
  }
});

t.test('a transaction for more than is due by now is not handed on, and the new amount is told', async (t) => {
  const checkout = await order();
  const path = `/c/${checkout.slug}`;
  const signed = sign((await post(`${path}/transaction`, { account: payer.publicKey() })).data.xdr);
  const usd = new Asset('USD', payer.publicKey());
  const detour = Operation.pathPaymentStrictReceive({
    ...{ sendAsset: usd, sendMax: '60', destAsset: Asset.native(), destAmount: '50' },
    ...{ destination: wallet.address, path: [] },
  });
  const byPath = (await made([detour], { memo: Memo.text(checkout.memo) })).toXdr();
  await ledger.pay({ to: wallet.address, amount: '20', memo: checkout.memo });
  await paymentsOf(`checkoutId=${checkout.id}`, 1);
  for (const xdr of [signed, byPath])
    t.match(await post(`${path}/submit`, { xdr }), { status: 409, error: { code: 'conflict', message: /\b30 XLM/ } });
  await ledger.pay({ to: wallet.address, amount: '30', memo: checkout.memo });
  await paymentsOf(`checkoutId=${checkout.id}`, 2);
  t.match(await post(`${path}/submit`, { xdr: signed }), { status: 409 }, 'nothing is due');
  const more = (await made([payment('26')], { memo: Memo.text(link.memo) })).toXdr();
  t.match(await post(`/p/${link.slug}/submit`, { xdr: more }), { status: 409, error: { message: /\b25 XLM/ } });
});

t.test(
  'a transaction for what the page showed is handed on when the rate has moved since, and one for more is not',
  async (t) => {
    const rate = (worth: string) =>
      service.api('PUT', '/rates', { currency: 'EUR', assetCode: 'XLM', network: 'LOCAL', rate: worth });
    await rate('0.25');
    const beans = await startSelling(service, { currency: 'EUR', price: '10' });
    const checkout = (await service.api('POST', '/checkouts', { productId: beans.product.id })).data;
    for (const { url } of [beans.link, checkout]) {
      await rate('0.25');
      const path = new URL(url).pathname;
      const build = async () => sign((await post(`${path}/transaction`, { account: payer.publicKey() })).data.xdr);
      const shown = await build();
      await rate('0.5');
      const operations = [payment('40.0000001', beans.wallet.address)];
      const [memo, query] =
        url === checkout.url
          ? [Memo.text(checkout.memo), `checkoutId=${checkout.id}`]
          : [Memo.text(beans.link.memo), `paymentLinkId=${beans.link.id}`];
      const more = (await made(operations, { memo })).toXdr();
      t.match(await post(`${path}/submit`, { xdr: more }), { status: 409, error: { message: /\b20 XLM/ } });
      t.match(await post(`${path}/submit`, { xdr: shown }), { status: 200 }, 'the payer is not refused for the rate');
      const [paid] = await paymentsOf(query, 1);
      t.match(paid, { status: 'COMPLETED', amount: '40' });
    }
    await service.api('DELETE', '/rates?currency=EUR&assetCode=XLM&network=LOCAL');
  },
);

t.test('the wallet that is to be paid is refused as a payer, as a payment to itself is no money', async (t) => {
  const shop = Keypair.fromSecret((await ledger.fund()).secret);
  const account = shop.publicKey();
  const own = (await service.api('POST', '/wallets', { name: 'Own', address: account, network: 'LOCAL' })).data;
  const item = { walletId: own.id, name: 'Mug', assetCode: 'XLM', amount: '25' };
  const { url, memo } = (await service.api('POST', '/checkouts', item)).data;
  const path = new URL(url).pathname;
  for (const name of ['ways', 'transaction'])
    t.match(await post(`${path}/${name}`, { account }), {
      status: 422,
      error: {
        message: wordsOf('en').say('payerIsShop'),
        details: [{ path: 'account', code: 'not_allowed' }],
      },
    });
  t.match(
    (await post(`${path}/transaction`, { account, amount: '24' })).error.details,
    [{ path: 'account' }, { path: 'amount' }],
    'with every other fault',
  );
  const signed = await made([payment('25', account)], { memo: Memo.text(memo), from: shop });
  t.match(await post(`${path}/submit`, { xdr: signed.toXdr() }), {
    status: 422,
    error: { details: [{ path: 'xdr', message: 'It pays from this page’s wallet to itself.', code: 'not_allowed' }] },
  });
});

t.test('what is asked for wrongly is told by path and code, in the order of the API', async (t) => {
  const path = `/p/${link.slug}`;
  const account = payer.publicKey();
  const stranger = Keypair.random().publicKey();
  const details = (...paths: string[]) => ({ status: 422, error: { details: paths.map((each) => ({ path: each })) } });
  t.match(await post(`${path}/transaction`, '{'), { status: 400, error: { code: 'bad_request' } });
  t.match(await post(`${path}/transaction`, '[]'), { status: 400, error: { code: 'bad_request' } });
  t.match(await post(`${path}/transaction`, ''), { status: 400, error: { code: 'bad_request' } });
  t.match(await post(`${path}/transaction`, {}), details('account'));
  t.match(await post(`${path}/transaction`, { account: 'GABC', more: 1 }), details('account', 'more'));
  t.match(await post(`${path}/transaction`, { account: stranger }), {
    status: 422,
    error: { details: [{ path: 'account', code: 'not_found' }] },
  });
  for (const bad of ['', 'hello', 'AAAA', 'x'.repeat(5000), 7, null]) {
    t.match(await post(`${path}/submit`, { xdr: bad }), details('xdr'), String(bad).slice(0, 9));
  }
  t.equal((await post(`${path}/submit`, `"${'x'.repeat(110_000)}"`)).status, 400);
  t.match(await post('/p/unknown/transaction', { account }), { status: 404, error: { code: 'not_found' } });
  t.match(await post('/c/unknown/submit', { xdr: 'hello' }), { status: 422 });
  t.equal((await post('/c/unknown/submit', { xdr: (await made([payment('1')])).toXdr() })).status, 404);
  t.equal((await post(`/c/${link.slug}/transaction`, { account })).status, 404, 'a link is no checkout');
  t.match(await fetch(`${service.url}${path}/transaction`), { status: 404 });
});

t.test('only the one payment of this page is handed on, however its memo is spelled', async (t) => {
  const checkout = await order();
  const other = await order();
  const path = `/c/${checkout.slug}`;
  const memo = Memo.text(checkout.memo);
  const usd = new Asset('USD', payer.publicKey());
  const bumped = () =>
    made([payment('50')], { memo }).then((inner) => {
      const bump = TransactionBuilder.buildFeeBumpTransaction(payer, '200', inner, passphrase);
      bump.sign(payer);
      return bump;
    });
  const foreign: [string, () => Promise<Transaction | FeeBumpTransaction>][] = [
    ['no memo', () => made([payment('50')])],
    ['the memo of another checkout', () => made([payment('50')], { memo: Memo.text(other.memo) })],
    ['another wallet', () => made([payment('50', payer.publicKey())], { memo })],
    ['the muxed address of another checkout', () => made([payment('50', other.muxedAddress)], { memo })],
    ['another asset', () => made([payment('50', wallet.address, usd)], { memo })],
    ['two payments', () => made([payment('20'), payment('30')], { memo })],
    ['a payment and more', () => made([payment('50'), Operation.bumpSequence({ bumpTo: '1' })], { memo })],
    [
      'another operation',
      () =>
        made(
          [
            Operation.createClaimableBalance({
              asset: Asset.native(),
              amount: '50',
              claimants: [new Claimant(wallet.address)],
            }),
          ],
          { memo },
        ),
    ],
    ['a fee bump', bumped],
    ['no end', () => made([payment('50')], { memo, seconds: 0 })],
    ['an end far away', () => made([payment('50')], { memo, seconds: 3600 })],
  ];
  for (const [what, make] of foreign) {
    const refused = await post(`${path}/submit`, { xdr: (await make()).toXdr() });
    t.match(refused, { status: 422, error: { code: 'validation_error', details: [{ path: 'xdr' }] } }, what);
  }
  const unsigned = (await post(`${path}/transaction`, { account: payer.publicKey() })).data.xdr;
  t.match(await post(`${path}/submit`, { xdr: unsigned }), { status: 422, error: { message: /not signed/ } });
  t.equal((await service.api('GET', `/payments?checkoutId=${checkout.id}`)).data.length, 0);
  const sequence = await sequenceOf(payer.publicKey());

  const spelled: [string, () => Promise<Transaction>][] = [
    ['a text memo typed by hand', () => made([payment('10')], { memo: Memo.text(checkout.memo.toLowerCase()) })],
    ['an id memo', () => made([payment('10')], { memo: Memo.id(checkout.memoId) })],
    ['the muxed address without a memo', () => made([payment('10', checkout.muxedAddress)])],
    ['the muxed address with any memo', () => made([payment('10', checkout.muxedAddress)], { memo: Memo.text('hi') })],
  ];
  for (const [what, make] of spelled) {
    t.equal((await post(`${path}/submit`, { xdr: (await make()).toXdr() })).status, 200, what);
  }
  await paymentsOf(`checkoutId=${checkout.id}`, spelled.length);
  t.equal(await sequenceOf(payer.publicKey()), String(BigInt(sequence) + 4n), 'nothing else reached the ledger');
});

t.test("what the network refuses is a sentence, with the network's code", async (t) => {
  const poor = Keypair.fromSecret((await ledger.fund()).secret);
  const { address, secret } = await ledger.fund();
  const { assetCode, assetIssuer } = await ledger.issue({ code: 'USDC', amount: '1', toSecret: secret });
  const holder = (await service.api('POST', '/wallets', { name: 'U', address, network: 'LOCAL' })).data;
  const usdc = await startSelling(service, { walletId: holder.id, assetCode, assetIssuer, price: '12' });
  const dear = await startSelling(service, { price: '1000000' });
  const refused = async (slug: string, key: Keypair, change: (xdr: string) => string = (xdr) => sign(xdr, key)) => {
    const { data } = await post(`/p/${slug}/transaction`, { account: key.publicKey() });
    const { status, error } = await post(`/p/${slug}/submit`, { xdr: change(data.xdr) });
    return [status, error.code, error.details.length, error.details[0].code, error.message];
  };
  const told = (code: string, sentence: RegExp) => [422, 'validation_error', 1, code, sentence];
  t.match(await refused(dear.link.slug, poor), told('op_underfunded', /not hold enough XLM/));
  t.match(await refused(usdc.link.slug, poor), told('op_src_no_trust', /no trustline/));
  t.match(await refused(link.slug, poor, (xdr) => sign(xdr, Keypair.random())), told('tx_bad_auth', /signature/));
  const outOfTurn = async (xdr: string) => {
    await ledger.submit({ from: poor, operations: [payment('1', payer.publicKey())] });
    return sign(xdr, poor);
  };
  const { data } = await post(`/p/${link.slug}/transaction`, { account: poor.publicKey() });
  const late = await post(`/p/${link.slug}/submit`, { xdr: await outOfTurn(data.xdr) });
  t.match(late, { status: 422, error: { message: /in between/, details: [{ path: 'xdr', code: 'tx_bad_seq' }] } });
});

t.test('what the page refuses is said in the payer’s language, and by path and code to programs', async (t) => {
  const custom = await startSelling(service, { priceType: 'CUSTOM', price: null, minAmount: '5' });
  const account = payer.publicKey();
  const unsigned = (await post(`/p/${link.slug}/transaction`, { account })).data.xdr;
  const foreign = (await made([payment('25')])).toXdr();
  const cases: [
    operation: string,
    body: object,
    path: string,
    code: string,
    key: PlainKey,
    values?: Record<string, string | number>,
  ][] = [
    [`/p/${link.slug}/transaction`, {}, 'account', 'required', 'accountNotValid'],
    [`/p/${link.slug}/transaction`, { account: 'GABC' }, 'account', 'invalid_format', 'accountNotValid'],
    [
      `/p/${link.slug}/transaction`,
      { account, amount: '24' },
      'amount',
      'not_allowed',
      'amountChanged',
      { amount: '25 XLM' },
    ],
    [`/p/${custom.link.slug}/transaction`, { account }, 'amount', 'required', 'enterNumber'],
    [
      `/p/${custom.link.slug}/transaction`,
      { account, amount: '1.23456789' },
      'amount',
      'invalid_format',
      'decimals',
      { n: 7 },
    ],
    [`/p/${custom.link.slug}/transaction`, { account, amount: '0' }, 'amount', 'too_small', 'positive'],
    [
      `/p/${custom.link.slug}/transaction`,
      { account, amount: '4' },
      'amount',
      'too_small',
      'minimumIs',
      { amount: '5 XLM' },
    ],
    [`/p/${link.slug}/submit`, { xdr: 'hello' }, 'xdr', 'invalid_format', 'otherPayment'],
    [`/p/${link.slug}/submit`, { xdr: foreign }, 'xdr', 'not_allowed', 'otherPayment'],
    [`/p/${link.slug}/submit`, { xdr: unsigned }, 'xdr', 'required', 'notSigned'],
  ];
  for (const language of LANGUAGES)
    for (const [operation, body, path, code, key, values] of cases) {
      const { status, error } = await post(`${operation}?lang=${language}`, body);
      t.match({ status, error }, { status: 422, error: { code: 'validation_error', details: [{ path, code }] } }, key);
      const words = wordsOf(language);
      const told = key === 'enterNumber' ? enterNumber(words) : words.say(key, values);
      t.equal(error.message, told, `${language} ${path} ${code}`);
    }
  const gone = await post('/p/unknown/transaction?lang=de', { account });
  t.match(gone, { status: 404, error: { message: 'Diese Zahlungsseite gibt es nicht' } });
});

t.test('while the ledger is away pages answer 503, and recover', async (t) => {
  const account = payer.publicKey();
  await ledger.faults.add({ kind: 'unavailable', path: '/accounts' });
  const away = await post(`/p/${link.slug}/transaction`, { account });
  t.match(away, { status: 503, error: { code: 'unavailable' } });
  await ledger.faults.clear();
  const made = await eventually(async () => {
    const { status, data } = await post(`/p/${link.slug}/transaction`, { account });
    return status === 200 && data;
  }, 'a transaction');
  t.equal((await post(`/p/${link.slug}/submit`, { xdr: sign(made.xdr) })).status, 200);
});
