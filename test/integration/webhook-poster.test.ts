/** The outgoing connection, against real servers on loopback: whom it trusts, what it refuses, how
 *  long it waits. */
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { promisify } from 'node:util';
import { generate } from 'selfsigned';
import t, { type Test } from 'tap';
import {
  newKeySeed,
  newWebhookSecret,
  privateKeyOf,
  publicKeyOf,
  signatureHeaders,
  signWithKey,
} from '../../src/domain/signature.js';
import { systemClock } from '../../src/kit/clock.js';
import { type Heard, listenForWebhooks, openDevelopmentCertificate } from '../../src/webhooks/listen.js';
import { createPoster, type PosterOptions } from '../../src/webhooks/poster.js';
import { inHosts, namesToAsk, readSearch } from '../../src/webhooks/resolver.js';
import { type Behaviour, startReceiver, testAuthority } from '../helpers/receiver.js';

const body = Buffer.from('{"hello":"world"}');
const clock = systemClock;

const posterFor = async (t: Test, options: Partial<PosterOptions> = {}) => {
  const { cert } = await testAuthority();
  const poster = createPoster({ allowPrivate: true, timeoutMs: 400, clock, developmentCa: () => cert, ...options });
  t.teardown(() => poster.close());
  return poster;
};

const receiverFor = async (t: Test, options: Parameters<typeof startReceiver>[0] = {}) => {
  const receiver = await startReceiver(options);
  t.teardown(() => receiver.close());
  return receiver;
};

/** Counts connections and says nothing. */
const canaryAt = async (t: Test, host: string, port = 0) => {
  const touched: string[] = [];
  const server: Server = createServer((socket) => {
    touched.push(host);
    socket.on('error', () => undefined).destroy();
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  t.teardown(() => new Promise((resolve) => server.close(resolve)));
  return { touched, port: (server.address() as { port: number }).port };
};

t.test('what an endpoint does decides on success and on a short, stable reason', async (t) => {
  const receiver = await receiverFor(t);
  const poster = await posterFor(t);
  const cases: [string, Behaviour, number | null, string | null][] = [
    ['200', {}, 200, null],
    ['204', { status: 204, body: '' }, 204, null],
    ['299', { status: 299 }, 299, null],
    ['a body without end', { body: Number.POSITIVE_INFINITY }, 200, null],
    ['a long body of a failure', { status: 500, body: 30_000_000 }, 500, 'answered 500'],
    ['300', { status: 300 }, 300, 'redirect not followed'],
    ['302', { status: 302, headers: { location: `${receiver.origin}/secret` } }, 302, 'redirect not followed'],
    ['307', { status: 307, headers: { location: `${receiver.origin}/secret` } }, 307, 'redirect not followed'],
    ['400', { status: 400 }, 400, 'answered 400'],
    ['410', { status: 410 }, 410, 'answered 410'],
    ['500', { status: 500 }, 500, 'answered 500'],
    ['no answer', { trouble: 'hang' }, null, 'timed out'],
    ['a late answer', { delayMs: 600 }, null, 'timed out'],
    ['an endless body', { trouble: 'drip' }, 200, null],
    ['a torn connection', { trouble: 'reset' }, null, 'connection closed'],
    ['a torn body', { trouble: 'cut' }, 200, null],
  ];
  receiver.behave(({ path }) => cases.find(([name]) => path === `/${encodeURIComponent(name)}`)?.[1] ?? {});
  for (const [name, , responseStatus, error] of cases) {
    const result = await poster.post(`${receiver.origin}/${encodeURIComponent(name)}`, { 'webhook-id': 'evt_1' }, body);
    t.match(result, { responseStatus, error, retryAfterMs: null }, name);
    t.ok(result.durationMs < 600, `${name}: ${result.durationMs} ms`);
  }
  t.equal(receiver.at('/secret').length, 0, 'no redirect was followed');
  const [first] = receiver.requests;
  t.equal(first?.body, body.toString());
  t.match(first?.headers, { 'content-type': 'application/json', 'webhook-id': 'evt_1' });
});

t.test('the status line decides, whatever comes after it', async (t) => {
  const { key, cert } = await pairOf(await testAuthority());
  const cases: [string, string[], number | null, string | null][] = [
    ['headers of 20 kB', [`HTTP/1.1 200 OK\r\nx-much: ${'x'.repeat(20_000)}\r\ncontent-length: 0\r\n\r\n`], 200, null],
    ['headers of 200 kB', ['HTTP/1.1 202 OK\r\n', `x-much: ${'x'.repeat(200_000)}\r\n\r\n`], 202, null],
    ['a 204 with a length', ['HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello'], 204, null],
    ['a body that is shorter than said', ['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', 'end'], 200, null],
    ['chunks that are none', ['HTTP/1.1 201 Made\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'], 201, null],
    ['two lengths', ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nok'], 200, null],
    ['headers that are none', ['HTTP/1.1 200 OK\r\nno header at all\r\n\r\n'], 200, null],
    ['headers that never end', ['HTTP/1.1 200 OK\r\nx: '], 200, null],
    ['nothing but the line', ['HTTP/1.1 200 OK\r\n', 'end'], 200, null],
    ['a line in pieces', ['HTTP/1', '.1 2', '00 OK\r\n', 'end'], 200, null],
    ['half a line', ['HTTP/1.1 20', 'end'], null, 'connection closed'],
    ['an interim answer alone', ['HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n'], null, 'timed out'],
    [
      'an interim answer first',
      ['HTTP/1.1 103 Early Hints\r\n\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
      200,
      null,
    ],
    ['a failure that is cut', ['HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\n', 'end'], 500, 'answered 500'],
    ['a farewell that is cut', ['HTTP/1.1 410 Gone\r\ncontent-length: 100\r\n\r\n', 'end'], 410, 'answered 410'],
  ];
  const server = createTlsServer({ key, cert }, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', async (request) => {
      const name = decodeURIComponent(/^POST \/(\S+)/.exec(Buffer.from(request).toString('latin1'))?.[1] ?? '');
      for (const piece of cases.find(([each]) => each === name)?.[1] ?? []) {
        if (piece === 'end') socket.end();
        else socket.write(piece);
        await clock.sleep(10);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const poster = await posterFor(t);
  for (const [name, , responseStatus, error] of cases) {
    const url = `https://127.0.0.1:${(server.address() as { port: number }).port}/${encodeURIComponent(name)}`;
    t.match(await poster.post(url, {}, Buffer.alloc(0)), { responseStatus, error }, name);
  }
});

t.test('Retry-After is heard of 429 and 503 only', async (t) => {
  const receiver = await receiverFor(t, {
    behave: ({ path }) => ({ status: Number(path.slice(1)), headers: { 'retry-after': '120' } }),
  });
  const poster = await posterFor(t);
  for (const [status, expected] of [
    [429, 120_000],
    [503, 120_000],
    [500, null],
    [200, null],
  ] as const) {
    t.equal((await poster.post(`${receiver.origin}/${status}`, {}, body)).retryAfterMs, expected, String(status));
  }
});

t.test('one connection serves many requests to a host', async (t) => {
  const receiver = await receiverFor(t);
  const poster = await posterFor(t);
  for (let count = 0; count < 20; count++) await poster.post(`${receiver.origin}/`, {}, body);
  t.equal(receiver.connections, 2, 'one that was not trusted, and one with the authority of development');
});

t.test('certificates are verified, whatever is allowed', async (t) => {
  const good = await receiverFor(t);
  const otherName = await receiverFor(t, { names: ['elsewhere.test'] });
  const expired = await receiverFor(t, { notAfter: new Date(Date.now() - 1000) });
  const poster = await posterFor(t);
  const strict = await posterFor(t, { developmentCa: undefined });
  const public_ = await posterFor(t, { allowPrivate: false, isAllowed: () => true });
  const post = async (by: typeof poster, url: string) => (await by.post(url, {}, body)).error;

  t.equal(await post(poster, good.origin), null);
  t.equal(await post(poster, `https://localhost:${good.port}`), null);
  t.equal(await post(poster, `https://localhost:${otherName.port}`), 'certificate is for another host');
  t.equal(await post(poster, expired.origin), 'certificate expired');
  t.equal(await post(strict, good.origin), 'certificate not trusted');
  t.equal(await post(public_, good.origin), 'certificate not trusted', 'development certificates only in development');
  for (const receiver of [otherName, expired]) t.same(receiver.requests, []);
});

t.test('an endpoint that does not speak TLS and HTTP fails the attempt', async (t) => {
  const poster = await posterFor(t);
  const post = async (port: number) => (await poster.post(`https://127.0.0.1:${port}/`, {}, body)).error;
  const serve = async (server: Server) => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => server.close());
    return (server.address() as { port: number }).port;
  };
  const silent = await serve(createServer(() => undefined).unref());
  t.equal(await post(silent), 'timed out', 'no handshake');
  const plain = createServer((socket) => socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\n\r\n'));
  t.equal(await post(await serve(plain)), 'TLS failed', 'plain HTTP');
  const { key, cert } = await pairOf(await testAuthority());
  const garbage = createTlsServer({ key, cert }, (socket) => socket.on('error', () => undefined).end('what?\r\n\r\n'));
  t.equal(await post(await serve(garbage)), 'invalid answer', 'garbage');
  const upgrade = createTlsServer({ key, cert }, (socket) =>
    socket
      .on('error', () => undefined)
      .end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  );
  t.match(await post(await serve(upgrade)), /./, 'an upgrade');
  const closed = await canaryAt(t, '127.0.0.1');
  t.equal(await post(closed.port), 'connection closed', 'closed before the handshake');
  const receiver = await receiverFor(t);
  const monotonic = new Set<Socket>();
  let delayMs = 0;
  const late = createServer((socket) => {
    monotonic.add(socket.on('error', () => undefined));
    const onward = connect(receiver.port, '127.0.0.1').on('error', () => undefined);
    setTimeout(() => socket.pipe(onward).pipe(socket), delayMs);
  });
  const latePort = await serve(late);
  t.equal(await post(latePort), null);
  for (const socket of monotonic) socket.destroy();
  delayMs = 450;
  t.equal(await post(latePort), 'timed out', 'a connection that comes too late');
  await clock.sleep(400);
  t.equal(receiver.requests.length, 1, 'and nothing is sent when it comes');
  t.equal((await poster.post('https://nowhere.invalid/', {}, body)).error, 'host not found or not allowed');
  t.equal(await post(1), 'connection refused');
});

const pairOf = async (ca: { key: string; cert: string }) => {
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca,
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  return { key: made.private, cert: made.cert };
};

t.test('no form of a private address reaches a listening canary', async (t) => {
  const canary = await canaryAt(t, '127.0.0.1');
  const canary6 = await canaryAt(t, '::1', canary.port).catch(() => ({ touched: [] as string[] }));
  const { port } = canary;
  const answers: Record<string, string[]> = {
    'loopback.test': ['127.0.0.1'],
    'loopback6.test': ['::1'],
    'mapped.test': ['::ffff:127.0.0.1'],
    'mixed.test': ['8.8.8.8', '127.0.0.1'],
    'mixed6.test': ['2606:4700:4700::1111', '::1'],
    'metadata.test': ['169.254.169.254'],
    'zone.test': ['fe80::1%lo'],
    'none.test': [],
  };
  const poster = await posterFor(t, {
    allowPrivate: false,
    resolve: async (hostname) => {
      const found = answers[hostname.replace(/\.$/, '')];
      return (found ?? ['127.0.0.1']).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
  });
  const hosts = [
    ...['127.0.0.1', '127.0.0.1.', '127.1', '127.0.1', '127.255.255.254', '2130706433', '0x7f000001', '0x7f.1'],
    ...[
      '017700000001',
      '0177.0.0.1',
      '0x7F.0x0.0x0.0x1',
      '0',
      '0.0.0.0',
      '１２７.０.０.１',
      '%31%32%37.0.0.1',
      '127。0。0。1',
    ],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', ...Object.keys(answers)],
    ...[
      '[::1]',
      '[::]',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::127.0.0.1]',
      '[::ffff:0:127.0.0.1]',
    ],
    ...[
      '[64:ff9b::127.0.0.1]',
      '[64:ff9b:1::7f00:1]',
      '[2002:7f00:1::]',
      '[2001:0:7f00:1::]',
      '[fe80::1]',
      '[fc00::1]',
    ],
    ...['10.0.0.1', '172.16.0.1', '192.168.0.1', '169.254.169.254', '[fd00:ec2::254]', '100.64.0.1', '192.0.2.1'],
    ...['198.18.0.1', '203.0.113.1', '224.0.0.1', '255.255.255.255', '240.0.0.1', '[2001:db8::1]', '[ff02::1]'],
  ];
  for (const host of hosts) {
    const { error, durationMs } = await poster.post(`https://${host}:${port}/`, {}, body);
    t.equal(error, 'host not found or not allowed', host);
    t.ok(durationMs < 300, `${host}: refused without a packet`);
  }
  for (const url of [
    `http://127.0.0.1:${port}/`,
    'https://',
    `https://[fe80::1%25lo]:${port}/`,
    'file:///etc/passwd',
    '',
  ]) {
    t.equal((await poster.post(url, {}, body)).error, 'not an https URL', url);
  }
  t.same([...canary.touched, ...canary6.touched], [], 'the canary was never touched');

  const allowing = await posterFor(t);
  await allowing.post(`https://127.0.0.1:${port}/`, {}, body);
  t.same(canary.touched, ['127.0.0.1'], 'and would have noticed');
});

t.test('a name that changes its address between check and connection leads nowhere else', async (t) => {
  // 127.0.0.2 stands for a public address.
  const canary = await canaryAt(t, '127.0.0.1');
  const shown = await canaryAt(t, '127.0.0.2', canary.port);
  let lookups = 0;
  const poster = await posterFor(t, {
    allowPrivate: false,
    isAllowed: (address) => address === '127.0.0.2',
    resolve: async () => {
      lookups += 1;
      // The first answer is good, every later one is not.
      return [{ address: lookups === 1 ? '127.0.0.2' : '127.0.0.1', family: 4 }];
    },
  });
  const url = `https://rebind.test:${canary.port}/`;
  t.equal((await poster.post(url, {}, body)).error, 'connection closed');
  t.same(shown.touched, ['127.0.0.2'], 'what was checked is what is connected to');
  t.equal(lookups, 1, 'the DNS was asked once');
  t.equal((await poster.post(url, {}, body)).error, 'host not found or not allowed', 'every attempt is checked');
  t.equal(lookups, 2);
  t.same(canary.touched, []);
});

t.test('a name server that never answers delays neither other endpoints nor look-ups of the process', async (t) => {
  const silent = createSocket('udp4');
  let queries = 0;
  silent.on('message', () => {
    queries += 1;
  });
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
  t.teardown(() => silent.close());
  const receiver = await receiverFor(t);
  const poster = await posterFor(t, { timeoutMs: 2000, nameServers: [`127.0.0.1:${silent.address().port}`] });
  await poster.post(receiver.origin, {}, body);

  let given = 0;
  const hanging = Array.from({ length: 200 }, async (_, n) => {
    const { error } = await poster.post(`https://h${n % 20}.example/`, {}, body);
    given += 1;
    return error;
  });
  t.equal((await poster.post(`https://localhost:${receiver.port}/`, {}, body)).error, null);
  await lookup('localhost');
  await stat('/');
  t.equal(given, 0, 'others went on while all of these were looked up');
  const errors = new Set(await Promise.all(hanging));
  t.same(errors, new Set(['host not found or not allowed']), 'a look-up ends before the attempt does');
  // Two queries, for IPv4 and IPv6, each tried twice.
  t.ok(queries > 0 && queries <= 20 * 2 * 2, `${queries} queries: each host has one look-up at a time`);
});

t.test('a hosts file and the search list of resolv.conf are heeded', async (t) => {
  const hosts = '127.0.0.1 localhost\n10.0.0.7 Hooks.internal hooks # hooks.other\n::1 localhost\n';
  t.same(inHosts(hosts, 'hooks.internal.'), [{ address: '10.0.0.7', family: 4 }]);
  t.same(
    inHosts(hosts, 'localhost').map(({ family }) => family),
    [4, 6],
  );
  t.same(inHosts(hosts, 'hooks.other'), []);
  const search = readSearch('nameserver 10.0.0.1\nsearch a.example b.example\noptions timeout:1 ndots:2\n');
  t.same(search, { domains: ['a.example', 'b.example'], ndots: 2 });
  t.same(namesToAsk('hook.ns', search), ['hook.ns.a.example', 'hook.ns.b.example', 'hook.ns']);
  t.same(namesToAsk('hook.ns.svc', search), ['hook.ns.svc', 'hook.ns.svc.a.example', 'hook.ns.svc.b.example']);
  t.same(namesToAsk('hook.', search), ['hook.']);
  t.same(namesToAsk('hook', readSearch('')), ['hook']);
});

t.test('NODE_EXTRA_CA_CERTS makes the service trust an authority of the operator', async (t) => {
  const receiver = await receiverFor(t);
  const dir = await mkdtemp(join(tmpdir(), 'webhook-ca-'));
  t.teardown(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, 'ca.pem'), receiver.ca);
  const script = `
    import { createPoster } from ${JSON.stringify(new URL('../../src/webhooks/poster.ts', import.meta.url).href)};
    import { systemClock } from ${JSON.stringify(new URL('../../src/kit/clock.ts', import.meta.url).href)};
    const poster = createPoster({ allowPrivate: true, timeoutMs: 2000, clock: systemClock });
    const { error } = await poster.post(${JSON.stringify(receiver.origin)}, {}, Buffer.from('{}'));
    console.log(error);
    await poster.close();`;
  const run = async (env: Record<string, string>) => {
    const args = ['--import=tsx', '--input-type=module', '-e', script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
    return stdout.trim();
  };
  t.equal(await run({ NODE_EXTRA_CA_CERTS: join(dir, 'ca.pem') }), 'null');
  t.equal(await run({}), 'certificate not trusted');
});

t.test('webhook listen: its certificate is trusted, and only what is signed is shown', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'webhook-listen-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const path = join(dir, 'development.pem');
  const certificate = await openDevelopmentCertificate(path, clock);
  t.same((await stat(path)).mode & 0o777, 0o600);
  const secret = newWebhookSecret(clock);
  const [key, foreign] = [privateKeyOf(newKeySeed(clock)), privateKeyOf(newKeySeed(clock))];
  const heard: Heard[] = [];
  let registered: string | null = null;
  let published: string[] | null = null;
  const listener = await listenForWebhooks({
    certificate,
    port: 0,
    secret: () => registered,
    publicKeys: async () => published,
    onHeard: (each) => heard.push(each),
    clock,
  });
  t.teardown(() => listener.close());
  const pem = await readFile(path, 'utf8');
  const poster = await posterFor(t, { developmentCa: () => pem });
  const post = async (of: string, payload: object, signer = key) => {
    const bytes = Buffer.from(JSON.stringify(payload));
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const headers = signatureHeaders({ id: 'evt_1', timestampSeconds, body: bytes, secrets: [of] });
    const own = await signWithKey(signer, 'evt_1', String(timestampSeconds), bytes);
    return poster.post(
      listener.url,
      { ...headers, 'webhook-signature': `${headers['webhook-signature']} ${own}` },
      bytes,
    );
  };
  t.match(await post(secret, {}), { responseStatus: 400 });
  registered = secret;
  t.match(await post(newWebhookSecret(clock), {}), { responseStatus: 400 });
  t.match(await post(secret, {}), { responseStatus: 400 });
  published = [publicKeyOf(key)];
  t.match(await post(secret, {}, foreign), { responseStatus: 400 });
  t.match(await post(secret, {}), { responseStatus: 400 });
  t.same(heard, [
    { refused: 'signature not valid' },
    { refused: 'signature not valid' },
    { refused: 'the published keys cannot be read' },
    { refused: 'signature v1a not valid by the published keys' },
    { refused: 'signed, but no event of this version' },
  ]);
  t.same(await openDevelopmentCertificate(path, clock), { cert: certificate.cert.trim(), key: certificate.key.trim() });
  const nextYear = { ...clock, nowMs: () => Date.now() + 365 * 86_400_000 };
  t.not((await openDevelopmentCertificate(path, nextYear)).cert, certificate.cert, 'renewed before it expires');
  await t.rejects(
    listenForWebhooks({
      certificate,
      port: Number(new URL(listener.url).port),
      secret: () => null,
      publicKeys: async () => null,
      onHeard: () => undefined,
      clock,
    }),
    { code: 'EADDRINUSE' },
  );
});
