/** Where the service listens. */
import { createServer } from 'node:net';
import { StartupError } from '../domain/startup-error.js';

/** Before anything is started or written: a second service that was started by mistake should say so at once. @throws StartupError */
export async function refuseTakenPort(host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE')
        reject(new StartupError(`PORT ${port} is taken on ${host}: set PORT to a free one.`));
      else resolve();
    });
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  });
}

export async function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen({ host, port: 0 }, () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
