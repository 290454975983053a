/** A merchant's endpoint in its own process: answers 200 over HTTPS and counts requests. Takes the
 *  certificate as an argument, and prints its port. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

const { key, cert } = JSON.parse(process.argv[2]!) as { key: string; cert: string };
let [count, wanted] = [0, 0];
const server = createServer({ key, cert }, (request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'content-length': '2' });
    response.end('ok');
    count += 1;
    if (count === wanted) process.send!('all');
  });
});
process.on('message', (next: number) => {
  count = 0;
  wanted = next;
  process.send!('ready');
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
