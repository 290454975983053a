/** Every kind of money in, every outcome named: real signed transactions on the local ledger, seen
 *  through the API. */
import {
  Account,
  Asset,
  type Keypair,
  Keypair as Keys,
  Memo,
  MuxedAccount,
  Operation,
  TransactionBuilder,
} from '@stellar/stellar-sdk';
import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import t from 'tap';
import { createMemo, memoIdOf } from '../../src/domain/memo.js';
import { systemClock } from '../../src/kit/clock.js';
import { parsePayUri } from '../helpers/pay-uri.js';
import { allNumbered, eventually, startSelling, startTestService } from '../helpers/service.js';

// One service for all: each case has a link of its own.
const service = await startTestService(t);
const ledger = service.context.localLedger!.client;
const { wallet, product } = await startSelling(service);
const usd = await ledger.issue({ code: 'USD', amount: '1000000' });
const fakeUsd = await ledger.issue({ code: 'USD', amount: '1000', name: 'impostor' });
const shop = await ledger.fund();
for (const { assetIssuer } of [usd, fakeUsd]) {
  await ledger.trust({ secret: shop.secret, assetCode: 'USD', assetIssuer });
}
const usdWallet = (await service.api('POST', '/wallets', { name: 'USD', address: shop.address, network: 'LOCAL' }))
  .data;

const linkOf = async (productId: string = product.id) =>
  (await service.api('POST', '/payment-links', { productId })).data;
const productOf = async (fields: Record<string, unknown>) =>
  (
    await service.api('POST', '/products', {
      name: 'P',
      walletId: wallet.id,
      assetCode: 'XLM',
      priceType: 'FIXED',
      ...fields,
    })
  ).data;
const paymentsOfLink = async (id: string) => (await service.api('GET', `/payments?paymentLinkId=${id}`)).data;
const onlyPayment = (link: { id: string }) =>
  eventually(async () => (await paymentsOfLink(link.id))[0], `a payment of ${link.id}`);
const unmatchedOf = (transactionHash: string) =>
  eventually(
    async () => (await service.api('GET', `/payments?status=UNMATCHED&transactionHash=${transactionHash}`)).data[0],
    'an unmatched payment',
  );

const CONTRACT = 'CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA';
const muxedId = (address: string) => MuxedAccount.fromAddress(address, '0').id();

/** What a QR code in a PNG image says. */
function decodeQr(png: Buffer): string {
  const { data, width, height } = PNG.sync.read(png);
  return jsQR.default(new Uint8ClampedArray(data), width, height)!.data;
}

t.test('a memo typed by hand finds its link: lower case, blanks around it, O for 0, I and L for 1', async (t) => {
  const link = await linkOf();
  const typed = ` ${link.memo.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l')} `;
  await ledger.pay({ to: wallet.address, amount: '25', memo: typed });
  t.match(await onlyPayment(link), { status: 'COMPLETED', memo: typed });
});

t.test('amounts are exact to the stroop', async (t) => {
  const cases = [
    {
      amount: '24.9999999',
      expected: { status: 'UNDERPAID', reason: 'below_price', shortfallAmount: '0.0000001', excessAmount: null },
    },
    { amount: '25', expected: { status: 'COMPLETED', reason: null, shortfallAmount: null, excessAmount: null } },
    {
      amount: '25.0000001',
      expected: { status: 'COMPLETED', reason: 'overpaid', shortfallAmount: null, excessAmount: '0.0000001' },
    },
  ];
  for (const { amount, expected } of cases) {
    const link = await linkOf();
    await ledger.pay({ to: wallet.address, amount, memo: link.memo });
    t.match(await onlyPayment(link), { ...expected, amount, expectedAmount: '25' }, amount);
  }
});

t.test('a CUSTOM product takes any amount from its minimum on', async (t) => {
  const custom = await productOf({ priceType: 'CUSTOM', minAmount: '5' });
  const free = await productOf({ priceType: 'CUSTOM' });
  const cases = [
    {
      of: custom,
      amount: '4.9999999',
      expected: { status: 'UNDERPAID', reason: 'below_minimum', shortfallAmount: '0.0000001' },
    },
    { of: custom, amount: '5', expected: { status: 'COMPLETED', reason: null, expectedAmount: '5' } },
    { of: custom, amount: '500', expected: { status: 'COMPLETED', reason: null, excessAmount: null } },
    { of: free, amount: '0.0000001', expected: { status: 'COMPLETED', reason: null, expectedAmount: null } },
  ];
  for (const { of, amount, expected } of cases) {
    const link = await linkOf(of.id);
    await ledger.pay({ to: wallet.address, amount, memo: link.memo });
    t.match(await onlyPayment(link), expected, `${amount} of ${of.minAmount}`);
  }
});

t.test('an asset is its code and its issuer', async (t) => {
  const inUsd = await productOf({
    walletId: usdWallet.id,
    assetCode: 'USD',
    assetIssuer: usd.assetIssuer,
    price: '25',
  });
  const right = await linkOf(inUsd.id);
  await ledger.pay({
    to: shop.address,
    amount: '25',
    assetCode: 'USD',
    assetIssuer: usd.assetIssuer,
    memo: right.memo,
  });
  t.match(await onlyPayment(right), { status: 'COMPLETED', assetCode: 'USD', assetIssuer: usd.assetIssuer });

  const wrong = await linkOf(inUsd.id);
  await ledger.pay({
    to: shop.address,
    amount: '25',
    assetCode: 'USD',
    assetIssuer: fakeUsd.assetIssuer,
    memo: wrong.memo,
  });
  t.match(await onlyPayment(wrong), { status: 'REJECTED', reason: 'wrong_asset', expectedAmount: '25' });

  const lumens = await linkOf(inUsd.id);
  await ledger.pay({ to: shop.address, amount: '25', memo: lumens.memo });
  t.match(await onlyPayment(lumens), { status: 'REJECTED', reason: 'wrong_asset' });
  t.equal((await service.api('GET', `/payment-links/${wrong.id}`)).data.paymentCount, 0);
});

t.test('a link paid into another wallet of the account on the same network is judged normally', async (t) => {
  const link = await linkOf();
  await ledger.pay({ to: shop.address, amount: '25', memo: link.memo });
  t.match(await onlyPayment(link), { status: 'COMPLETED', walletId: usdWallet.id });
});

t.test('payments that name no link are UNMATCHED, each with its reason, and are told as such once', async (t) => {
  const told = async (type: string) => (await service.api('GET', `/events?type=${type}`)).meta!.total;
  await allNumbered(service);
  const matched = await told('payment.received');
  const unmatched = await told('payment.unmatched');
  const cases = [
    { memo: null, reason: 'no_memo', shown: null },
    { memo: Memo.text(''), reason: 'no_memo', shown: '' },
    { memo: 'hello', reason: 'unknown_memo', shown: 'hello' },
    { memo: Memo.text(Buffer.from([0xff, 0xfe]) as never), reason: 'unknown_memo', shown: '\ufffd\ufffd' },
    { memo: Memo.id('42'), reason: 'unknown_memo', shown: '42' },
    {
      memo: Memo.hash('ab'.repeat(32)),
      reason: 'unsupported_memo',
      shown: Buffer.from('ab'.repeat(32), 'hex').toString('base64'),
    },
  ];
  for (const { memo, reason, shown } of cases) {
    const { hash } = await ledger.pay({ to: wallet.address, amount: '25', memo });
    t.match(await unmatchedOf(hash), { status: 'UNMATCHED', reason, memo: shown, paymentLinkId: null, product: null });
  }
  const stranger = await service.openAccount();
  const foreign = await service.api(
    'POST',
    '/wallets',
    { name: 'F', address: wallet.address, network: 'LOCAL' },
    stranger.apiKey,
  );
  t.equal(foreign.status, 201, 'another account may watch the same address');
  const link = await linkOf();
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  t.match(await onlyPayment(link), { status: 'COMPLETED' });
  const seen = await eventually(
    async () => (await service.api('GET', '/payments?status=UNMATCHED', undefined, stranger.apiKey)).data[0],
    "the stranger's view",
  );
  t.match(seen, { reason: 'unknown_memo', walletId: foreign.data.id, paymentLinkId: null });
  await allNumbered(service);
  t.equal(await told('payment.received'), matched + 1, 'only the matched one is received');
  t.equal(await told('payment.unmatched'), unmatched + cases.length);
  const [newest] = (await service.api('GET', '/events?type=payment.unmatched&pageSize=1')).data;
  t.match(newest.data, { payment: { status: 'UNMATCHED' }, paymentLink: null, checkout: null, product: null });
});

t.test('account_merge counts with the balance that it moved', async (t) => {
  const link = await linkOf();
  await ledger.merge({ into: wallet.address, memo: link.memo });
  const payment = await onlyPayment(link);
  t.match(payment, { status: 'COMPLETED', reason: 'overpaid', assetCode: 'XLM' });
  t.ok(Number(payment.amount) > 9999, payment.amount);
});

t.test('create_account counts: the wallet may be registered before its account exists', async (t) => {
  const keys = Keys.random();
  const young = (await service.api('POST', '/wallets', { name: 'Young', address: keys.publicKey(), network: 'LOCAL' }))
    .data;
  const link = await linkOf();
  const payer = Keys.fromSecret((await ledger.fund()).secret);
  await ledger.submit({
    from: payer,
    operations: [Operation.createAccount({ destination: keys.publicKey(), startingBalance: '25' })],
    memo: link.memo,
  });
  t.match(await onlyPayment(link), {
    status: 'COMPLETED',
    walletId: young.id,
    senderAddress: payer.publicKey(),
    amount: '25',
  });
});

t.test('muxed destinations, path payments and fee bumps count like any payment', async (t) => {
  const payer = Keys.fromSecret((await ledger.fund()).secret);
  const muxed = new MuxedAccount(new Account(wallet.address, '0'), '7').accountId();
  const toMuxed = await linkOf();
  await ledger.submit({
    from: payer,
    operations: [Operation.payment({ destination: muxed, asset: Asset.native(), amount: '25' })],
    memo: toMuxed.memo,
  });
  t.match(await onlyPayment(toMuxed), { status: 'COMPLETED', receiverAddress: wallet.address });

  const byPath = await linkOf();
  const path = { destination: wallet.address, sendAsset: Asset.native(), destAsset: Asset.native(), path: [] };
  await ledger.submit({
    from: payer,
    operations: [
      Operation.pathPaymentStrictReceive({ ...path, sendMax: '30', destAmount: '25' }),
      Operation.pathPaymentStrictSend({ ...path, sendAmount: '26', destMin: '25' }),
    ],
    memo: byPath.memo,
  });
  await eventually(async () => (await paymentsOfLink(byPath.id)).length === 2, 'both path payments');

  const bumped = await linkOf();
  const inner = new TransactionBuilder(await ledger.server.loadAccount(payer.publicKey()), {
    fee: '100',
    networkPassphrase: ledger.passphrase,
  })
    .addOperation(Operation.payment({ destination: wallet.address, asset: Asset.native(), amount: '25' }))
    .addMemo(Memo.text(bumped.memo))
    .setTimeout(60)
    .build();
  inner.sign(payer);
  const sponsor: Keypair = Keys.fromSecret((await ledger.fund()).secret);
  const outer = TransactionBuilder.buildFeeBumpTransaction(sponsor, '200', inner, ledger.passphrase);
  outer.sign(sponsor);
  const { hash } = await ledger.server.submitTransaction(outer);
  t.match(await onlyPayment(bumped), { status: 'COMPLETED', transactionHash: hash, senderAddress: payer.publicKey() });
});

/** The three spellings of a memo, by each kind of operation that can carry them. */
t.test(
  'a payment names its link by text memo, by memo id, or by muxed address, in every kind of operation',
  async (t) => {
    const XLM = Asset.native();
    const path = { sendAsset: XLM, destAsset: XLM, path: [] };
    const operations: Record<
      string,
      (destination: string) => Parameters<typeof ledger.submit>[0]['operations'][number]
    > = {
      payment: (destination) => Operation.payment({ destination, asset: XLM, amount: '25' }),
      path_payment_strict_receive: (destination) =>
        Operation.pathPaymentStrictReceive({ ...path, destination, sendMax: '30', destAmount: '25' }),
      path_payment_strict_send: (destination) =>
        Operation.pathPaymentStrictSend({ ...path, destination, sendAmount: '25', destMin: '25' }),
      account_merge: (destination) => Operation.accountMerge({ destination }),
    };
    const stray = memoIdOf(createMemo(systemClock, 'link'));
    const muxed = (id: string) => new MuxedAccount(new Account(wallet.address, '0'), id).accountId();
    type Link = { memo: string };
    /** What is sent, which link (the first or the second of two) it names or why it names none, and
     *  what the payment shows. */
    const spellings: [
      string,
      (own: Link, other: Link) => { to: string; memo: string | Memo | null },
      0 | 1 | string,
    ][] = [
      ['text memo', (own) => ({ to: wallet.address, memo: own.memo }), 0],
      ['id memo', (own) => ({ to: wallet.address, memo: Memo.id(memoIdOf(own.memo)) }), 0],
      ['muxed, no memo', (own) => ({ to: muxed(memoIdOf(own.memo)), memo: null }), 0],
      ['muxed wins over text', (own, other) => ({ to: muxed(memoIdOf(other.memo)), memo: own.memo }), 1],
      ['muxed wins over hash', (own) => ({ to: muxed(memoIdOf(own.memo)), memo: Memo.hash('ab'.repeat(32)) }), 0],
      ['unknown muxed id, text', (own) => ({ to: muxed('7'), memo: own.memo }), 0],
      ['unknown muxed id, id', (own) => ({ to: muxed(stray), memo: Memo.id(memoIdOf(own.memo)) }), 0],
      ['muxed 0, no memo', () => ({ to: muxed('0'), memo: null }), 'no_memo'],
      ['unknown muxed id, no memo', () => ({ to: muxed(stray), memo: null }), 'no_memo'],
      ['unknown id', () => ({ to: wallet.address, memo: Memo.id(stray) }), 'unknown_memo'],
      [
        'id with a wrong check',
        (own) => ({ to: wallet.address, memo: Memo.id(`${BigInt(memoIdOf(own.memo)) ^ 1n}`) }),
        'unknown_memo',
      ],
      ['hash memo', () => ({ to: wallet.address, memo: Memo.hash('cd'.repeat(32)) }), 'unsupported_memo'],
      ['return memo', () => ({ to: wallet.address, memo: Memo.return('cd'.repeat(32)) }), 'unsupported_memo'],
    ];
    let cases = 0;
    const all = Object.entries(operations).map(async ([kind, operation]) => {
      const payer = Keys.fromSecret((await ledger.fund()).secret);
      const links = await Promise.all([linkOf(), linkOf()]);
      for (const [name, send, named] of spellings) {
        const { to, memo } = send(links[0], links[1]);
        const from = kind === 'account_merge' ? Keys.fromSecret((await ledger.fund()).secret) : payer;
        const { hash } = await ledger.submit({ from, operations: [operation(to)], memo });
        const filter = typeof named === 'string' ? '&status=UNMATCHED' : '';
        const payment = await eventually(
          async () => (await service.api('GET', `/payments?transactionHash=${hash}${filter}`)).data[0],
          `${name} by ${kind}`,
        );
        const expected =
          typeof named === 'string'
            ? { status: 'UNMATCHED', reason: named, paymentLinkId: null }
            : { status: 'COMPLETED', paymentLinkId: links[named]!.id };
        const destinationMuxedId = to.startsWith('M') ? muxedId(to) : null;
        t.match(payment, { ...expected, receiverAddress: wallet.address, destinationMuxedId }, `${name} by ${kind}`);
        cases += 1;
      }
    });
    await Promise.all(all);
    t.comment(`${cases} cases of spelling and operation`);
  },
);

t.test('a contract transfer names its link by the id of its muxed destination', async (t) => {
  const [link, stray] = [await linkOf(), memoIdOf(createMemo(systemClock, 'link'))];
  const change = (to: string, destination_muxed_id?: string) => ({
    asset_type: 'native',
    type: 'transfer',
    from: CONTRACT,
    to,
    amount: '25.0000000',
    ...(destination_muxed_id === undefined ? {} : { destination_muxed_id }),
  });
  const changes = [
    change(wallet.address, memoIdOf(link.memo)),
    change(wallet.address),
    change(wallet.address, '0'),
    change(wallet.address, stray),
  ];
  const operationId = await ledger.inject({
    accounts: [wallet.address],
    record: { type: 'invoke_host_function', type_i: 24, asset_balance_changes: changes },
  });
  const payment = await onlyPayment(link);
  t.match(payment, {
    status: 'COMPLETED',
    memo: null,
    memoType: 'none',
    destinationMuxedId: memoIdOf(link.memo),
    senderAddress: CONTRACT,
    operationId,
  });
  const { data } = await service.api('GET', `/payments?status=UNMATCHED&senderAddress=${CONTRACT}`);
  t.same(
    data.map((each: { reason: string; destinationMuxedId: string }) => [each.reason, each.destinationMuxedId]).sort(),
    [
      ['no_memo', null],
      ['no_memo', '0'],
      ['no_memo', stray],
    ].sort(),
  );
  const refund = (await service.api('GET', `/payments/${payment.id}/refund`)).data;
  t.match(
    refund,
    { uri: null, destination: CONTRACT, amount: '25', memo: `refund ${link.memo}` },
    'no wallet pays a contract',
  );
});

t.test('a refund goes to the muxed sender, with a memo of at most 28 bytes whatever the payer wrote', async (t) => {
  const link = await linkOf();
  const { hash } = await ledger.pay({ to: wallet.address, amount: '25', memo: 'спасибо', fromMuxedId: '99' });
  const payment = await unmatchedOf(hash);
  t.match(payment.senderMuxedAddress, /^M/);
  const refund = async () => (await service.api('GET', `/payments/${payment.id}/refund`)).data;
  t.match(await refund(), { destination: payment.senderMuxedAddress, memo: null, memoType: null });
  await service.api('POST', `/payments/${payment.id}/assign`, { paymentLinkId: link.id });
  const { uri, memo } = await refund();
  t.equal(memo, `refund ${link.memo}`);
  t.match(parsePayUri(uri), { destination: payment.senderMuxedAddress, memo });
});

t.test('instructions say all that is needed to pay a link, and QR codes hold the same request', async (t) => {
  const link = await linkOf();
  const get = (query = '') => service.api('GET', `/payment-links/${link.id}/instructions${query}`);
  const { data } = await get();
  const memoId = memoIdOf(link.memo);
  t.match(data, {
    address: wallet.address,
    muxedAddress: new MuxedAccount(new Account(wallet.address, '0'), memoId).accountId(),
    memo: link.memo,
    memoId,
    amount: '25',
    assetCode: 'XLM',
    assetIssuer: null,
    network: 'LOCAL',
    networkPassphrase: ledger.passphrase,
    qrSvg: /^<svg /,
    pageUrl: link.url,
  });
  t.match(parsePayUri(data.uri), {
    destination: wallet.address,
    amount: '25',
    memo: link.memo,
    memo_type: 'MEMO_TEXT',
  });
  t.match(await get('?amount=25'), { status: 400, error: { code: 'bad_request' } }, 'a fixed price takes no amount');
  t.equal((await get('?amount=')).status, 200);

  const custom = await linkOf((await productOf({ priceType: 'CUSTOM', minAmount: '5' })).id);
  const chosen = (query: string) => service.api('GET', `/payment-links/${custom.id}/instructions${query}`);
  t.equal((await chosen('')).data.amount, null);
  t.equal((await chosen('?amount=7.50')).data.amount, '7.5');
  for (const amount of ['4.9999999', '0', '-1', '1e3', 'seven', '1&amount=2']) {
    t.match(await chosen(`?amount=${amount}`), { status: 400, error: { code: 'bad_request' } }, amount);
  }

  const image = (of: { slug: string }, file: string) => fetch(`${service.url}/p/${of.slug}/${file}`);
  for (const [of, query, amount] of [
    [link, '', '25'],
    [link, '?amount=99', '25'],
    [custom, '?amount=7.5', '7.5'],
  ] as const) {
    const png = await image(of, `qr.png${query}`);
    t.match(png.headers.get('cache-control'), /public, max-age=\d+/);
    t.equal(png.headers.get('cross-origin-resource-policy'), 'cross-origin', "a merchant's own page may show it");
    const uri = decodeQr(Buffer.from(await png.arrayBuffer()));
    t.match(parsePayUri(uri), { destination: wallet.address, amount, memo: of.memo });
    const svg = await image(of, `qr.svg${query}`);
    t.match(svg.headers.get('content-type'), /^image\/svg\+xml/);
    t.equal(svg.headers.get('cross-origin-resource-policy'), 'cross-origin');
    if (of === link) t.equal(await svg.text(), data.qrSvg);
  }
  t.match(await (await image(custom, 'qr.svg?amount=1')).json(), { data: null, error: { code: 'bad_request' } });
  t.equal((await image({ slug: 'nothere00000' }, 'qr.png')).status, 404);

  await service.api('PATCH', `/payment-links/${link.id}`, { active: false });
  t.equal((await get()).status, 409);
  t.equal((await image(link, 'qr.svg')).status, 404);
});

t.test('payments of one transaction are told apart; one to oneself and a failed one do not count', async (t) => {
  const link = await linkOf();
  const payer = Keys.fromSecret((await ledger.fund()).secret);
  const pay = (destination: string, amount: string) =>
    Operation.payment({ destination, asset: Asset.native(), amount });
  await t.rejects(
    ledger.submit({
      from: payer,
      operations: [pay(wallet.address, '25'), pay(wallet.address, '99999999')],
      memo: link.memo,
    }),
  );
  await ledger.submit({
    from: payer,
    operations: [pay(wallet.address, '25'), pay(wallet.address, '5'), pay(payer.publicKey(), '25')],
    memo: link.memo,
  });
  const payments = await eventually(async () => {
    const found = await paymentsOfLink(link.id);
    return found.length >= 2 && found;
  }, 'both payments');
  t.same(payments.map(({ amount, status }: { amount: string; status: string }) => [amount, status]).sort(), [
    ['25', 'COMPLETED'],
    ['5', 'UNDERPAID'],
  ]);
  t.not(payments[0].operationId, payments[1].operationId);
});

t.test('each balance change of a Soroban operation counts on its own', async (t) => {
  const link = await linkOf();
  const change = (fields: Record<string, unknown>) => ({
    asset_type: 'native',
    type: 'transfer',
    from: shop.address,
    ...fields,
  });
  await ledger.inject({
    accounts: [wallet.address],
    record: {
      type: 'invoke_host_function',
      type_i: 24,
      function: 'HostFunctionTypeHostFunctionTypeInvokeContract',
      parameters: [],
      address: '',
      salt: '',
      asset_balance_changes: [
        change({ to: wallet.address, amount: '25.0000000' }),
        change({ to: Keys.random().publicKey(), amount: '1.0000000' }),
        change({ to: wallet.address, amount: '26.0000000' }),
      ],
    },
    transaction: { memo: link.memo, memo_bytes: Buffer.from(link.memo).toString('base64'), memo_type: 'text' },
  });
  const payments = await eventually(async () => {
    const found = await paymentsOfLink(link.id);
    return found.length >= 2 && found;
  }, 'both changes');
  t.equal(payments.length, 2);
  t.equal(payments[0].operationId, payments[1].operationId);
  t.not(payments[0].id, payments[1].id);
});

t.test('accept takes an UNDERPAID or REJECTED payment after all, once, with its event', async (t) => {
  const link = await linkOf();
  await ledger.pay({ to: wallet.address, amount: '20', memo: link.memo });
  const payment = await onlyPayment(link);
  t.equal(payment.status, 'UNDERPAID');
  const answers = await Promise.all([1, 2, 3].map(() => service.api('POST', `/payments/${payment.id}/accept`)));
  t.same(answers.map(({ status }) => status).sort(), [200, 409, 409]);
  const accepted = (await service.api('GET', `/payments/${payment.id}`)).data;
  t.match(accepted, { status: 'COMPLETED', reason: null, shortfallAmount: '5', expectedAmount: '25' });
  await allNumbered(service);
  const events = (await service.api('GET', `/events?paymentId=${payment.id}&order=asc`)).data;
  t.same(
    events.map((event: { type: string; data: { payment: { status: string } } }) => [
      event.type,
      event.data.payment.status,
    ]),
    [
      ['payment.received', 'UNDERPAID'],
      ['payment.decision', 'UNDERPAID'],
      ['payment.completed', 'COMPLETED'],
    ],
  );
  t.equal((await service.api('GET', `/payment-links/${link.id}`)).data.paymentCount, 1);
});

t.test('assign gives an UNMATCHED payment to a link and judges it by the terms of then', async (t) => {
  const { hash } = await ledger.pay({ to: wallet.address, amount: '25', memo: 'forgot it' });
  const payment = await unmatchedOf(hash);
  const link = await linkOf();
  await service.api('PATCH', `/payment-links/${link.id}`, { active: false });
  const bad = await service.api('POST', `/payments/${payment.id}/assign`, { paymentLinkId: 'link_nope' });
  t.match(bad, { status: 422, error: { code: 'validation_error', details: [{ path: 'paymentLinkId' }] } });
  const assigned = await service.api('POST', `/payments/${payment.id}/assign`, { paymentLinkId: link.id });
  t.match(assigned, { status: 200, data: { status: 'COMPLETED', paymentLinkId: link.id, memo: 'forgot it' } });
  t.equal((await service.api('POST', `/payments/${payment.id}/assign`, { paymentLinkId: link.id })).status, 409);
  await allNumbered(service);
  const told = (await service.api('GET', `/events?paymentId=${payment.id}&order=asc`)).data.map(
    ({ type }: any) => type,
  );
  t.same(told, ['payment.unmatched', 'payment.decision', 'payment.received', 'payment.completed']);
  t.equal((await service.api('GET', `/payment-links/${link.id}`)).data.paymentCount, 1);
  t.equal((await service.api('DELETE', `/payment-links/${link.id}`)).status, 409, 'it has payment history now');
});

t.test('a refund is a request that sends the same money back', async (t) => {
  const link = await linkOf();
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  const payment = await onlyPayment(link);
  const { data } = await service.api('GET', `/payments/${payment.id}/refund`);
  t.match(data, { destination: payment.senderAddress, amount: '25', assetCode: 'XLM', assetIssuer: null });
  t.match(parsePayUri(data.uri), {
    destination: payment.senderAddress,
    amount: '25',
    memo: data.memo,
    memo_type: 'MEMO_TEXT',
    network_passphrase: 'Standalone Network ; February 2017',
  });
});
