/** Event streams of a bare Node server: no key, no account, only open answers with a comment every
 *  15 s. Prints its URL. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const streams = new Set<ServerResponse>();
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('retry: 2000\n\n');
  streams.add(response);
  response.once('close', () => streams.delete(response));
});
setInterval(() => {
  for (const each of streams) each.write(':\n\n');
}, 15_000);
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
