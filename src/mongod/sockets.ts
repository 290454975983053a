/** Loopback ports and unix sockets of the embedded MongoDB. */
import { closeSync, constants, openSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';

/** The most bytes of a unix socket's address on every supported system. */
const MAX_SOCKET_PATH = 103;

/** The open connection; null when nothing listens there. */
export function connectTo(path: string): Promise<Socket | null> {
  // On Linux a longer path is reached through its open directory.
  const directory =
    Buffer.byteLength(path) > MAX_SOCKET_PATH && process.platform === 'linux'
      ? openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY)
      : null;
  const address = directory === null ? path : `/proc/self/fd/${directory}/${basename(path)}`;
  const socket = connect({ path: address, allowHalfOpen: true });
  const connected = new Promise<Socket | null>((resolve) => {
    socket.once('connect', () => resolve(socket));
    // Later errors show as the connection's close.
    socket.on('error', () => resolve(null));
  });
  return connected.finally(() => directory !== null && closeSync(directory));
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** A free loopback port below the range from which systems assign ports, so that it stays free
 *  while its owner restarts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
}
