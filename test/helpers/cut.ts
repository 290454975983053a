/** A way to the service that can be cut, as networks do. */
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

export interface CuttableWay {
  url: string;
  /** Ends every connection of now. */
  cut(): void;
}

export async function cuttableWay(t: { teardown(end: () => unknown): void }, to: string): Promise<CuttableWay> {
  const ends = new Set<{ destroy(): void }>();
  const cut = () => {
    for (const each of ends) each.destroy();
    ends.clear();
  };
  const proxy = createServer().on('connection', (from) => {
    const target = connect(Number(new URL(to).port), '127.0.0.1');
    from.pipe(target).pipe(from);
    for (const each of [from, target]) each.on('error', () => undefined);
    ends.add(from).add(target);
  });
  proxy.removeAllListeners('request');
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    cut();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, cut };
}
