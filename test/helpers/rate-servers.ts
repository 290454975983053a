/** Rate sources in one server: each answers at its own path like the real one, unless a test makes
 *  it misbehave. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type SourceName = 'kraken' | 'coinbase' | 'coingecko' | 'ecb' | 'ledger' | 'custom';

export interface Answer {
  status?: number;
  body?: string;
  headers?: Record<string, string>;
  /** No answer at all, or a body that never ends. */
  trouble?: 'hang' | 'endless';
}

export interface RateServers {
  /** The value of `RATE_SOURCES` for these sources. */
  sources(...names: SourceName[]): string;
  /** The price of one XLM at each source, changeable by tests. */
  prices: Record<string, string>;
  /** The date of the European Central Bank's rates, and the time of those of CoinGecko and the
   *  custom source. */
  day: string;
  at: Date;
  /** Replaces the source's answer. */
  trouble: Partial<Record<SourceName, Answer | ((path: string) => Answer | null)>>;
  requests: { source: SourceName; url: string; headers: IncomingMessage['headers'] }[];
  count(source: SourceName): number;
}

const EUROS: Record<string, string> = { USD: '1.1', CHF: '0.95', JPY: '160', GBP: '0.85' };

export async function startRateServers(
  t: { teardown(end: () => unknown): void },
  prices: Record<string, string>,
  at: Date,
): Promise<RateServers> {
  const servers: Omit<RateServers, 'sources' | 'count'> = {
    prices,
    at,
    day: at.toISOString().slice(0, 10),
    trouble: {},
    requests: [],
  };

  const answers: Record<SourceName, (url: URL, headers: IncomingMessage['headers']) => Answer> = {
    kraken(url) {
      const currency = url.searchParams.get('pair')!.slice(3);
      const price = servers.prices[currency];
      if (price === undefined) return json({ error: ['EQuery:Unknown asset pair'] });
      const ticker = { a: ['9', '1', '1.000'], b: ['8', '1', '1.000'], c: [price, '24.5'], v: ['1', '2'] };
      return json({ error: [], result: { [`XXLMZ${currency}`]: ticker } });
    },
    coinbase(url, headers) {
      if (!headers['user-agent']) return { status: 403, body: 'Forbidden' };
      const currency = /XLM-(\w+)/.exec(url.pathname)![1]!;
      const price = servers.prices[currency];
      if (price === undefined) return json({ errors: [{ id: 'not_found', message: 'Invalid base currency' }] }, 404);
      return json({ data: { amount: price, base: 'XLM', currency } });
    },
    coingecko(url, headers) {
      if (headers['x-cg-demo-api-key'] !== 'CG-key') return json({ status: { error_code: 10002 } }, 401);
      const wanted = url.searchParams.get('vs_currencies')!.split(',');
      const found = wanted.flatMap((each) => {
        const price = servers.prices[each.toUpperCase()];
        return price === undefined ? [] : [`"${each}":${price}`];
      });
      const seconds = Math.floor(servers.at.getTime() / 1000);
      return { body: `{"stellar":{${[...found, `"last_updated_at":${seconds}`].join(',')}}}` };
    },
    ecb() {
      const rates = Object.entries(EUROS).map(([currency, rate]) => `<Cube currency='${currency}' rate='${rate}'/>`);
      return {
        body: `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
<gesmes:subject>Reference rates</gesmes:subject><gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
<Cube><Cube time='${servers.day}'>${rates.join('\n')}</Cube></Cube></gesmes:Envelope>`,
      };
    },
    ledger(url) {
      const sent = url.searchParams.get('source_amount')!;
      const got = Number(sent) * Number(servers.prices.EUR);
      const record = { source_amount: `${sent}.0000000`, destination_amount: got.toFixed(7), path: [] };
      return json({ _embedded: { records: [{ ...record, destination_amount: '0.0000001' }, record] } });
    },
    custom(url) {
      const rate = servers.prices[url.searchParams.get('quote')!];
      return rate === undefined ? { status: 404, body: '' } : json({ rate, at: servers.at.toISOString() });
    },
  };

  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    const url = new URL(req.url!, 'http://server');
    const source = url.pathname.split('/')[1] as SourceName;
    servers.requests.push({ source, url: req.url!, headers: req.headers });
    const told = servers.trouble[source];
    const given = typeof told === 'function' ? told(req.url!) : told;
    const { status = 200, body = '', headers = {}, trouble } = given ?? answers[source](url, req.headers);
    if (trouble === 'hang') return;
    res.writeHead(status, headers);
    if (trouble === 'endless') {
      const flood = () => {
        while (res.write('x'.repeat(65_536)));
      };
      res.on('drain', flood);
      return flood();
    }
    res.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(servers, {
    sources: (...names: SourceName[]) => names.map((name) => `${name}@${origin}/${name}`).join(','),
    count: (source: SourceName) => servers.requests.filter((each) => each.source === source).length,
  });
}

const json = (body: unknown, status = 200): Answer => ({ status, body: JSON.stringify(body) });
