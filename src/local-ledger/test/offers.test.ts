/** Offers, books and path payments by real signed transactions, as shown by Horizon and
 *  Stellar RPC. */
import { Asset, Keypair, Operation, rpc, scValToNative, xdr } from '@stellar/stellar-sdk';
import t from 'tap';
import { startTestLedger } from '../../../test/helpers/ledger.js';
import { testDatabase } from '../../../test/helpers/mongo.js';
import { LedgerRefusedError } from '../refusal.js';

const { db } = await testDatabase(t);
const { url, client } = await startTestLedger(t, { db, closeMs: 15 });
const { server, rpcServer } = client;

const native = Asset.native();
const issuer = Keypair.fromSecret((await client.fund()).secret);
const assetOf = (code: string) => new Asset(code, issuer.publicKey());
const [EURC, USDC] = [assetOf('EURC'), assetOf('USDC')];

/** An account that trusts these assets and holds these amounts. */
async function holder(amounts: Record<string, string> = {}, limit?: string): Promise<Keypair> {
  const key = Keypair.fromSecret((await client.fund()).secret);
  const operations = Object.entries(amounts).flatMap(([code, amount]) => [
    Operation.changeTrust({ asset: assetOf(code), limit }),
    ...(amount === '0'
      ? []
      : [
          Operation.payment({
            source: issuer.publicKey(),
            destination: key.publicKey(),
            asset: assetOf(code),
            amount,
          }),
        ]),
  ]);
  const isPaid = Object.values(amounts).some((amount) => amount !== '0');
  if (operations.length > 0) await client.submit({ from: key, operations, signers: isPaid ? [issuer] : [] });
  return key;
}

const sell = (selling: Asset, buying: Asset, amount: string, price: string, offerId?: string | number) =>
  Operation.manageSellOffer({
    selling,
    buying,
    amount,
    price,
    offerId: offerId === undefined ? undefined : String(offerId),
  });
const submit = (from: Keypair, ...operations: xdr.Operation[]) => client.submit({ from, operations });
const codesOf = (from: Keypair, ...operations: xdr.Operation[]): Promise<string[]> =>
  submit(from, ...operations).then(
    () => [],
    (error: unknown) => {
      if (error instanceof LedgerRefusedError) return error.codes.slice(1);
      throw error;
    },
  );
const balanceOf = async (key: Keypair, asset: Asset): Promise<string> => {
  const { balances } = await server.loadAccount(key.publicKey());
  const isIt = (line: { asset_type: string; asset_code?: string }) =>
    asset.isNative() ? line.asset_type === 'native' : line.asset_code === asset.getCode();
  return balances.find((line) => isIt(line as never))!.balance;
};
const offersOf = async (key: Keypair) => (await server.offers().seller(key.publicKey()).call()).records;
const effectsOf = async (key: Keypair, limit: number) =>
  (await server.effects().forAccount(key.publicKey()).order('desc').limit(limit).call()).records as unknown as Record<
    string,
    string
  >[];
const get = async (path: string) => (await (await fetch(url + path)).json()) as Record<string, never>;

t.test('offers stand in a book, and are taken by price, then by age', async (t) => {
  const [first, second, cheap, taker] = await Promise.all([
    holder({ EURC: '100' }),
    holder({ EURC: '100' }),
    holder({ EURC: '100' }),
    holder({ EURC: '0' }),
  ]);
  await submit(first, sell(EURC, native, '10', '4'));
  await submit(second, sell(EURC, native, '10', '4'));
  await submit(cheap, sell(EURC, native, '5', '3.5'));
  const book = await server.orderbook(EURC, native).call();
  t.match(book.asks, [
    { price: '3.5000000', price_r: { n: 7, d: 2 }, amount: '5.0000000' },
    { price: '4.0000000', amount: '20.0000000' },
  ]);
  t.strictSame(book.bids, []);
  const turned = await server.orderbook(native, EURC).call();
  t.match(
    turned.bids,
    [{ price: '0.2857143', amount: '5.0000000' }, { price: '0.2500000' }],
    'and from the other side',
  );
  t.match((await server.loadAccount(first.publicKey())).balances[0], { selling_liabilities: '10.0000000' });
  t.match((await server.loadAccount(first.publicKey())).balances.at(-1), { buying_liabilities: '40.0000000' });

  const { hash } = await submit(
    taker,
    Operation.manageBuyOffer({ selling: native, buying: EURC, buyAmount: '12', price: '4' }),
  );
  t.equal(await balanceOf(taker, EURC), '12.0000000');
  t.strictSame(await offersOf(cheap), [], 'the best price went first');
  t.match(await offersOf(first), [{ amount: '3.0000000', price_r: { n: 4, d: 1 } }], 'then the older of two');
  t.match(await offersOf(second), [{ amount: '10.0000000' }]);
  t.match(await effectsOf(cheap, 1), [
    {
      type: 'trade',
      seller: taker.publicKey(),
      sold_amount: '5.0000000',
      sold_asset_code: 'EURC',
      bought_amount: '17.5000000',
      bought_asset_type: 'native',
    },
  ]);
  const { records: operations } = await server.operations().forTransaction(hash).call();
  t.match(operations, [
    { type: 'manage_buy_offer', type_i: 12, amount: '12.0000000', price: '4.0000000', buying_asset_code: 'EURC' },
  ]);
  t.strictSame((await server.payments().forTransaction(hash).call()).records, [], 'a trade is no payment');
  t.strictSame(
    (await server.payments().forAccount(cheap.publicKey()).order('desc').limit(1).call()).records.filter(
      ({ transaction_hash }) => transaction_hash === hash,
    ),
    [],
  );

  const [standing] = await offersOf(second);
  const { id } = standing!;
  t.match(await get(`/offers/${id}`), { id, seller: second.publicKey(), selling: { asset_code: 'EURC' } });
  t.match((await get(`/accounts/${second.publicKey()}/offers`))._embedded, { records: [{ id }] });
  const key = xdr.LedgerKey.offer(
    new xdr.LedgerKeyOffer({ sellerId: Keypair.fromPublicKey(second.publicKey()).xdrAccountId(), offerId: BigInt(id) }),
  );
  const { entries } = await rpcServer.getLedgerEntries(key);
  t.match(xdr.expectUnionVariant(entries[0]!.val, 'offer').offer, { offerId: BigInt(id), amount: 100_000_000n });

  await submit(second, sell(EURC, native, '4', '5', id));
  t.match(await offersOf(second), [{ id, amount: '4.0000000', price: '5.0000000' }], 'an offer is changed');
  await submit(second, sell(EURC, native, '0', '5', id));
  await submit(first, sell(EURC, native, '0', '4', (await offersOf(first))[0]!.id));
  t.strictSame(await offersOf(second), [], 'and withdrawn');
  t.match(await server.loadAccount(second.publicKey()), { subentry_count: 1 });
  t.match((await server.loadAccount(second.publicKey())).balances[0], { selling_liabilities: '0.0000000' });
  t.equal((await fetch(`${url}/offers/${id}`)).status, 404);
});

t.test('a passive offer does not take its own price, and another one does', async (t) => {
  const [maker, passive] = await Promise.all([holder({ EURC: '10' }), holder({ EURC: '10' })]);
  await submit(maker, sell(EURC, native, '2', '4'));
  const create = Operation.createPassiveSellOffer({ selling: native, buying: EURC, amount: '8', price: '0.25' });
  await submit(passive, create);
  t.match(await offersOf(passive), [{ amount: '8.0000000', price: '0.2500000' }]);
  t.match(await offersOf(maker), [{ amount: '2.0000000' }]);
  const taker = await holder({ EURC: '10' });
  await submit(taker, sell(native, EURC, '8', '0.25'));
  t.match([await offersOf(maker), await offersOf(taker)], [[], []]);
  await submit(taker, sell(EURC, native, '2', '4'));
  t.strictSame(await offersOf(passive), []);
});

t.test('refused offers have the codes of Horizon', async (t) => {
  const [maker, poor, stranger] = await Promise.all([
    holder({ EURC: '10', USDC: '10' }, '20'),
    holder({ EURC: '0' }),
    holder(),
  ]);
  const cases: [name: string, from: Keypair, operation: xdr.Operation, code: string][] = [
    ['no line for what it sells', stranger, sell(EURC, native, '1', '1'), 'op_sell_no_trust'],
    ['no line for what it buys', stranger, sell(native, EURC, '1', '1'), 'op_buy_no_trust'],
    ['nothing of what it sells', poor, sell(EURC, native, '1', '1'), 'op_underfunded'],
    ['more than there is', maker, sell(EURC, native, '10.0000001', '1'), 'op_underfunded'],
    ['more than its line takes', maker, sell(EURC, USDC, '10', '2'), 'op_line_full'],
    ['no such offer', maker, sell(EURC, native, '1', '1', '123456789'), 'op_offer_not_found'],
    ['lumens that the reserve needs', stranger, sell(native, EURC, '9999.9', '1'), 'op_buy_no_trust'],
    ['lumens below the reserve', poor, sell(native, EURC, '9999', '1'), 'op_underfunded'],
  ];
  for (const [name, from, operation, code] of cases) t.strictSame(await codesOf(from, operation), [code], name);
  await submit(maker, sell(EURC, native, '5', '4'));
  t.strictSame(await codesOf(maker, sell(native, EURC, '20', '0.25')), ['op_cross_self']);
  const [{ id } = { id: '' }] = await offersOf(maker);
  t.strictSame(await codesOf(poor, sell(EURC, native, '0', '4', id)), ['op_offer_not_found'], 'the offer of another');
  t.strictSame(
    await codesOf(maker, Operation.changeTrust({ asset: EURC, limit: '0' })),
    ['op_invalid_limit'],
    'a line that offers need stays',
  );
  const pay = (amount: string) => Operation.payment({ destination: issuer.publicKey(), asset: EURC, amount });
  t.strictSame(await codesOf(maker, pay('5.0000001')), ['op_underfunded'], 'what is on offer cannot be spent');
  t.strictSame(await codesOf(maker, pay('5')), []);
  t.strictSame(await codesOf(maker, Operation.accountMerge({ destination: poor.publicKey() })), ['op_has_sub_entries']);
  await submit(maker, sell(EURC, native, '0', '4', id));
});

t.test('a path payment arrives to the stroop, and both interfaces tell the same of it', async (t) => {
  const [maker, payer, shop] = await Promise.all([
    holder({ EURC: '1000' }),
    holder({ EURC: '100' }),
    holder({ USDC: '0' }),
  ]);
  await submit(
    maker,
    Operation.manageSellOffer({ selling: native, buying: EURC, amount: '1000', price: { n: 2, d: 7 } }),
  );
  const { sequence: startLedger } = await client.status();
  const found = await server.strictReceivePaths([EURC], native, '10').call();
  t.match(found.records, [{ source_amount: '2.8571429', destination_amount: '10.0000000', path: [] }], 'rounded up');
  const before = await balanceOf(shop, native);
  const pay = (sendMax: string) =>
    Operation.pathPaymentStrictReceive({
      sendAsset: EURC,
      sendMax,
      destination: shop.publicKey(),
      destAsset: native,
      destAmount: '10',
      path: [],
    });
  t.strictSame(await codesOf(payer, pay('2.8571428')), ['op_over_source_max'], 'a stroop less is too little');
  const { hash } = await client.submit({ from: payer, operations: [pay('2.9')], memo: 'order-7' });
  t.equal(await balanceOf(payer, EURC), '97.1428571');
  t.equal(Number(await balanceOf(shop, native)) - Number(before), 10);
  const [record] = (await server.payments().forAccount(shop.publicKey()).order('desc').limit(1).call()).records;
  t.match(record, {
    transaction_hash: hash,
    type: 'path_payment_strict_receive',
    from: payer.publicKey(),
    to: shop.publicKey(),
    amount: '10.0000000',
    asset_type: 'native',
    source_amount: '2.8571429',
    source_max: '2.9000000',
    source_asset_code: 'EURC',
    path: [],
  });
  t.match((await effectsOf(payer, 2)).reverse(), [
    { type: 'account_debited', amount: '2.8571429', asset_code: 'EURC' },
    { type: 'trade', seller: maker.publicKey(), sold_amount: '2.8571429', bought_amount: '10.0000000' },
  ]);
  t.match(await effectsOf(shop, 1), [{ type: 'account_credited', amount: '10.0000000', asset_type: 'native' }]);
  t.match(await effectsOf(maker, 1), [{ type: 'trade', seller: payer.publicKey(), bought_asset_code: 'EURC' }]);
  const { records } = await server.transactions().forAccount(maker.publicKey()).order('desc').limit(1).call();
  t.match(records, [{ hash }], 'the seller sees the transaction');

  const told = await rpcServer.getTransaction(hash);
  t.equal(told.status, rpc.Api.GetTransactionStatus.SUCCESS);
  const { events } = await rpcServer.getEvents({ startLedger, filters: [{ type: 'contract' }], limit: 1000 });
  const moved = events
    .filter(({ txHash }) => txHash === hash)
    .map(({ topic, value }) => [...topic.slice(0, 3).map(scValToNative), scValToNative(value)] as unknown[])
    .filter(([name]) => name !== 'fee');
  const [from, over, to] = [payer, maker, shop].map((each) => each.publicKey());
  t.strictSame(moved, [
    ['transfer', from, over, 28_571_429n],
    ['transfer', over, from, 100_000_000n],
    ['transfer', from, to, { amount: 100_000_000n, to_muxed_id: 'order-7' }],
  ]);
  await submit(maker, sell(native, EURC, '0', '1', (await offersOf(maker))[0]!.id));
});

t.test('a way through six assets is found and gone, whole or not at all', async (t) => {
  const codes = ['AA', 'BB', 'CC', 'DD', 'EE'];
  const assets = [...codes.map(assetOf), native];
  const maker = await holder(Object.fromEntries(codes.map((code) => [code, '1000'])));
  const [payer, shop] = [await holder({ AA: '100' }), await holder({ EE: '0' })];
  // Each asset costs one and a half of the one before.
  const hops = assets.slice(1).map((selling, index) => sell(selling, assets[index]!, '500', '1.5'));
  await submit(maker, ...hops);
  const [found] = (await server.strictReceivePaths([assetOf('AA')], native, '2').call()).records;
  t.match(found, { source_amount: '15.1875000', path: codes.slice(1).map((asset_code) => ({ asset_code })) });
  const path = assets.slice(1, -1);
  const way = { sendAsset: assets[0]!, destAsset: native, destination: shop.publicKey(), path };
  const before = await balanceOf(shop, native);
  const tooMuch = Operation.pathPaymentStrictReceive({ ...way, sendMax: '100', destAmount: '501' });
  t.strictSame(await codesOf(payer, tooMuch), ['op_too_few_offers']);
  const fits = Operation.pathPaymentStrictReceive({ ...way, sendMax: '15.1875', destAmount: '2' });
  const fails = Operation.payment({ destination: shop.publicKey(), asset: assetOf('AA'), amount: '1' });
  t.strictSame(await codesOf(payer, fits, fails), ['op_success', 'op_no_trust']);
  t.equal(await balanceOf(payer, assetOf('AA')), '100.0000000', 'the trades of a failed transaction are undone');
  t.match(
    (await offersOf(maker)).map(({ amount }) => amount),
    ['500.0000000', '500.0000000', '500.0000000', '500.0000000', '500.0000000'],
  );
  t.strictSame(await codesOf(payer, fits), []);
  t.equal(await balanceOf(payer, assetOf('AA')), '84.8125000');
  t.equal(Number(await balanceOf(shop, native)) - Number(before), 2);

  const [most] = (await server.strictSendPaths(assets[0]!, '15.1875', [native]).call()).records;
  t.match(most, { destination_amount: '2.0000000' });
  const send = (destMin: string) => Operation.pathPaymentStrictSend({ ...way, sendAmount: '15.1875', destMin });
  t.strictSame(await codesOf(payer, send('2.0000001')), ['op_under_dest_min']);
  t.strictSame(await codesOf(payer, send('2')), []);

  const direct = {
    sendAsset: native,
    sendMax: '100',
    destination: shop.publicKey(),
    destAsset: assetOf('EE'),
    path: [],
  };
  const cases: [name: string, from: Keypair, operation: xdr.Operation, code: string][] = [
    [
      'a destination without a line',
      payer,
      Operation.pathPaymentStrictReceive({ ...way, destAsset: assetOf('BB'), path: [], sendMax: '9', destAmount: '1' }),
      'op_no_trust',
    ],
    [
      'a sender without a line',
      shop,
      Operation.pathPaymentStrictReceive({ ...way, sendMax: '100', destAmount: '1' }),
      'op_src_no_trust',
    ],
    [
      'more than the sender has',
      payer,
      Operation.pathPaymentStrictReceive({ ...way, sendMax: '1000', destAmount: '20' }),
      'op_underfunded',
    ],
    ['no book at all', payer, Operation.pathPaymentStrictReceive({ ...direct, destAmount: '1' }), 'op_too_few_offers'],
    [
      'an offer of its own',
      maker,
      Operation.pathPaymentStrictReceive({ ...way, sendMax: '100', destAmount: '1' }),
      'op_cross_self',
    ],
  ];
  for (const [name, from, operation, code] of cases) t.strictSame(await codesOf(from, operation), [code], name);
  const narrow = await holder({ EE: '0' }, '1');
  await submit(maker, sell(assetOf('EE'), native, '5', '1'));
  const full = Operation.pathPaymentStrictReceive({ ...direct, destination: narrow.publicKey(), destAmount: '1.5' });
  t.strictSame(await codesOf(payer, full), ['op_line_full']);
});

t.test('paths are asked for by assets or by an account, and refused as Horizon does', async (t) => {
  const [maker, payer] = await Promise.all([holder({ USDC: '100', EURC: '100' }), holder({ USDC: '3', EURC: '50' })]);
  await submit(maker, sell(native, USDC, '1000', '0.25'), sell(native, EURC, '1000', '0.2'));
  const sources = async (query: string) =>
    (
      (await get(`/paths/strict-receive?destination_asset_type=native&destination_amount=20&${query}`))
        ._embedded as unknown as { records: Record<string, string>[] }
    ).records.map(({ source_asset_code, source_amount }) => `${source_asset_code ?? 'XLM'} ${source_amount}`);
  t.strictSame(
    await sources(`source_account=${payer.publicKey()}`),
    ['EURC 4.0000000', 'XLM 20.0000000'],
    'what it has enough of',
  );
  const named = [EURC, USDC].map((asset) => `${asset.getCode()}:${issuer.publicKey()}`).join(',');
  t.strictSame(await sources(`source_assets=${named}`), ['EURC 4.0000000', 'USDC 5.0000000']);
  t.strictSame(await sources(`source_account=${maker.publicKey()}`), ['XLM 20.0000000'], 'not by its own offers');
  const wrong: [query: string, field: string | undefined][] = [
    ['', undefined],
    [`source_account=${payer.publicKey()}&source_assets=native`, undefined],
    ['source_assets=EURC', 'source_assets'],
    [`source_assets=${Array.from({ length: 16 }, () => named.split(',')[0]).join(',')}`, 'source_assets'],
    ['source_account=GABC', 'source_account'],
  ];
  for (const [query, field] of wrong) {
    const path = `/paths/strict-receive?destination_asset_type=native&destination_amount=20&${query}`;
    t.match(await get(path), { status: 400, ...(field && { extras: { invalid_field: field } }) }, query);
  }
  t.match(await get('/paths/strict-receive?destination_amount=1&source_assets=native'), {
    extras: { invalid_field: 'destination_asset_type' },
  });
  t.match(await get('/paths/strict-receive?destination_asset_type=native&destination_amount=0&source_assets=native'), {
    extras: { invalid_field: 'destination_amount' },
  });
  t.match(await get('/order_book?selling_asset_type=native'), { extras: { invalid_field: 'buying_asset_type' } });
  for (const { id } of await offersOf(maker)) await submit(maker, sell(native, EURC, '0', '1', id));
});

t.test('an offer ends with the right to hold, and where what it promises is gone', async (t) => {
  const [frozen, robbed, taker] = await Promise.all([
    holder({ USDC: '50' }),
    holder({ USDC: '50' }),
    holder({ USDC: '0' }),
  ]);
  await submit(issuer, Operation.setOptions({ setFlags: 2 }));
  await submit(frozen, sell(USDC, native, '50', '2'));
  await submit(robbed, sell(USDC, native, '50', '2'));
  const freeze = Operation.setTrustLineFlags({
    trustor: frozen.publicKey(),
    asset: USDC,
    flags: { authorized: false },
  });
  await submit(issuer, freeze);
  t.strictSame(await offersOf(frozen), []);
  t.match(await server.loadAccount(frozen.publicKey()), { subentry_count: 1 });
  // No transaction can take a reserved amount, but a made-up record can.
  await client.inject({
    accounts: [robbed.publicKey()],
    moves: true,
    record: {
      ...{ type: 'invoke_host_function', type_i: 24, source_account: robbed.publicKey() },
      asset_balance_changes: [
        {
          ...{ type: 'transfer', from: robbed.publicKey(), to: taker.publicKey(), amount: '49.9999999' },
          ...{ asset_type: 'credit_alphanum4', asset_code: 'USDC', asset_issuer: issuer.publicKey() },
        },
      ],
    },
  });
  const buy = Operation.manageBuyOffer({ selling: native, buying: USDC, buyAmount: '10', price: '2' });
  await submit(taker, buy);
  t.strictSame(await offersOf(robbed), [], 'what it cannot pay is not for sale');
  t.equal(await balanceOf(taker, USDC), '50.0000000', 'what was left of it was sold');
  t.match(await offersOf(taker), [{ amount: '19.9999998' }], 'and the rest stands on the other side');
});
