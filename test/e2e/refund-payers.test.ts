/** A refund belongs to the payer that it went to, and is booked once: whatever its transaction is
 *  called and whichever account paid, by either kind of server. */
import { Account, Asset, Keypair, MuxedAccount, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import t from 'tap';
import { madeUpContract } from '../../src/local-ledger/index.js';
import { startTestLedger } from '../helpers/ledger.js';
import { testDatabase } from '../helpers/mongo.js';
import { allNumbered, eventually, startTestService } from '../helpers/service.js';

const { uri } = await testDatabase(t);
const { url, client: ledger } = await startTestLedger(t, { uri, closeMs: 100 });
await ledger.fund();

const muxed = (address: string, id: string) => new MuxedAccount(new Account(address, '0'), id).accountId();
type Payment = Record<string, any>;

const KINDS: readonly (readonly [string, Record<string, string>])[] = [
  ['Horizon', { HORIZON_URLS_LOCAL: url }],
  ['Stellar RPC', { RPC_URLS_LOCAL: `${url}/rpc` }],
];

for (const [kind, env] of KINDS) {
  const service = await startTestService(t, { env });
  const get = async (id: string): Promise<Payment> => (await service.api('GET', `/payments/${id}`)).data;
  const book = (id: string, transactionHash: string) =>
    service.api('POST', `/payments/${id}/refunds`, { transactionHash });
  const refunded = async (payments: readonly Payment[]) =>
    Promise.all(payments.map(async ({ id }) => (await get(id)).refundedAmount));
  const refundsSay = (payments: readonly Payment[], amounts: readonly string[]) =>
    eventually(async () => (await refunded(payments)).join() === amounts.join(), `${amounts} went back`);
  const told = async (id: string) => {
    await allNumbered(service);
    const { data } = await service.api('GET', '/events?type=payment.refunded&pageSize=100');
    return data.filter((event: any) => event.data.payment.id === id).length;
  };

  const refundsOf = async (checkoutId: string) =>
    (await service.api('GET', `/payments?checkoutId=${checkoutId}`)).data.flatMap(({ refunds }: Payment) => refunds)
      .length;

  /** A wallet with a link, each test its own. */
  async function sell(
    assetCode = 'XLM',
    assetIssuer: string | null = null,
    account?: { address: string; secret: string },
  ) {
    const shop = account ?? (await ledger.fund());
    const wallet = (await service.api('POST', '/wallets', { name: 'W', address: shop.address, network: 'LOCAL' })).data;
    const terms = { walletId: wallet.id, assetCode, assetIssuer, priceType: 'CUSTOM' };
    const product = (await service.api('POST', '/products', { name: 'Thing', ...terms })).data;
    const link = (await service.api('POST', '/payment-links', { productId: product.id })).data;
    const seen = (hash: string) =>
      eventually(
        async () => (await service.api('GET', `/payments?transactionHash=${hash}`)).data[0] as Payment | undefined,
        'the payment',
      ) as Promise<Payment>;
    const paid = async (amount: string, from: { secret: string }, fromMuxedId?: string) => {
      const { hash } = await ledger.pay({
        ...{ to: shop.address, amount, memo: link.memo, fromSecret: from.secret, assetCode, assetIssuer },
        ...(fromMuxedId === undefined ? {} : { fromMuxedId }),
      });
      return seen(hash);
    };
    const pay = async (amount: string, from: { secret: string }, memo: string) =>
      seen((await ledger.pay({ to: shop.address, amount, memo, fromSecret: from.secret })).hash);
    const sendBack = (memo: string | null, ...parts: readonly (readonly [to: string, amount: string])[]) =>
      ledger.submit({
        from: Keypair.fromSecret(shop.secret),
        operations: parts.map(([destination, amount]) =>
          Operation.payment({ destination, asset: Asset.native(), amount }),
        ),
        memo,
      });
    return { shop, link, product, paid, pay, sendBack };
  }

  t.test(`${kind}: a refund that is named by both hashes of a fee bump is booked once`, async (t) => {
    const { shop, paid } = await sell();
    const payer = await ledger.fund();
    const payment = await paid('10', payer);
    const from = Keypair.fromSecret(shop.secret);
    const account = new Account(shop.address, (await ledger.server.loadAccount(shop.address)).sequenceNumber());
    const inner = new TransactionBuilder(account, { fee: '100', networkPassphrase: ledger.passphrase })
      .addOperation(Operation.payment({ destination: payer.address, asset: Asset.native(), amount: '4' }))
      .setTimeout(0)
      .build();
    inner.sign(from);
    const outer = TransactionBuilder.buildFeeBumpTransaction(from, '200', inner, ledger.passphrase);
    outer.sign(from);
    await ledger.server.submitTransaction(outer, { skipMemoRequiredCheck: true });
    const hex = (hash: Uint8Array) => Buffer.from(hash).toString('hex');
    for (const hash of [inner, outer, inner].map((each) => hex(each.hash()))) {
      const { status, data } = await book(payment.id, hash);
      t.match([status, data], [200, { refundedAmount: '4' }]);
      t.equal(data.refunds.length, 1);
    }
    t.equal(await told(payment.id), 1);
  });

  t.test(`${kind}: a refund belongs to the muxed account that it went to`, async (t) => {
    const { link, paid, sendBack } = await sell();
    const exchange = await ledger.fund();
    const seven = await paid('10', exchange, '7');
    const eight = await paid('10', exchange, '8');
    const request = (await service.api('GET', `/payments/${eight.id}/refund`)).data;
    await sendBack(request.memo, [request.destination, request.amount]);
    await refundsSay([seven, eight], ['0', '10']);
    const { hash } = await sendBack(null, [muxed(exchange.address, '8'), '10']);
    t.equal((await book(seven.id, hash)).status, 409, 'nor is one by its hash another payer’s');
    t.same(await refunded([seven, eight]), ['0', '10']);
    // Which of the two is meant cannot be told, but by the merchant.
    const bare = await sendBack(`refund ${link.memo}`, [exchange.address, '10']);
    await paid('1', await ledger.fund());
    t.same(await refunded([seven, eight]), ['0', '10']);
    t.match((await book(seven.id, bare.hash)).data, { refundedAmount: '10' });
  });

  t.test(`${kind}: money to the bare account is that of its only muxed account that paid`, async () => {
    const { link, paid, sendBack } = await sell();
    const exchange = await ledger.fund();
    const payment = await paid('10', exchange, '7');
    await sendBack(`refund ${link.memo}`, [exchange.address, '4']);
    await refundsSay([payment], ['4']);
    const own = await paid('3', exchange);
    await sendBack(`refund ${link.memo}`, [exchange.address, '3']);
    await refundsSay([payment, own], ['4', '3']);
  });

  t.test(`${kind}: by its hash a transaction gives back each payment of the payer`, async (t) => {
    const { paid, sendBack } = await sell();
    const payer = await ledger.fund();
    const [first, second] = [await paid('10', payer), await paid('6', payer)];
    const two = await sendBack(null, [payer.address, '10'], [payer.address, '6']);
    t.match((await book(second.id, two.hash)).data, { refundedAmount: '6' });
    t.same(await refunded([first, second]), ['10', '6']);
    t.equal((await book(first.id, two.hash)).status, 200, 'the other one may be named, too');
    t.same(await refunded([first, second]), ['10', '6']);

    const [third, fourth] = [await paid('10', payer), await paid('6', payer)];
    const one = await sendBack(null, [payer.address, '16']);
    t.match((await book(fourth.id, one.hash)).data, { refundedAmount: '6' });
    t.same(await refunded([third, fourth]), ['10', '6'], 'one operation is shared out');
    t.equal((await book(third.id, one.hash)).status, 200);
    const more = await sendBack(null, [payer.address, '2']);
    t.equal((await book(third.id, more.hash)).status, 409, 'nothing is left of it');
    const fifth = await paid('1', payer);
    const most = await sendBack(null, [payer.address, '2']);
    t.match((await book(fifth.id, most.hash)).data, { refundedAmount: '2' }, 'more than was paid if no other has any');
    for (const { id } of [first, second, third, fourth, fifth]) t.equal(await told(id), 1);
  });

  t.test(`${kind}: money that goes back to a smart wallet is booked`, async (t) => {
    const { shop, link } = await sell();
    const contract = madeUpContract(`payer of ${kind}`);
    await ledger.payByContract({ to: shop.address, from: contract, amount: '10', muxedId: link.memoId ?? undefined });
    const payment = (await eventually(async () => {
      const { data } = await service.api(
        'GET',
        `/payments?senderAddress=${contract}&status=COMPLETED&status=UNMATCHED`,
      );
      return data[0];
    }, 'the payment')) as Payment;
    const id = await ledger.payByContract({ from: shop.address, to: contract, amount: '4' });
    const { transaction_hash: hash } = (await ledger.server.operations().operation(id).call()) as any;
    t.match(await book(payment.id, hash), { status: 200, data: { refundedAmount: '4' } });
    // Stellar RPC keeps no histories.
    if (kind !== 'Horizon') return;
    const statement = await service.api('GET', `/wallets/${payment.walletId}/statement?from=2020-01-01T00:00:00Z`);
    const moved = statement.data.assets[0].movements;
    t.match(
      moved.find(({ kind: each }: any) => each === 'sent'),
      { amount: '-4', counterparty: contract },
    );
  });

  t.test(`${kind}: what was sent back of an open order no longer counts towards it`, async (t) => {
    const { product, sendBack, pay } = await sell();
    const { data: order } = await service.api('POST', '/checkouts', { productId: product.id, amount: '10' });
    const shows = async () => {
      const { status, receivedAmount, remainingAmount } = (await service.api('GET', `/checkouts/${order.id}`)).data;
      return `${status} ${receivedAmount} ${remainingAmount}`;
    };
    const says = (what: string) => eventually(async () => (await shows()) === what, what);
    const payer = await ledger.fund();
    await pay('6', payer, order.memo);
    await says('OPEN 6 4');
    await sendBack(`refund ${order.memo}`, [payer.address, '5']);
    await says('OPEN 1 9');
    t.equal((await service.api('GET', `/checkouts/${order.id}/instructions`)).data.amount, '9');
    const part = await pay('4', payer, order.memo);
    t.match(part, { status: 'UNDERPAID', expectedAmount: '9', shortfallAmount: '5' });
    await sendBack(`refund ${order.memo}`, [payer.address, '4']);
    await says('OPEN 1 9');
    const accepted = await service.api('POST', `/checkouts/${order.id}/accept`);
    t.match(accepted.data, { status: 'PAID', receivedAmount: '1', remainingAmount: '0' });
    t.match(await get(part.id), { status: 'UNDERPAID', refundedAmount: '4' }, 'the refunded part is not accepted');
    await sendBack(`refund ${order.memo}`, [payer.address, '1']);
    await eventually(async () => (await refundsOf(order.id)) === 3, 'the last refund');
    t.equal(await shows(), 'PAID 1 0', 'PAID stays PAID');
  });
}
