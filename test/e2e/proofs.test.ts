/** A payment is proven by the API's bundle alone: whatever kind it is of, and whatever an archive says. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { PASSPHRASE } from '../../src/local-ledger/index.js';
import { verifyProof } from '../../src/proof/index.js';
import { openAccounts, payEveryKind } from '../helpers/every-kind.js';
import { eventually, startSelling, startTestService, type TestService } from '../helpers/service.js';

type Json = any;
const run = promisify(execFile);

const service = await startTestService(t);
const client = service.context.localLedger!.client;
const ledgerUrl = service.context.localLedger!.url;

const toml = await (await fetch(`${ledgerUrl}/.well-known/stellar.toml`)).text();
const validators = [{ name: 'Local', homeDomain: 'localhost', nodes: [/^PUBLIC_KEY = "(G\w+)"$/m.exec(toml)![1]!] }];
const trust = { passphrase: PASSPHRASE, validators };

/** A checkpoint of the test's ledger takes 6.4 s. */
const ready = (id: string, query = '', at: TestService = service): Promise<Json> =>
  eventually(
    async () => {
      const { data } = await at.api('GET', `/payments/${id}/proof${query}`);
      return data.state === 'READY' && data;
    },
    `the proof of ${id}`,
    60_000,
  );

interface Order {
  payment: Json;
  checkout: Json;
}

/** A checkout that is paid, and its payment. */
async function paidOrder(at: TestService = service, reference = 'order-1042'): Promise<Order> {
  const { wallet, product } = await startSelling(at);
  const checkout = (await at.api('POST', '/checkouts', { productId: product.id, reference })).data;
  await client.pay({ to: wallet.address, amount: '25', memo: checkout.memo });
  const payment = await eventually(
    async () => (await at.api('GET', `/payments?checkoutId=${checkout.id}`)).data[0],
    'the payment',
  );
  return { payment, checkout };
}

t.test('every kind of payment is proven, by the ledger and with signatures', async (t) => {
  const parties = await openAccounts(client);
  const address = parties.shop.publicKey();
  const wallet = (await service.api('POST', '/wallets', { name: 'All', address, network: 'LOCAL' })).data;
  const counts = await payEveryKind(client, parties);
  const payments: Json[] = await eventually(
    async () => {
      const { data } = await service.api('GET', `/payments?walletId=${wallet.id}&status=UNMATCHED&pageSize=100`);
      return data.length >= counts.shop && data;
    },
    'all payments',
    60_000,
  );
  // What was made up with `inject` and `forge` is in no result set.
  const madeUp = new Set(['2', '3']);
  const unproven: string[] = [];
  for (const payment of payments) {
    for (const level of ['ledger', 'signed'] as const) {
      const shown = await eventually(
        async () => {
          const { data } = await service.api('GET', `/payments/${payment.id}/proof?level=${level}`);
          return (data.state === 'READY' || / yet|being made/.exec(data.reason) === null) && data;
        },
        `${level} of ${payment.amount}`,
        60_000,
      );
      if (shown.state !== 'READY') {
        unproven.push(`${level} of ${payment.amount}: ${shown.reason}`);
        continue;
      }
      const { verdict, claim, reasons } = await verifyProof(shown.proof, trust);
      t.equal(verdict, level === 'signed' ? 'SIGNED' : 'CONSISTENT', reasons.join(' '));
      t.match(claim, {
        ...{ amount: payment.amount, to: payment.receiverAddress, from: payment.senderAddress },
        ...{ assetCode: payment.assetCode, assetIssuer: payment.assetIssuer, memoType: payment.memoType },
        ...{ toMuxedId: payment.destinationMuxedId, ledger: payment.ledger, closedAt: payment.ledgerClosedAt },
      });
    }
  }
  t.same(unproven, []);
  void madeUp;
});
