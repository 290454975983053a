/** A MongoDB that takes connections and answers nothing: every request to the service is told so in
 *  time, and afterwards everything goes on by itself. */
import t from 'tap';
import { contract } from '../../contracts/index.js';
import { createMcpService } from '../../src/api/mcp/serve.js';
import { systemClock } from '../../src/kit/clock.js';
import {
  isReady,
  type Killable,
  keepPaying,
  NO_FAULTS,
  openShop,
  prepareKillable,
  type Shop,
  tally,
} from '../e2e/kill-rounds.js';
import { eventually } from '../helpers/service.js';

t.setTimeout(240_000);

/** What the documentation promises. */
const ANSWERED_WITHIN_MS = 10_000;
const UNREADY_WITHIN_MS = 2000;
/** Reference and Idempotency-Key of the checkout that is asked for again and again. */
const REFERENCE = 'hang';

interface Told {
  what: string;
  ms: number;
  status: number;
  code: string | undefined;
  retryAfter: string | null;
}

const codeIn = (body: string): string | undefined => {
  try {
    const [answer] = [JSON.parse(body)].flat();
    return answer.error.data?.error.code ?? answer.error.code;
  } catch {
    return undefined;
  }
};

async function ask(what: string, url: string, init: RequestInit = {}): Promise<Told> {
  const startedMs = performance.now();
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(60_000) });
  const body = await answer.text();
  const ms = Math.round(performance.now() - startedMs);
  return { what, ms, status: answer.status, code: codeIn(body), retryAfter: answer.headers.get('retry-after') };
}

/** Every way by which the service is asked for something that is in the database. */
function askAll({ url, shop, slug, checkoutId, cookie }: Asked): Promise<Told[]> {
  const authorization = `Bearer ${shop.key}`;
  const json = { authorization, 'content-type': 'application/json' };
  const body = (value: unknown) => ({ method: 'POST', headers: json, body: JSON.stringify(value) });
  const api = `${url}/api/v1`;
  const input = encodeURIComponent(JSON.stringify({ id: shop.wallet.id }));
  const batch = encodeURIComponent(JSON.stringify({ 0: { id: shop.wallet.id }, 1: { id: shop.wallet.id } }));
  const sale = { walletId: shop.wallet.id, name: 'Order', assetCode: 'XLM', amount: '3' };
  const mcp = async (): Promise<Told> => {
    const service = createMcpService({ url, apiKey: shop.key, clock: systemClock });
    const startedMs = performance.now();
    const { error } = await service.call(
      'wallets.get',
      contract.wallets.get,
      { id: shop.wallet.id },
      new AbortController().signal,
    );
    return {
      what: 'MCP',
      ms: Math.round(performance.now() - startedMs),
      status: 503,
      code: error?.code,
      retryAfter: 'none',
    };
  };
  return Promise.all([
    ask('REST read', `${api}/wallets/${shop.wallet.id}`, { headers: { authorization } }),
    ask('REST list', `${api}/payments`, { headers: { authorization } }),
    ask('REST waiting for events', `${api}/events?wait=30&after=9000000`, { headers: { authorization } }),
    ask('REST report', `${api}/reports/summary?groupBy=day`, { headers: { authorization } }),
    ask('REST create', `${api}/checkouts`, body(sale)),
    ask('REST create with a key', `${api}/checkouts`, {
      ...body({ ...sale, reference: REFERENCE }),
      headers: { ...json, 'idempotency-key': REFERENCE },
    }),
    ask('REST cancel', `${api}/checkouts/${checkoutId}/cancel`, { method: 'POST', headers: { authorization } }),
    ask('download', `${api}/payments/export?format=csv`, { headers: { authorization } }),
    ask('event stream', `${api}/events/stream`, { headers: { authorization } }),
    ask('tRPC read', `${url}/trpc/wallets.get?input=${input}`, { headers: { authorization } }),
    ask('tRPC batch', `${url}/trpc/wallets.get,wallets.get?batch=1&input=${batch}`, { headers: { authorization } }),
    ask('tRPC create', `${url}/trpc/checkouts.create`, body(sale)),
    mcp(),
    ask('page', `${url}/p/${slug}`),
    ask('page status', `${url}/p/${slug}/status`),
    ask('page QR code', `${url}/p/${slug}/qr.svg`),
    ask('page transaction', `${url}/p/${slug}/transaction`, body({ account: shop.wallet.address })),
    ask('page test payment', `${url}/p/${slug}/pay`, { method: 'POST' }),
    ask('dashboard session', `${url}/dashboard/session`, { headers: { cookie } }),
    ask('dashboard call', `${url}/dashboard/trpc/wallets.get?input=${input}`, { headers: { cookie } }),
    ask('dashboard sign-in', `${url}/dashboard/session`, body({ key: shop.key })),
  ]);
}

interface Asked {
  url: string;
  shop: Shop;
  slug: string;
  checkoutId: string;
  /** Cookie of a session of the dashboard. */
  cookie: string;
}

/** Pages are for people, who read no code. */
const SAYS_NO_CODE = ['page', 'page status', 'page QR code', 'page test payment'];

async function openAll(place: Killable, url: string): Promise<Asked> {
  const shop = await openShop(place, url);
  const { slug } = await place.call(url, shop.key, 'GET', `/payment-links/${shop.link.id}`);
  const sale = { walletId: shop.wallet.id, name: 'Order', assetCode: 'XLM', amount: '3' };
  const { id: checkoutId } = await place.call(url, shop.key, 'POST', '/checkouts', sale);
  const signedIn = await fetch(`${url}/dashboard/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: shop.key }),
  });
  const cookie = signedIn.headers.get('set-cookie')!.split(';', 1)[0]!;
  return { url, shop, slug, checkoutId, cookie };
}

t.test(
  'a MongoDB that hangs: unready within 2 s, every call answered within 10 s, alive as ever, then all goes on',
  async (t) => {
    const place = await prepareKillable(t);
    const service = await place.start();
    await eventually(() => isReady(service.url), 'the service is ready', 60_000);
    const asked = await openAll(place, service.url);
    const { shop } = asked;
    const paying = keepPaying(place, shop);
    await place.receiver.until(() => place.receiver.requests.length > 2, 60_000);

    const pid = (await place.mongodPid())!;
    const goOn = () => process.kill(pid, 'SIGCONT');
    process.kill(pid, 'SIGSTOP');
    t.teardown(() => {
      try {
        goOn();
      } catch {
        // It has ended.
      }
    });
    const looks: Promise<Told>[] = [];
    const look = (path: string) => looks.push(ask(path, `${service.url}${path}`));
    const rounds: Promise<Told[]>[] = [];
    // The first is under way before anything can have noticed, the last long after.
    for (let second = 0; second < 14; second++) {
      look('/health/ready');
      look('/health/live');
      if (second === 5) look('/metrics');
      if (second % 6 === 0) rounds.push(askAll(asked));
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    for (const [round, told] of (await Promise.all(rounds)).entries()) {
      for (const { what, ms, status, code, retryAfter } of told) {
        const name = `${what}, ${round * 6} s after the hang`;
        t.comment(`${name}: ${ms} ms ${status} ${code}`);
        t.ok(ms < ANSWERED_WITHIN_MS, `${name}: answered after ${ms} ms`);
        t.equal(status, 503, name);
        t.ok(retryAfter, `${name}: Retry-After`);
        if (!SAYS_NO_CODE.includes(what)) t.equal(code, 'unavailable', name);
      }
    }
    for (const { what, ms, status } of await Promise.all(looks)) {
      t.comment(`${what}: ${ms} ms ${status}`);
      t.equal(status, what === '/health/ready' ? 503 : 200, what);
      t.ok(ms < UNREADY_WITHIN_MS, `${what}: answered after ${ms} ms`);
    }

    goOn();
    await eventually(() => isReady(service.url), 'the service is ready again', 10_000);
    const order = { walletId: shop.wallet.id, name: 'Order', assetCode: 'XLM', amount: '3', reference: REFERENCE };
    const repeat = () =>
      fetch(`${service.url}/api/v1/checkouts`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${shop.key}`,
          'content-type': 'application/json',
          'idempotency-key': REFERENCE,
        },
        body: JSON.stringify(order),
      });
    await eventually(async () => (await repeat()).status === 201, 'a call is taken when it is repeated', 60_000);
    const made = await place.call(service.url, shop.key, 'GET', `/checkouts?reference=${REFERENCE}`);
    t.equal(made.meta.total, 1, 'and is done once');
    await place.call(service.url, shop.key, 'PATCH', `/wallets/${shop.wallet.id}`, { name: 'another' });
    const { payments, repeated, ...faults } = await tally(place, shop, service.url, await paying.stop());
    t.ok(payments > 4);
    t.same(faults, NO_FAULTS, `${payments} payments, ${repeated} deliveries sent again`);
  },
);
