/** The typed client against the service: what is repeated is done once, and what failed
 *  says where. */
import t from 'tap';
import { CallError, createClient, TRPCClientError } from '../../src/client/index.js';
import { startSelling, startTestService } from '../helpers/service.js';

const service = await startTestService(t, { role: 'api' });
const { wallet } = await startSelling(service);
const sent: { path: string; key: string | null }[] = [];
const collect = createClient({
  url: service.url,
  apiKey: service.apiKey,
  fetch: (input, init) => {
    const { pathname, search } = new URL(String(input));
    sent.push({ path: pathname + search, key: new Headers(init?.headers).get('idempotency-key') });
    return fetch(input, init);
  },
});
const product = { name: 'Coffee', priceType: 'CUSTOM', assetCode: 'XLM', walletId: wallet.id } as const;
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => error,
  );

t.test('creations of one tick that have keys are each made once, however often they are repeated', async (t) => {
  const make = (idempotencyKey: string) => collect.products.create.mutate(product, { context: { idempotencyKey } });
  const [first, second] = await Promise.all([make('order-1'), make('order-2')]);
  t.not(first.id, second.id);
  t.same(sent, [
    { path: '/trpc/products.create', key: 'order-1' },
    { path: '/trpc/products.create', key: 'order-2' },
  ]);
  const again = await Promise.all([make('order-2'), make('order-1')]);
  t.same(again, [second, first], 'the first answers');
  sent.length = 0;
  const [, , third] = await Promise.all([
    collect.account.get.query(),
    collect.products.list.query(),
    make('order-3'),
    collect.products.create.mutate(product),
  ]);
  t.equal(sent.filter(({ key }) => key !== null).length, 1, 'what has no key goes without that of another');
  t.ok(
    sent.some(({ path }) => /account\.get,products\.list\?batch=1/.test(path)),
    'in as few requests as before',
  );
  t.same(await make('order-3'), third);
  const other = failureOf(
    collect.products.create.mutate({ ...product, name: 'Tea' }, { context: { idempotencyKey: 'order-1' } }),
  );
  t.match(await other, { data: { error: { code: 'conflict' } } }, 'another body with the same key');
  const wrong = failureOf(collect.products.create.mutate(product, { context: { idempotencyKey: 7 } }));
  t.match(await wrong, { message: /idempotencyKey/ });
});

t.test('a failed call says which field is at fault, alone or in a batch', async (t) => {
  const one = () => collect.products.create.mutate({ ...product, name: '' });
  const [alone, two] = await Promise.all([
    failureOf(one()),
    failureOf(collect.products.create.mutate({ ...product, name: '', assetCode: 'not one' })),
  ]);
  t.ok(alone instanceof CallError && alone instanceof TRPCClientError);
  t.match(alone, { message: /^name: /, details: [{ path: 'name', code: /./ }] });
  t.match(alone, { data: { httpStatus: 422, error: { code: 'validation_error', details: [{ path: 'name' }] } } });
  t.match(two, { message: /name: .*assetCode: /, details: [{ path: 'name' }, { path: 'assetCode' }] });
  const keyed = collect.products.create.mutate({ ...product, name: '' }, { context: { idempotencyKey: 'bad' } });
  t.match(await failureOf(keyed), { message: /^name: /, details: [{ path: 'name' }] });
  t.match(await failureOf(collect.products.get.query({ id: 'prod_none' })), {
    message: 'There is no such product.',
    details: [],
    data: { error: { code: 'not_found' } },
  });
  const away = createClient({ url: 'http://127.0.0.1:1', apiKey: 'x' });
  const failed = await failureOf(away.account.get.query());
  t.match(failed, { details: [], message: /./ }, 'no answer at all');
  t.ok(failed instanceof CallError);
  t.notOk((failed as CallError).data);
});
