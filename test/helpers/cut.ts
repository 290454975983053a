/** A proxy to the service or to MongoDB whose connections can be cut. */
import { type AddressInfo, connect, createServer } from 'node:net';

export interface CuttableWay {
  url: string;
  /** Ends all current connections. */
  cut(): void;
  /** While closed, ends every connection. */
  close(isClosed: boolean): void;
}

/** @param isLast gets the bytes that pass through: when it returns true, the connection ends */
export async function cuttableWay(
  t: { teardown(end: () => unknown): void },
  to: string,
  isLast: (bytes: Buffer) => boolean = () => false,
): Promise<CuttableWay> {
  const ends = new Set<{ destroy(): void }>();
  const cut = () => {
    for (const each of ends) each.destroy();
    ends.clear();
  };
  let isClosed = false;
  const proxy = createServer((from) => {
    if (isClosed) {
      from.destroy();
      return;
    }
    const target = connect(Number(new URL(to).port), '127.0.0.1');
    for (const each of [from, target]) each.on('error', () => undefined);
    from.on('data', (bytes) => {
      if (isLast(bytes)) for (const each of [from, target]) each.destroy();
    });
    from.pipe(target).pipe(from);
    ends.add(from).add(target);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    cut();
    proxy.close();
  });
  const close = (shut: boolean) => {
    isClosed = shut;
    if (shut) cut();
  };
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, cut, close };
}

/** The URI of the same database through this proxy. */
export function databaseAt(uri: string, { url }: CuttableWay): string {
  const way = Object.assign(new URL(uri), { hostname: '127.0.0.1', port: new URL(url).port });
  way.searchParams.delete('replicaSet');
  way.searchParams.set('directConnection', 'true');
  return way.href;
}
