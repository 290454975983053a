/** Where the service listens. */
import { createServer } from 'node:net';
import { listenError } from '../api/server.js';

/** Call before anything is started or written, so that a second service or a wrong address is reported at once.
 *  @param port 0 for any free one
 *  @param setting the name of the setting that `port` comes from, for messages
 *  @throws StartupError */
export async function usablePort(host: string, port: number, setting: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => reject(listenError(error, host, port, setting)));
    probe.listen({ host, port }, () => {
      const found = (probe.address() as { port: number }).port;
      probe.close(() => resolve(found));
    });
  });
}
