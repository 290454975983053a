/** The service behind the proxy of compose.yaml: a real Caddy with the repository's Caddyfile, over
 *  TLS with its own authority. */
import { connect } from 'node:http2';
import { request } from 'node:https';
import t from 'tap';
import { findCaddy, startCaddy } from '../helpers/caddy.js';
import { LONG } from '../helpers/long.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const skip = findCaddy() ? false : 'Caddy is not installed (apt-get install caddy), and CADDY_PATH names none';

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** The address that the client comes from. */
  from?: string;
}

t.test('behind Caddy', { skip }, async (t) => {
  const database = await testDatabase(t);
  const [port, metricsPort] = [await freePort(), await freePort()];
  const { httpPort, httpsPort, ca } = await startCaddy(t, `127.0.0.1:${port}`, 'localhost');
  const origin = `https://localhost:${httpsPort}`;
  const env = {
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    PUBLIC_URL: origin,
    TRUST_PROXY: '1',
    PUBLIC_RATE_LIMIT_PER_MINUTE: '20',
    MAX_STREAMS_PER_ACCOUNT: '1',
  };
  const service = await startTestService(t, { database, env });
  const { link, wallet } = await startSelling(service);
  const authorization = `Bearer ${service.apiKey}`;

  const send = (path: string, { method = 'GET', headers, body, from = '127.0.0.1' }: Sent = {}) =>
    new Promise<{ status: number; headers: Record<string, any>; text: string }>((resolve, reject) => {
      const options = { method, ca, headers, localAddress: from, agent: false, family: 4 };
      const sent = request(`${origin}${path}`, options, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }));
      });
      sent.on('error', reject).end(body);
    });

  t.test('plain http leads to https, where links and cookies are of https', async (t) => {
    const plain = await fetch(`http://localhost:${httpPort}/p/${link.slug}`, { redirect: 'manual' });
    t.equal(plain.status, 308);
    t.match(plain.headers.get('location'), /^https:\/\/localhost/);
    t.equal(link.url, `${origin}/p/${link.slug}`);
    t.equal((await send(`/p/${link.slug}`)).status, 200);
    const session = (from: string) =>
      send('/dashboard/session', {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: from },
        body: JSON.stringify({ key: service.apiKey }),
      });
    const signedIn = await session(origin);
    t.equal(signedIn.status, 200, signedIn.text);
    t.match(signedIn.headers['set-cookie'][0], /^__Host-dashboard=.*; Secure/);
    t.equal((await session(origin.replace('https', 'http'))).status, 403, 'a page without TLS is another one');
  });

  t.test('each visitor has an address and limits of his own, which he cannot choose', async (t) => {
    const statuses: number[] = [];
    for (let nth = 0; nth < 25; nth += 1) {
      const headers = { 'x-forwarded-for': `203.0.113.${nth}`, 'x-real-ip': `203.0.113.${nth}` };
      statuses.push((await send('/docs/', { headers, from: '127.0.0.2' })).status);
    }
    t.ok(statuses.includes(429), String(statuses));
    t.equal((await send('/docs/', { from: '127.0.0.3' })).status, 200);
  });

  t.test('metrics and the reasons of readiness are not to be had through it', async (t) => {
    t.equal((await send('/metrics', { from: '127.0.0.4' })).status, 404);
    t.equal((await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).status, 200);
  });

  t.test(
    'one connection of HTTP/2 carries pages and streams at once, and each event comes as it happens',
    async (t) => {
      const session = connect(origin, { ca });
      t.teardown(() => session.destroy());
      const openStream = () => {
        const stream = session.request({ ':path': '/api/v1/events/stream', authorization });
        let text = '';
        stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        stream.on('error', () => undefined);
        const status = new Promise<number>((resolve) =>
          stream.once('response', (of) => resolve(Number(of[':status']))),
        );
        return { stream, status, text: () => text };
      };
      const first = openStream();
      t.equal(await first.status, 200);
      t.equal(session.alpnProtocol, 'h2');
      const second = openStream();
      t.equal(await second.status, 429, 'one stream is the limit here');
      const page = session.request({ ':path': `/p/${link.slug}` });
      const [answer] = await new Promise<any[]>((resolve) => page.once('response', (...all) => resolve(all)));
      t.equal(answer[':status'], 200);
      page.close();
      await service.context.localLedger!.client.pay({ to: wallet.address, amount: '25', memo: link.memo });
      await eventually(async () => first.text().includes('payment.completed'), 'the event, unbuffered', 5000);
      first.stream.close();
      await eventually(
        async () => {
          const again = openStream();
          const status = await again.status;
          again.stream.close();
          return status === 200;
        },
        'the service has seen that the reader is gone',
        5000,
      );
    },
  );

  t.test('100 kB go through, and what is too much gets the answer of the service', async (t) => {
    const product = { name: 'Mug', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '3' };
    const padded = (bytes: number) => JSON.stringify(product).padEnd(bytes);
    const post = (body: string) =>
      send('/api/v1/products', {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body,
      });
    t.equal((await post(padded(100_000))).status, 201);
    const refused = await post(padded(2_000_000));
    t.match(refused, { status: 400, text: /larger than 102400 bytes/ });
  });

  t.test('while the service starts again, pages come late, and what was not taken made nothing', async (t) => {
    await service.context.close(500);
    const body = JSON.stringify({ name: 'Restart', walletId: wallet.id, assetCode: 'XLM', priceType: 'CUSTOM' });
    const headers = { authorization, 'content-type': 'application/json' };
    const page = send(`/p/${link.slug}`, { from: '127.0.0.5' });
    // Caddy 2.6 gives up what has a body; later ones may wait with it.
    const posted = send('/api/v1/products', { method: 'POST', headers, body });
    await startTestService(t, { database, env });
    t.equal((await page).status, 200);
    const { status } = await posted;
    t.ok([201, 502].includes(status), String(status));
    const found = await send('/api/v1/products?search=Restart', { headers });
    t.equal(JSON.parse(found.text).meta.total, status === 201 ? 1 : 0);
  });
});

t.test('without a domain it answers on http://localhost alone', { skip, ...LONG }, async (t) => {
  const database = await testDatabase(t);
  const port = await freePort();
  const { httpPort } = await startCaddy(t, `127.0.0.1:${port}`, 'http://localhost');
  const origin = `http://localhost:${httpPort}`;
  const env = { PORT: String(port), PUBLIC_URL: origin, TRUST_PROXY: '1' };
  const service = await startTestService(t, { database, env });
  const { link } = await startSelling(service);
  t.equal((await fetch(`${origin}/p/${link.slug}`)).status, 200);
  const other = await fetch(`http://127.0.0.1:${httpPort}/p/${link.slug}`);
  t.equal(await other.text(), '', 'no other name leads to it');
});
