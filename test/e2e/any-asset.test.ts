/** Paying in another asset than the one that is asked for, by the market of the local ledger: exact
 *  to the stroop for the shop, bounded for the payer. */
import { Asset, Keypair, Operation, type Transaction, TransactionBuilder } from '@stellar/stellar-sdk';
import t from 'tap';
import { networkInfo } from '../../contracts/networks.js';
import { completeDemoMarket, fundDemoWallet, openMarket } from '../../src/app/demo.js';
import { startTestLedger } from '../helpers/ledger.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService, type TestService } from '../helpers/service.js';

const service = await startTestService(t);
const { client } = service.context.localLedger!;
const { passphrase } = networkInfo.LOCAL;
const native = Asset.native();

const issuer = Keypair.fromSecret((await client.fund()).secret);
const [EURC, USDC] = [new Asset('EURC', issuer.publicKey()), new Asset('USDC', issuer.publicKey())];

/** An account that holds as much of each asset. */
async function holder(...assets: [asset: Asset, amount: string][]): Promise<Keypair> {
  const key = Keypair.fromSecret((await client.fund()).secret);
  const operations = assets.flatMap(([asset, amount]) => [
    Operation.changeTrust({ asset }),
    Operation.payment({ source: issuer.publicKey(), destination: key.publicKey(), asset, amount }),
  ]);
  if (operations.length > 0) await client.submit({ from: key, operations, signers: [issuer] });
  return key;
}

const maker = await holder([EURC, '10000'], [USDC, '10000']);
const offers = async () => (await client.server.offers().seller(maker.publicKey()).call()).records;

/** Lets the market maker sell lumens at so many units of an asset each, and nothing else. */
async function setPrice(asset: Asset, price: string, amount = '1000'): Promise<void> {
  const ended = (await offers()).map(({ id, selling, buying }) => {
    const of = ({ asset_code: code, asset_issuer: by }: { asset_code?: string; asset_issuer?: string }) =>
      code ? new Asset(code, by!) : native;
    return Operation.manageSellOffer({
      selling: of(selling),
      buying: of(buying),
      amount: '0',
      price: '1',
      offerId: id,
    });
  });
  const made = Operation.manageSellOffer({ selling: native, buying: asset, amount, price });
  await client.submit({ from: maker, operations: [...ended, made] });
}

async function post(path: string, body: unknown, at: TestService = service) {
  const response = await fetch(`${at.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { data, error } = (await response.json()) as { data: any; error: any };
  return { status: response.status, data, error };
}

const named = (asset: Asset) => ({ assetCode: asset.getCode(), assetIssuer: asset.getIssuer() });
const read = (xdr: string) => TransactionBuilder.fromXdr(xdr, passphrase) as Transaction;

/** As a wallet does it. */
function sign(xdr: string, key: Keypair): string {
  const transaction = read(xdr);
  transaction.sign(key);
  return transaction.toXdr();
}

const paymentsOf = async (query: string) => (await service.api('GET', `/payments?${query}`)).data;
const balanceOf = async (key: Keypair, asset: Asset): Promise<string> =>
  (await client.server.loadAccount(key.publicKey())).balances.find(
    (line) => 'asset_code' in line && line.asset_code === asset.getCode(),
  )!.balance;

async function audited(walletId: string): Promise<any> {
  const { data } = await service.api('POST', `/wallets/${walletId}/audits`);
  return eventually(async () => {
    const { data: all } = await service.api('GET', `/wallets/${walletId}/audits`);
    return all.find((each: any) => each.id === data.id && each.status !== 'RUNNING');
  }, 'the end of the audit');
}

const stroops = (amount: string): bigint => {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.');
  return BigInt(whole + fraction.padEnd(7, '0')) * (amount.startsWith('-') ? -1n : 1n);
};

t.test('a price in lumens is paid in EURC: the shop gets exactly the price, and its books are exact', async (t) => {
  await setPrice(EURC, '0.35');
  const payer = await holder([EURC, '100'], [USDC, '7']);
  const till = await client.fund();
  const wallet = (await service.api('POST', '/wallets', { name: 'Shop', address: till.address, network: 'LOCAL' }))
    .data;
  const terms = { walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '25' };
  const product = (await service.api('POST', '/products', { name: 'Shirt', ...terms })).data;
  const checkout = (await service.api('POST', '/checkouts', { productId: product.id })).data;
  const path = `/c/${checkout.slug}`;
  const account = payer.publicKey();

  const ways = await post(`${path}/ways`, { account });
  t.equal(ways.status, 200);
  t.match(ways.data, [
    { assetCode: 'XLM', assetIssuer: null, balance: /^9999\.\d+$/, cost: '25' },
    { ...named(EURC), balance: '100', cost: '8.75' },
  ]);
  t.equal(ways.data.length, 2, 'nothing leads from USDC');
  const { data } = await post(`${path}/transaction`, { account, sendAsset: named(EURC) });
  t.equal(data.networkPassphrase, passphrase);
  t.match(read(data.xdr).operations, [
    {
      type: 'pathPaymentStrictReceive',
      sendMax: '8.8375000',
      destination: till.address,
      destAmount: '25.0000000',
      path: [],
    },
  ]);
  const handed = await post(`${path}/submit`, { xdr: sign(data.xdr, payer) });
  t.equal(handed.status, 200);
  t.equal(await balanceOf(payer, EURC), '91.2500000', 'what it cost, and not the most that it may have cost');
  const [came] = await eventually(async () => {
    const found = await paymentsOf(`checkoutId=${checkout.id}`);
    return found.length === 1 && found;
  }, 'the payment');
  t.match(came, {
    status: 'COMPLETED',
    amount: '25',
    assetCode: 'XLM',
    senderAddress: account,
    transactionHash: handed.data.transactionHash,
  });
  t.equal((await service.api('GET', `/checkouts/${checkout.id}`)).data.status, 'PAID');

  // The shop trades as well: by an offer that another account takes, and by a path payment of
  // its own.
  const shop = Keypair.fromSecret(till.secret);
  await client.submit({
    from: shop,
    operations: [
      Operation.changeTrust({ asset: EURC }),
      Operation.manageSellOffer({ selling: native, buying: EURC, amount: '7', price: '0.3' }),
    ],
  });
  await client.submit({
    from: payer,
    operations: [Operation.manageBuyOffer({ selling: EURC, buying: native, buyAmount: '7', price: '0.3' })],
  });
  const onward = { sendAsset: EURC, sendAmount: '1', destination: account, destAsset: native, destMin: '2', path: [] };
  await client.submit({ from: shop, operations: [Operation.pathPaymentStrictSend(onward)] });
  const audit = await audited(wallet.id);
  t.match(audit, { status: 'PROVEN', missingPayments: 0 }, JSON.stringify(audit.assets));
  const of = (code: string) => audit.assets.find(({ assetCode }: any) => assetCode === code);
  t.match(of('XLM').movements, { received: /^10025$|^25$/, traded: '-7' });
  t.match(of('EURC').movements, { traded: '2.1', sent: '1' }, 'a path payment of its own is what it sent');
  const statement = (await service.api('GET', `/wallets/${wallet.id}/statement`)).data;
  for (const { assetCode, opening, closing, movements } of statement.assets) {
    const sum = movements.reduce((all: bigint, { amount }: any) => all + stroops(amount), 0n);
    t.equal(stroops(opening) + sum, stroops(closing), `${assetCode} of the statement`);
  }
  const told = statement.assets.find(({ assetCode }: any) => assetCode === 'XLM').movements;
  t.match(told.filter(({ kind }: any) => kind === 'traded' || kind === 'received').slice(-2), [
    { kind: 'received', amount: '25', counterparty: account, paymentId: came.id },
    { kind: 'traded', amount: '-7', paymentId: null },
  ]);
  t.equal((await paymentsOf(`walletId=${wallet.id}&pageSize=100`)).length, 1, 'a trade is no payment');
});

t.test('a book that has moved costs the payer nothing, and the payer is told why', async (t) => {
  const { link } = await startSelling(service);
  const path = `/p/${link.slug}`;
  const payer = await holder([EURC, '100']);
  const account = payer.publicKey();
  const ask = () => post(`${path}/transaction`, { account, sendAsset: named(EURC) });
  const submit = async (xdr: string) => post(`${path}/submit`, { xdr: sign(xdr, payer) });

  await setPrice(EURC, '0.4');
  const first = await ask();
  t.equal(first.status, 200);
  await setPrice(EURC, '0.405');
  t.match(await submit(first.data.xdr), {
    status: 422,
    error: { message: /price has moved.*Nothing was paid/, details: [{ path: 'xdr', code: 'op_over_source_max' }] },
  });
  t.equal(await balanceOf(payer, EURC), '100.0000000');
  t.match(read((await ask()).data.xdr).operations, [{ sendMax: '10.2262500' }], 'the next try is at the price of now');
  await setPrice(EURC, '0.4');
  t.match((await post(`${path}/ways`, { account })).data, [{}, { cost: '10' }]);
  await setPrice(EURC, '0.404');
  const second = await ask();
  t.match(read(second.data.xdr).operations, [{ sendMax: '10.1000000' }], 'what was told a moment ago');
  t.match(await submit(second.data.xdr), { status: 200 }, 'one per cent dearer is still paid');
  t.equal(await balanceOf(payer, EURC), '89.9000000');

  const third = await ask();
  await setPrice(USDC, '0.4');
  t.match(await submit(third.data.xdr), { status: 422, error: { details: [{ code: 'op_too_few_offers' }] } });
  await setPrice(EURC, '0.4', '20');
  const stranger = await holder();
  const fourth = await startSelling(service, { price: '5' });
  const strange = { account: stranger.publicKey(), sendAsset: named(EURC) };
  const { data } = await post(`/p/${fourth.link.slug}/transaction`, strange);
  t.match(
    await post(`/p/${fourth.link.slug}/submit`, { xdr: sign(data.xdr, stranger) }),
    { status: 422, error: { message: /trustline to this EURC/, details: [{ code: 'op_src_no_trust' }] } },
    'an account that holds none of it',
  );
  const checkout = await service.api('POST', '/checkouts', { productId: link.product.id, quantity: 2 });
  const order = `/c/${checkout.data.slug}`;
  t.match(
    await post(`${order}/transaction`, { account, sendAsset: named(EURC) }),
    { status: 422, error: { message: /^Paying in EURC/, details: [{ path: 'sendAsset', code: 'not_found' }] } },
    'the book has not enough',
  );
  t.match((await post(`${order}/ways`, { account })).data, [{ assetCode: 'XLM', cost: '50' }]);
  t.match(await paymentsOf(`paymentLinkId=${link.id}`), [{ amount: '25', status: 'COMPLETED' }]);
});

t.test(
  'the amount of a CUSTOM product is the payer’s, and what is asked wrongly is told by path and code',
  async (t) => {
    const { link } = await startSelling(service, { priceType: 'CUSTOM', price: null, minAmount: '5' });
    const path = `/p/${link.slug}`;
    await setPrice(EURC, '0.5');
    const payer = await holder([EURC, '100']);
    const account = payer.publicKey();
    t.match((await post(`${path}/ways`, { account, amount: '6' })).data, [{ cost: '6' }, { cost: '3' }]);
    const { data } = await post(`${path}/transaction`, { account, amount: '6', sendAsset: named(EURC) });
    t.equal((await post(`${path}/submit`, { xdr: sign(data.xdr, payer) })).status, 200);
    await eventually(async () => (await paymentsOf(`paymentLinkId=${link.id}`))[0]?.amount === '6', 'the payment');
    const itself = await post(`${path}/transaction`, { account, amount: '6', sendAsset: { assetCode: 'XLM' } });
    t.match(read(itself.data.xdr).operations, [{ type: 'payment', amount: '6.0000000' }]);

    const stranger = Keypair.random().publicKey();
    const contract = `C${'A'.repeat(55)}`;
    const cases: [path: string, body: object, status: number, field: string, code?: string][] = [
      ['ways', {}, 422, 'account'],
      ['ways', { account: contract, amount: '6' }, 422, 'account'],
      ['ways', { account: stranger, amount: '6' }, 422, 'account', 'not_found'],
      ['ways', { account }, 422, 'amount', 'required'],
      ['ways', { account, amount: '4.9' }, 422, 'amount', 'too_small'],
      ['ways', { account, amount: '6', more: 1 }, 422, 'more'],
      ['transaction', { account, amount: '6', sendAsset: 'EURC' }, 422, 'sendAsset'],
      ['transaction', { account, amount: '6', sendAsset: {} }, 422, 'sendAsset.assetCode', 'required'],
      [
        'transaction',
        { account, amount: '6', sendAsset: { assetCode: 'EURC' } },
        422,
        'sendAsset.assetIssuer',
        'required',
      ],
      [
        'transaction',
        { account, amount: '6', sendAsset: { ...named(EURC), assetCode: 'XLM' } },
        422,
        'sendAsset.assetIssuer',
      ],
      [
        'transaction',
        { account, amount: '6', sendAsset: { ...named(EURC), assetCode: 'EUR-C' } },
        422,
        'sendAsset.assetCode',
      ],
      ['transaction', { account, amount: '6', sendAsset: { ...named(EURC), more: 1 } }, 422, 'sendAsset.more'],
      [
        'transaction',
        { account, amount: '6', sendAsset: { assetCode: 'NONE', assetIssuer: stranger } },
        422,
        'sendAsset',
      ],
    ];
    for (const [at, body, status, field, code] of cases) {
      const wanted = { status, error: { details: [{ path: field, ...(code && { code }) }] } };
      t.match(await post(`${path}/${at}`, body), wanted, JSON.stringify(body).slice(0, 80));
    }
    t.match(await post('/p/unknown/ways', { account }), { status: 404 });
    t.match(await post(`/c/${link.slug}/ways`, { account }), { status: 404 }, 'a link is no checkout');
  },
);

t.test('only a payment that brings the asset of the page is handed on', async (t) => {
  const { link, wallet } = await startSelling(service);
  await setPrice(EURC, '0.5');
  const payer = await holder([EURC, '100']);
  const account = await client.server.loadAccount(payer.publicKey());
  const { memo } = link;
  const { Memo } = await import('@stellar/stellar-sdk');
  const made = (operation: ReturnType<typeof Operation.payment>) => {
    const builder = new TransactionBuilder(account, {
      fee: '100',
      networkPassphrase: passphrase,
      memo: Memo.text(memo),
    });
    const transaction = builder.addOperation(operation).setTimeout(60).build();
    transaction.sign(payer);
    return post(`/p/${link.slug}/submit`, { xdr: transaction.toXdr() });
  };
  const way = { sendAsset: native, sendMax: '50', destination: wallet.address, destAmount: '5', path: [] };
  t.match(await made(Operation.pathPaymentStrictReceive({ ...way, destAsset: EURC })), { status: 422 });
  const elsewhere = { ...way, destination: payer.publicKey(), destAsset: native };
  t.match(await made(Operation.pathPaymentStrictReceive(elsewhere)), { status: 422 });
  const sending = {
    sendAsset: EURC,
    sendAmount: '5',
    destination: wallet.address,
    destAsset: native,
    destMin: '1',
    path: [],
  };
  t.match(await made(Operation.pathPaymentStrictSend(sending)), { status: 422 }, 'what arrives would not be certain');
});

t.test('the demo has a market, which any account can use', async (t) => {
  const till = await client.fund();
  await openMarket(client, till.secret);
  const payer = await client.fund();
  const { assetIssuer } = await client.issue({ code: 'EURC', amount: '50', toSecret: payer.secret });
  const { product } = await startSelling(service);
  const checkout = (await service.api('POST', '/checkouts', { productId: product.id })).data;
  const ways = await post(`/c/${checkout.slug}/ways`, { account: payer.address });
  t.match(ways.data.slice(1), [{ assetCode: 'EURC', assetIssuer, balance: '50', cost: '6.275' }]);
  const { balances } = await client.server.loadAccount(till.address);
  t.same(
    balances.map((line) => ('asset_code' in line ? line.asset_code : 'XLM')),
    ['EURC', 'USDC', 'XLM'],
  );
});

t.test('a start finds what an earlier one left undone of the demo’s market, and adds nothing twice', async (t) => {
  const { client } = await startTestLedger(t, { uri: (await testDatabase(t)).uri, closeMs: 200 });
  const offers = async () => (await client.server.offers().limit(200).call()).records.length;
  await completeDemoMarket(client);
  t.equal(await offers(), 0, 'without a demo there is none');
  const address = await fundDemoWallet(client);
  // As if the process had ended at each of its submissions.
  for (let submitted = 0; submitted < 8; submitted++) {
    let left = submitted;
    const ending =
      <T>(act: (request: T) => Promise<unknown>) =>
      async (request: T) => {
        if (left-- <= 0) throw new Error('killed');
        return act(request);
      };
    const { fund, issue, trust, offer } = client;
    const killed = { fund: ending(fund), issue: ending(issue), trust: ending(trust), offer: ending(offer) };
    await completeDemoMarket({ ...client, ...killed } as never).catch(() => undefined);
  }
  await completeDemoMarket(client);
  await completeDemoMarket(client);
  t.equal(await offers(), 4);
  t.equal((await client.server.loadAccount(address)).balances.length, 3);
});

t.test('a market that cannot be read leaves the asset itself, and all else goes on', async (t) => {
  const { link } = await startSelling(service);
  const path = `/p/${link.slug}`;
  const payer = await holder([EURC, '100']);
  const account = payer.publicKey();
  const { id } = await client.faults.add({ kind: 'unavailable', path: '/paths' });
  t.match((await post(`${path}/ways`, { account })).data, [{ assetCode: 'XLM', cost: '25' }]);
  t.match(await post(`${path}/transaction`, { account, sendAsset: named(EURC) }), {
    status: 503,
    error: { code: 'unavailable' },
  });
  t.equal((await post(`${path}/transaction`, { account })).status, 200, 'the server is asked as before');
  await client.faults.remove(id);
});

t.test('ways count in the public limit, as pages do', async (t) => {
  const few = await startTestService(t, { env: { PUBLIC_RATE_LIMIT_PER_MINUTE: '3' } });
  const statuses: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    statuses.push((await post('/p/unknown/ways', { account: issuer.publicKey() }, few)).status);
  }
  t.same(statuses, [404, 404, 404, 429]);
});

t.test(
  'by Stellar RPC alone there is the asset itself, and a payment that came by a market is the same payment',
  LONG,
  async (t) => {
    const { uri } = await testDatabase(t);
    const { url, client: other } = await startTestLedger(t, { uri, closeMs: 100 });
    const rpcOnly = await startTestService(t, { env: { RPC_URLS_LOCAL: `${url}/rpc` } });
    const byHorizon = await startTestService(t, { env: { HORIZON_URLS_LOCAL: url } });
    const [till, seller] = [await other.fund(), await other.fund()];
    const payer = await other.fund();
    const { assetIssuer } = await other.issue({ code: 'EURC', amount: '100', toSecret: payer.secret });
    await other.trust({ secret: seller.secret, assetCode: 'EURC', assetIssuer });
    const market = { selling: null, buying: { code: 'EURC', issuer: assetIssuer }, amount: '500', price: '0.3' };
    await other.offer({ secret: seller.secret, ...market });
    const eurc = new Asset('EURC', assetIssuer);

    async function startOn(of: TestService) {
      const wallet = await of.api('POST', '/wallets', { name: 'W', address: till.address, network: 'LOCAL' });
      const terms = { walletId: wallet.data.id, assetCode: 'XLM', priceType: 'FIXED', price: '10' };
      const product = await of.api('POST', '/products', { name: 'Thing', ...terms });
      return {
        walletId: wallet.data.id,
        link: (await of.api('POST', '/payment-links', { productId: product.data.id })).data,
      };
    }
    const shown = await startOn(byHorizon);
    const { walletId, link } = await startOn(rpcOnly);
    const path = `/p/${link.slug}`;
    const account = payer.address;
    const ways = await post(`${path}/ways`, { account }, rpcOnly);
    t.equal(ways.data.length, 1);
    t.match(ways.data, [{ assetCode: 'XLM', assetIssuer: null, cost: '10' }]);
    t.match(await post(`${path}/transaction`, { account, sendAsset: named(eurc) }, rpcOnly), {
      status: 422,
      error: { details: [{ path: 'sendAsset', code: 'not_found' }] },
    });

    const key = Keypair.fromSecret(payer.secret);
    const pay = (sendMax: string) =>
      other.submit({
        from: key,
        memo: link.memo,
        operations: [
          Operation.pathPaymentStrictReceive({
            ...{ sendAsset: eurc, sendMax, destination: till.address, destAsset: native, destAmount: '10', path: [] },
          }),
        ],
      });
    await t.rejects(pay('2.9'));
    const { hash } = await pay('3');
    const found = async (of: TestService, id: string) =>
      (
        await eventually(async () => {
          const { data } = await of.api(
            'GET',
            `/payments?walletId=${id}&pageSize=100&status=UNMATCHED&status=COMPLETED`,
          );
          const [came] = data.filter(({ transactionHash }: any) => transactionHash === hash);
          return came && [came];
        }, 'the payment')
      )[0];
    const byRpc = await found(rpcOnly, walletId);
    t.match(byRpc, { status: 'COMPLETED', amount: '10', assetCode: 'XLM', senderAddress: account, memo: link.memo });
    const seen = await found(byHorizon, shown.walletId);
    for (const field of ['amount', 'assetCode', 'senderAddress', 'operationId', 'ledger', 'memo', 'transactionHash']) {
      t.same(byRpc[field], seen[field], field);
    }
    // The shop's own trades move money, and are no payments by either.
    await other.submit({
      from: Keypair.fromSecret(till.secret),
      operations: [
        Operation.changeTrust({ asset: eurc }),
        Operation.manageSellOffer({ selling: native, buying: eurc, amount: '40', price: '0.2' }),
      ],
    });
    await other.submit({
      from: key,
      operations: [Operation.manageBuyOffer({ selling: eurc, buying: native, buyAmount: '20', price: '0.3' })],
    });
    const friend = await other.fund();
    const past = {
      sendAsset: eurc,
      sendMax: '9',
      destination: friend.address,
      destAsset: native,
      destAmount: '15',
      path: [],
    };
    await other.submit({ from: key, memo: link.memo, operations: [Operation.pathPaymentStrictReceive(past)] });
    await other.pay({ to: till.address, amount: '1', memo: link.memo, fromSecret: payer.secret });
    for (const [of, id] of [
      [rpcOnly, walletId],
      [byHorizon, shown.walletId],
    ] as const) {
      await eventually(async () => {
        const { data } = await of.api('GET', `/payments?walletId=${id}&pageSize=100&status=UNMATCHED&status=UNDERPAID`);
        return data.some(({ amount }: any) => amount === '1');
      }, 'the payment after the trade');
      const { data } = await of.api('GET', `/payments?walletId=${id}&pageSize=100&status=UNMATCHED&status=REJECTED`);
      t.same(
        data.filter(({ assetCode }: any) => assetCode === 'EURC'),
        [],
        'no trade was taken for a payment',
      );
    }
  },
);
