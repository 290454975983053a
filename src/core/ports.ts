/** Where the service listens. */
import { createServer } from 'node:net';
import { listenError } from '../http/server.js';

/** Before anything is started or written: a second service that was started by mistake should say so at once, and so should a wrong address.
 *  @param port 0 for whichever is free
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
