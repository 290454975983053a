import t from 'tap';
import { hashApiKey, isApiKey, newApiKey } from '../../src/accounts/api-key.js';
import { systemClock } from '../../src/kit/clock.js';

const keyOf = (bytes: Buffer) => newApiKey({ randomBytes: () => bytes });

t.test('every key has 46 characters, whatever the random bits', async (t) => {
  t.equal(keyOf(Buffer.alloc(32)), `sk_${'0'.repeat(43)}`);
  // 2^256 - 1 in base62, as Python writes it.
  t.equal(keyOf(Buffer.alloc(32, 0xff)), 'sk_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1');
  for (let n = 0; n < 200; n += 1) t.match(newApiKey(systemClock), /^sk_[0-9A-Za-z]{43}$/);
});

t.test('all 256 bits are in the key', async (t) => {
  const keys = new Set<string>();
  for (let bit = 0; bit < 256; bit += 1) {
    const bytes = Buffer.alloc(32);
    bytes[bit >> 3] = 1 << (bit & 7);
    keys.add(keyOf(bytes));
  }
  t.equal(keys.size, 256);
});

t.test('a text that cannot be a key is recognised', async (t) => {
  t.ok(isApiKey(newApiKey(systemClock)));
  const key = newApiKey(systemClock);
  for (const text of [
    '',
    'sk_',
    key.slice(1),
    key.slice(0, -1),
    `${key}0`,
    `${key}\n`,
    key.replace('sk_', 'SK_'),
    `${key.slice(0, -1)}-`,
  ]) {
    t.notOk(isApiKey(text), JSON.stringify(text));
  }
});

t.test('a key is known by its SHA-256', async (t) => {
  t.equal(hashApiKey('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
