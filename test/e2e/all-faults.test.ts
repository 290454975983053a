/** A body that is refused is told all its faults at once: those of its own words, and those that
 *  only what is stored shows. */
import { randomUUID } from 'node:crypto';
import { Keypair } from '@stellar/stellar-sdk';
import t from 'tap';
import type { z } from 'zod';
import { call, operations, TRANSPORTS } from '../helpers/api.js';
import { eventually, startTestService } from '../helpers/service.js';

const service = await startTestService(t, {
  env: { NETWORKS: 'LOCAL,TESTNET', HORIZON_URLS_TESTNET: 'http://127.0.0.1:9' },
});
const make = async (path: string, body: object, key?: string) => {
  const { status, data, error } = await service.api('POST', path, body, key);
  if (status >= 300) throw new Error(`${path}: ${JSON.stringify(error)}`);
  return data;
};
const address = () => Keypair.random().publicKey();
const newWallet = (network: string, key?: string) =>
  make('/wallets', { name: 'Shop', address: address(), network }, key);
const wallet = await newWallet('LOCAL');
const terms = { name: 'Tea', walletId: wallet.id, assetCode: 'XLM' };
const fixed = await make('/products', { ...terms, priceType: 'FIXED', price: '900000000000' });
const custom = await make('/products', { ...terms, priceType: 'CUSTOM', minAmount: '5' });
const foreign = (await newWallet('LOCAL', (await service.openAccount('Other')).apiKey)) as { id: string };

/** Fields that name something that must be there. */
const referencesOf = (body: Record<string, z.ZodType>) =>
  Object.keys(body).filter((name) =>
    body[name]!.safeParse('').error?.issues.some((issue) => (issue as any).params?.code === 'not_found'),
  );
const typeId = (name: string) => {
  const prefix = { walletId: 'wallet', productId: 'prod', paymentLinkId: 'link', checkoutId: 'chk' }[name]!;
  return `${prefix}_0${randomUUID().replaceAll('-', '').slice(0, 25)}`;
};

type Fault = [path: string, code: string];
const faultsOf = async (transport: (typeof TRANSPORTS)[number], name: string, input: Record<string, unknown>) => {
  const { outcome, error } = await call(transport, service.url, service.apiKey, name, input);
  return outcome === 'validation_error'
    ? error!.details!.map(({ path, code }): Fault => [path, code])
    : [[outcome, '']];
};

t.test('what a body names and is not there is told beside every other fault, over the whole contract', async (t) => {
  const seen: string[] = [];
  for (const [name, operation] of operations) {
    const references = operation.hasBody ? referencesOf(operation.body as never) : [];
    for (const reference of references) {
      seen.push(`${name} ${reference}`);
      const id = typeId(reference);
      const ids = ['', 'no-id', id, id.toUpperCase(), ...(reference === 'walletId' ? [foreign.id] : [])];
      for (const transport of TRANSPORTS) {
        for (const named of ids) {
          const params = Object.fromEntries(Object.keys(operation.params).map((param) => [param, fixed.id]));
          const told = await faultsOf(transport, name, { ...params, [reference]: named, nonsense: 1 });
          const what = `${transport} ${name} ${reference}: ${named}`;
          for (const fault of [
            [reference, 'not_found'],
            ['nonsense', 'unrecognized_key'],
          ] satisfies Fault[]) {
            const times = told.filter(([path, code]) => path === fault[0] && code === fault[1]).length;
            t.equal(times, 1, `${what}: ${fault} in ${JSON.stringify(told)}`);
          }
        }
      }
    }
  }
  t.same(seen.sort(), [
    'checkouts.create productId',
    'checkouts.create walletId',
    'paymentLinks.create productId',
    'payments.assign checkoutId',
    'payments.assign paymentLinkId',
    'products.create walletId',
    'products.update walletId',
  ]);
});

t.test('what does not go together with what is stored is told beside every other fault', async (t) => {
  const nobodys = typeId('walletId');
  const cases: [name: string, input: Record<string, unknown>, faults: Fault[]][] = [
    [
      'products.update',
      { id: fixed.id, price: null, imageUrl: 'x', walletId: nobodys },
      [
        ['imageUrl', 'invalid_format'],
        ['price', 'required'],
        ['walletId', 'not_found'],
      ],
    ],
    [
      'products.update',
      { id: fixed.id, price: null, walletId: nobodys },
      [
        ['price', 'required'],
        ['walletId', 'not_found'],
      ],
    ],
    [
      'checkouts.create',
      { productId: fixed.id, amount: '1', quantity: 9999, successUrl: 'x' },
      [
        ['successUrl', 'invalid_format'],
        ['amount', 'not_allowed'],
        ['quantity', 'too_big'],
      ],
    ],
    [
      'checkouts.create',
      { productId: fixed.id, amount: '1', quantity: 9999 },
      [
        ['amount', 'not_allowed'],
        ['quantity', 'too_big'],
      ],
    ],
    [
      'checkouts.create',
      { productId: custom.id, amount: '1', quantity: 0, expiresAt: '2020-01-01T00:00:00Z' },
      [
        ['quantity', 'too_small'],
        ['expiresAt', 'too_small'],
        ['quantity', 'not_allowed'],
        ['amount', 'too_small'],
      ],
    ],
    [
      'checkouts.create',
      { productId: custom.id, reference: 5 },
      [
        ['reference', 'invalid_type'],
        ['amount', 'required'],
      ],
    ],
    [
      'wallets.mendGaps',
      { id: wallet.id, horizonUrl: 'http://horizon.example', nonsense: 1 },
      [
        ['nonsense', 'unrecognized_key'],
        ['horizonUrl', 'invalid_format'],
      ],
    ],
  ];
  for (const transport of TRANSPORTS) {
    for (const [name, input, faults] of cases) {
      const told = await faultsOf(transport, name, input);
      t.same(told.map(String).sort(), faults.map(String).sort(), `${transport} ${name} ${JSON.stringify(input)}`);
    }
  }
});

t.test('a link of another network is told beside every other fault of an assignment', async (t) => {
  const { client } = service.context.localLedger!;
  const { address: paid } = await client.fund();
  await make('/wallets', { name: 'Paid', address: paid, network: 'LOCAL' });
  const { hash } = await client.pay({ to: paid, amount: '3', memo: 'nobody knows' });
  const found = () => service.api('GET', `/payments?transactionHash=${hash}&status=UNMATCHED`);
  const { id } = await eventually(async () => (await found()).data[0], 'the payment');
  const far = await newWallet('TESTNET');
  const product = await make('/products', { ...terms, walletId: far.id, priceType: 'CUSTOM' });
  const link = await make('/payment-links', { productId: product.id });
  const input = { id, paymentLinkId: link.id, nonsense: 1 };
  for (const transport of TRANSPORTS) {
    const told = await faultsOf(transport, 'payments.assign', input);
    t.same(told, [
      ['nonsense', 'unrecognized_key'],
      ['paymentLinkId', 'not_allowed'],
    ]);
  }
});

t.test('a body names the id of the path → refused at that field, beside every other fault', async (t) => {
  const body = { id: 'prod_1', walletId: typeId('walletId') };
  const { status, error } = await service.api('PATCH', `/products/${fixed.id}`, body);
  t.equal(status, 422);
  t.same(
    error!.details!.map(({ path, code }) => [path, code]),
    [
      ['id', 'unrecognized_key'],
      ['walletId', 'not_found'],
    ],
  );
});

t.test('an amount that a page does not take is told beside an account that is none', async (t) => {
  for (const [product, amount, code] of [
    [fixed, '1', 'not_allowed'],
    [custom, '4', 'too_small'],
    [custom, undefined, 'required'],
  ] as const) {
    const { slug } = await make('/payment-links', { productId: product.id });
    const response = await fetch(`${service.url}/p/${slug}/transaction`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ account: 'G1', amount }),
    });
    const { error } = (await response.json()) as any;
    t.same(
      error.details.map(({ path, code }: any) => [path, code]),
      [
        ['account', 'invalid_format'],
        ['amount', code],
      ],
    );
  }
});
