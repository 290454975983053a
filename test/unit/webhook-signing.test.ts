/** Signatures, sealed secrets and the address list, without a network. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { mask, newWebhookSecret, signatureHeaders, verifySignature } from '../../src/domain/signature.js';
import { systemClock } from '../../src/kit/clock.js';
import { createSecretBox } from '../../src/kit/secrets.js';
import { EndpointQueue } from '../../src/webhooks/endpoint-queue.js';
import { isPublicAddress } from '../../src/webhooks/resolver.js';

const nowSeconds = () => Math.floor(Date.now() / 1000);

t.test('a signed delivery is verified by the standardwebhooks package, and by our own receiver', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.json(), (id, body) => {
      const secret = newWebhookSecret(systemClock);
      const headers = signatureHeaders({ id: `evt_${id}`, timestampSeconds: nowSeconds(), body, secrets: [secret] });
      new Webhook(secret).verify(body, { ...headers });
      return verifySignature({ headers: { ...headers }, body, secret, nowSeconds: nowSeconds() });
    }),
    { numRuns: 50 },
  );
  t.match(newWebhookSecret(systemClock), /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.equal(mask('whsec_abcdefgwxyz'), 'whsec_…wxyz');
  t.end();
});

t.test('while a rotation lasts either secret verifies, and no third', (t) => {
  const [fresh, old, third] = [1, 2, 3].map(() => newWebhookSecret(systemClock)) as [string, string, string];
  const body = Buffer.from('{"a":1}');
  const headers = {
    ...signatureHeaders({ id: 'evt_1', timestampSeconds: nowSeconds(), body, secrets: [fresh, old] }),
  };
  t.match(headers['webhook-signature'], /^v1,\S{44} v1,\S{44}$/);
  for (const secret of [fresh, old]) {
    t.same(new Webhook(secret).verify(body, headers), { a: 1 });
    t.ok(verifySignature({ headers, body, secret, nowSeconds: nowSeconds() }));
  }
  t.throws(() => new Webhook(third).verify(body, headers));
  t.notOk(verifySignature({ headers, body, secret: third, nowSeconds: nowSeconds() }));
  t.end();
});

t.test('a changed body, id or time is not verified, nor an old request', (t) => {
  const secret = newWebhookSecret(systemClock);
  const body = '{"amount":"1"}';
  const at = nowSeconds();
  const headers = { ...signatureHeaders({ id: 'evt_1', timestampSeconds: at, body, secrets: [secret] }) };
  const verifies = (changes: object, now = at, text = body) =>
    verifySignature({ headers: { ...headers, ...changes }, body: text, secret, nowSeconds: now });
  t.ok(verifies({}));
  t.notOk(verifies({}, at, '{"amount":"2"}'));
  t.notOk(verifies({ 'webhook-id': 'evt_2' }));
  t.notOk(verifies({ 'webhook-timestamp': String(at + 1) }));
  t.notOk(verifies({}, at + 301));
  t.notOk(verifies({}, at - 301));
  t.notOk(verifies({ 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') }));
  t.notOk(verifies({ 'webhook-signature': 'v1,' }));
  t.notOk(verifies({ 'webhook-signature': undefined }));
  t.end();
});

t.test('a sealed secret opens only with its key, for its owner, unchanged', (t) => {
  const box = createSecretBox(randomBytes(32), systemClock);
  const sealed = box.seal('whsec_secret', 'hook_1');
  t.equal(box.open(sealed, 'hook_1'), 'whsec_secret');
  t.not(sealed, box.seal('whsec_secret', 'hook_1'), 'the same secret never looks the same');
  t.notMatch(sealed, Buffer.from('whsec_secret').toString('base64url'));
  t.throws(() => box.open(sealed, 'hook_2'));
  t.throws(() => createSecretBox(randomBytes(32), systemClock).open(sealed, 'hook_1'));
  const bytes = Buffer.from(sealed.slice(3), 'base64url');
  for (const index of [0, 12, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[index]! ^= 1;
    t.throws(() => box.open(`v1.${changed.toString('base64url')}`, 'hook_1'), `byte ${index}`);
  }
  t.throws(() => box.open('v1.', 'hook_1'));
  t.throws(() => box.open(sealed.replace('v1', 'v2'), 'hook_1'));
  t.end();
});

t.test('only global unicast addresses count as public', (t) => {
  const refused = [
    ...[
      '0.0.0.0',
      '0.1.2.3',
      '10.0.0.1',
      '10.255.255.255',
      '100.64.0.1',
      '100.100.100.200',
      '127.0.0.1',
      '127.255.0.1',
    ],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.1.1'],
    ...['198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9', '224.0.0.1', '239.255.255.250', '240.0.0.1'],
    ...['255.255.255.255', '168.63.129.16', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0x7f.0.0.1', '10.1'],
    ...['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:0:8.8.8.8', '64:ff9b::8.8.8.8'],
    ...['64:ff9b:1::1', '100::1', '2001::1', '2001:2::1', '2001:10::1', '2001:20::1', '2001:db8::1', '2002:7f00:1::1'],
    ...['3fff::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', '4000::1'],
    ...['2606:4700::1%1', '', 'localhost', 'example.com', '1.2.3.4.5', '999.1.1.1'],
  ];
  for (const address of refused) t.notOk(isPublicAddress(address), address || '(empty)');
  for (const address of ['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450::1']) {
    t.ok(isPublicAddress(address), address);
  }
  t.end();
});

t.test('in an endpoint queue payment.completed follows the first attempt of its payment.received', (t) => {
  const queue = new EndpointQueue({ _id: 'hook_1', failingSince: null } as never, 0, 0);
  const job = (kind: 'received' | 'completed', subjectId: string, attemptCount = 0) => ({
    delivery: { _id: `${kind} ${subjectId}`, eventType: `payment.${kind}`, subjectId, attemptCount } as never,
    body: Buffer.alloc(0),
  });
  const take = () => queue.take(4)?.delivery._id;
  const received = job('received', 'a');
  queue.offer(received);
  queue.offer(job('completed', 'a'));
  queue.offer(job('completed', 'b'));
  queue.offer(job('completed', 'b'));
  t.equal(queue.size, 3, 'a delivery that is here already is not taken twice');
  t.equal(take(), 'received a');
  t.equal(take(), 'completed b', 'other payments do not wait');
  t.equal(take(), undefined);
  queue.ended(received);
  t.equal(take(), 'completed a');
  queue.offer(job('received', 'c', 1));
  queue.offer(job('completed', 'c'));
  t.same([take(), take()], ['received c', 'completed c'], 'a retry holds nothing up');
  queue.offer(job('received', 'd'));
  queue.stop();
  t.equal(take(), undefined);
  queue.offer(job('received', 'e'));
  t.equal(take(), undefined, 'nothing starts in a queue that was stopped');
  t.end();
});
