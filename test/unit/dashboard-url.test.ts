/** The dashboard's address is one at which passkeys work. */
import t from 'tap';
import { dashboardUrlOf } from '../../src/domain/dashboard-url.js';

const CASES = [
  ['http://127.0.0.1:3000', 'http://localhost:3000'],
  ['http://127.1.2.3:3000/shop', 'http://localhost:3000/shop'],
  ['http://[::1]:3000', 'http://localhost:3000'],
  ['http://0.0.0.0:3000', 'http://localhost:3000'],
  ['http://[::]:80', 'http://localhost'],
  ['http://192.168.1.5:3000', 'http://192.168.1.5:3000'],
  ['https://pay.shop.example', 'https://pay.shop.example'],
  ['https://127.shop.example', 'https://127.shop.example'],
] as const;

for (const [publicUrl, opened] of CASES)
  t.equal(dashboardUrlOf(publicUrl), opened, `${publicUrl} is opened at ${opened}`);
