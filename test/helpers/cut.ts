/** A way to the service, or to MongoDB, that can be cut, as networks do. */
import { type AddressInfo, connect, createServer } from 'node:net';

export interface CuttableWay {
  url: string;
  /** Ends every connection of now. */
  cut(): void;
}

/** @param isLast told of what goes through: a connection ends by what it answers true for */
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
  const proxy = createServer((from) => {
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
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, cut };
}
