/** The client's package: its types are the contract's, and it takes only genuine webhooks. */
import { generateKeyPairSync, sign } from 'node:crypto';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import type { EventDataOf } from '../../contracts/event-kinds.js';
import type { WebhookPayload } from '../../contracts/events.js';
import type { Contract } from '../../contracts/index.js';
import type { InputOf, OutputOf } from '../../contracts/operation.js';
import type * as client from '../../src/client/index.js';
import { createClient, verifyWebhook } from '../../src/client/index.js';

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
// biome-ignore lint/suspicious/noConfusingVoidType: tRPC's input of a procedure without any is void.
type Given<Input> = Exclude<Input, undefined | void>;
/** True for each operation whose generated types take and give what Zod's do. */
type Agreement = {
  [R in keyof Contract]: {
    [N in keyof Contract[R]]: Contract[R][N] extends { streams: true }
      ? true
      : [
            Same<
              Given<inferRouterInputs<client.AppRouter>[R][N & keyof client.Procedures[R]]>,
              InputOf<Contract[R][N]>
            >,
            Same<inferRouterOutputs<client.AppRouter>[R][N & keyof client.Procedures[R]], OutputOf<Contract[R][N]>>,
          ] extends [true, true]
        ? true
        : false;
  };
};
type AllTrue<Tree> = { [R in keyof Tree]: { [N in keyof Tree[R]]: true } };

/** `npm run typecheck` fails here when the generated types and the contracts differ. */
const agreed = <Tree extends AllTrue<Tree>>(): Tree | null => null;
agreed<Agreement>();
agreed<{ webhook: { payload: Same<client.WebhookPayload, WebhookPayload> } }>();
agreed<{ event: { data: Same<client.PaymentEventData, EventDataOf<'payment.received'>> } }>();

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const body = JSON.stringify({ id: 'evt_1', type: 'payment.completed', sequence: 1, data: { note: 'Grüße' } });

function signedBySecret(secret = SECRET, at = new Date()) {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', at, body),
  };
}

/** A key pair as the service publishes it, and a signature by Node's own Ed25519. */
function signedByKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = sign(null, Buffer.from(`evt_1.${timestamp}.${body}`), privateKey).toString('base64');
  const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': timestamp, 'webhook-signature': `v1a,${signature}` };
  return { publicKey: `whpk_${raw.toString('base64')}`, headers };
}

t.test('a genuine delivery gives its event, whatever form body and headers come in', async (t) => {
  const headers = signedBySecret();
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  for (const [form, given] of Object.entries({ node: headers, fetch: new Headers(headers), upper }))
    t.same(await verifyWebhook(body, given, { secret: SECRET }), JSON.parse(body), form);
  const bytes = Buffer.from(body);
  for (const given of [bytes, new Uint8Array(bytes), new Uint8Array(bytes).buffer])
    t.same(await verifyWebhook(given, headers, { secret: SECRET }), JSON.parse(body));
  t.ok(await verifyWebhook(body, headers, { secret: [OTHER, SECRET] }), 'one of several secrets');
  const rotated = `${signedBySecret(OTHER)['webhook-signature']} ${headers['webhook-signature']}`;
  t.ok(await verifyWebhook(body, { ...headers, 'webhook-signature': rotated }, { secret: SECRET }));
});

t.test('a published key verifies without a secret', async (t) => {
  const { publicKey, headers } = signedByKey();
  const [mine, another] = [{ id: 'whk_1', publicKey, createdAt: '', retiresAt: null }, signedByKey().publicKey];
  t.ok(await verifyWebhook(body, headers, { publicKeys: publicKey }));
  t.ok(await verifyWebhook(body, headers, { publicKeys: [another, mine] }), 'the keys as they are published');
  const both = `${signedBySecret()['webhook-signature']} ${headers['webhook-signature']}`;
  t.ok(await verifyWebhook(body, { ...headers, 'webhook-signature': both }, { publicKeys: [publicKey] }));
  const refused = { name: 'WebhookVerificationError' };
  await t.rejects(verifyWebhook(body, headers, { publicKeys: [another] }), refused);
  await t.rejects(verifyWebhook(body, headers, { publicKeys: [] }), refused);
  await t.rejects(verifyWebhook(body, headers, { secret: SECRET }), refused, 'a v1a signature is none of a secret');
  await t.rejects(verifyWebhook(`${body} `, headers, { publicKeys: publicKey }), refused);
});

t.test('a forged or old delivery is refused', async (t) => {
  const headers = signedBySecret();
  const seconds = (away: number) => signedBySecret(SECRET, new Date(Date.now() + away * 1000));
  const refused: [string, client.WebhookHeaders][] = [
    [`${body} `, headers],
    [body, signedBySecret(OTHER)],
    [body, { ...headers, 'webhook-id': 'evt_2' }],
    [body, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1) }],
    [body, { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v1a,') }],
    [body, { ...headers, 'webhook-signature': 'v1,%%% v1, v1 ,' }],
    [body, { ...headers, 'webhook-timestamp': 'now' }],
    [body, seconds(-310)],
    [body, seconds(310)],
    [body, {}],
    [body, { ...headers, 'webhook-signature': undefined }],
    [body, { ...headers, 'webhook-id': ['evt_1', 'evt_1'] }],
  ];
  for (const [text, given] of refused)
    await t.rejects(verifyWebhook(text, given, { secret: SECRET }), { name: 'WebhookVerificationError' });
  t.ok(await verifyWebhook(body, seconds(-310), { secret: SECRET, toleranceSeconds: 600 }));
  for (const wrong of [{ secret: 'whsec_' }, { secret: '' }, { publicKeys: 'whpk_AAAA' }, { publicKeys: [SECRET] }])
    await t.rejects(
      verifyWebhook(body, headers, wrong),
      { name: 'TypeError' },
      'what cannot be a key is not a forgery',
    );
});

t.test('a URL of the REST API leads to the service, and one that nothing answers at is named', async (t) => {
  const asked: string[] = [];
  const fetch = (url: unknown) => {
    asked.push(String(url));
    return Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } }));
  };
  const client = createClient({ url: 'http://pay.example/base/api/v1/', apiKey: 'sk_x', fetch: fetch as never });
  const error = await client.account.get.query().catch((failure: unknown) => failure as Error);
  t.match(asked[0], /^http:\/\/pay\.example\/base\/trpc\//);
  t.match((error as Error).message, 'The call to http://pay.example/base failed: fetch failed (ECONNREFUSED)');
});

t.test('a key with a line break is refused at once and not repeated', async (t) => {
  for (const apiKey of ['sk_secret\n', 'sk_se cret', ''])
    try {
      createClient({ url: 'http://pay.example', apiKey });
      t.fail('taken');
    } catch (error) {
      t.match((error as Error).message, /^apiKey/);
      t.notMatch((error as Error).message, /sk_/);
    }
});
