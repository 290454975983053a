/** Memos for all inputs: what is made is read back however it is typed, and what is mistyped is
 *  never another memo. */
import { Account, MuxedAccount } from '@stellar/stellar-sdk';
import fc from 'fast-check';
import t from 'tap';
import { createMemo, MEMO_LENGTH, memoIdOf, memoOfId, normalizeMemo } from '../../src/domain/memo.js';
import { muxedAddressOf, parseMuxed } from '../../src/domain/strkey.js';
import { draws } from '../helpers/long.js';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const payload = fc.uint8Array({ minLength: 11, maxLength: 11 });
const owner = fc.constantFrom('link' as const, 'checkout' as const);
const memo = fc
  .tuple(payload, owner)
  .map(([bytes, owner]) => createMemo({ randomBytes: () => Buffer.from(bytes) }, owner));
const index = (length: number) => fc.nat({ max: length - 1 });
const put = (text: string, at: number, symbol: string) => text.slice(0, at) + symbol + text.slice(at + 1);

t.test('a memo is 12 symbols that are their own canonical form', async () => {
  fc.assert(fc.property(memo, (made) => made.length === MEMO_LENGTH && normalizeMemo(made) === made));
});

t.test('no new link and new checkout ever draw the same memo', async () => {
  fc.assert(
    fc.property(payload, payload, (one, other) => {
      const link = createMemo({ randomBytes: () => Buffer.from(one) }, 'link');
      const checkout = createMemo({ randomBytes: () => Buffer.from(other) }, 'checkout');
      return link !== checkout && BigInt(memoIdOf(link)) < 1n << 59n && BigInt(memoIdOf(checkout)) >= 1n << 59n;
    }),
  );
});

/** All ways in which a symbol may be written down. */
const WRITTEN: Record<string, string> = { 0: '0Oo', 1: '1IiLl' };
const byHand = memo.chain((made) =>
  fc
    .record({
      before: fc.stringMatching(/^[ \t\n\r\u00a0]{0,6}$/),
      after: fc.stringMatching(/^[ \t\n\r\u00a0]{0,6}$/),
      symbols: fc.tuple(
        ...[...made].map((symbol) => fc.constantFrom(...(WRITTEN[symbol] ?? symbol + symbol.toLowerCase()))),
      ),
    })
    .map(({ before, after, symbols }) => ({ made, typed: before + symbols.join('') + after })),
);

t.test('a memo typed by hand, in any case, with any mix-up and surrounding blanks, is the memo', async () => {
  fc.assert(
    fc.property(byHand, ({ made, typed }) => normalizeMemo(typed) === made),
    draws(1000),
  );
});

t.test('every single wrong symbol is noticed', async (t) => {
  fc.assert(
    fc.property(memo, index(MEMO_LENGTH), (made, at) =>
      [...ALPHABET].every((symbol) => symbol === made[at] || normalizeMemo(put(made, at, symbol)) === null),
    ),
    draws(500),
  );
  t.pass('all 31 wrong symbols at each place tried');
});

t.test('every two swapped symbols are noticed, neighbours or not', async () => {
  fc.assert(
    fc.property(memo, index(MEMO_LENGTH), index(MEMO_LENGTH), (made, i, j) => {
      const swapped = put(put(made, i, made[j]!), j, made[i]!);
      return swapped === made || normalizeMemo(swapped) === null;
    }),
    draws(2000),
  );
});

t.test('a symbol left out or added is noticed', async () => {
  fc.assert(
    fc.property(memo, index(MEMO_LENGTH), fc.constantFrom(...ALPHABET), (made, at, symbol) => {
      const [shorter, longer] = [made.slice(0, at) + made.slice(at + 1), made.slice(0, at) + symbol + made.slice(at)];
      return normalizeMemo(shorter) === null && normalizeMemo(longer) === null;
    }),
  );
});

t.test('what normalises at all is a fixed point: two different memos never become one', async () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary', maxLength: 14 }),
    fc.string({ unit: fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZoilıſ '), minLength: 11, maxLength: 13 }),
    byHand.map(({ typed }) => typed),
  );
  fc.assert(
    fc.property(text, (typed) => {
      const read = normalizeMemo(typed);
      return read === null || (/^[0-9A-HJKMNP-TV-Z]{12}$/.test(read) && normalizeMemo(read) === read);
    }),
    draws(5000),
  );
});

t.test('1 in 32 random texts of the right length and alphabet could be a memo at all', async (t) => {
  const runs = 64_000;
  let read = 0;
  const random = fc.sample(fc.uint8Array({ minLength: 12, maxLength: 12 }), { numRuns: runs, seed: 20260101 });
  for (const bytes of random) if (normalizeMemo([...bytes].map((byte) => ALPHABET[byte & 31]).join(''))) read += 1;
  // Mean 2,000, standard deviation 44: five of them.
  t.ok(Math.abs(read - runs / 32) < 220, `${read} of ${runs}`);
});

t.test('the check symbol makes 2^55 memos of 2^60 texts: each payload has exactly one', async () => {
  fc.assert(
    fc.property(memo, (made) => {
      const valid = [...ALPHABET].filter((symbol) => normalizeMemo(made.slice(0, -1) + symbol) !== null);
      return valid.length === 1 && valid[0] === made.at(-1);
    }),
  );
});

const SHOP = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';

t.test('a memo, its id and its muxed address are three spellings of one memo', async () => {
  fc.assert(
    fc.property(memo, (made) => {
      const id = memoIdOf(made);
      const muxed = parseMuxed(muxedAddressOf(SHOP, id));
      return BigInt(id) < 1n << 60n && memoOfId(id) === made && muxed?.account === SHOP && muxed.id === id;
    }),
    draws(1000),
  );
});

t.test('the SDK reads and writes the same muxed addresses, for every id', async () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (id) => {
      const theirs = new MuxedAccount(new Account(SHOP, '0'), String(id));
      const ours = parseMuxed(theirs.accountId());
      return (
        muxedAddressOf(SHOP, String(id)) === theirs.accountId() && ours?.account === SHOP && ours.id === String(id)
      );
    }),
  );
});

t.test('no two memos meet in any spelling', async () => {
  fc.assert(
    fc.property(memo, memo, (a, b) => {
      const spellings = (made: string) => [made, memoIdOf(made), muxedAddressOf(SHOP, memoIdOf(made))];
      return a === b || !spellings(a).some((each) => spellings(b).includes(each));
    }),
    draws(1000),
  );
});

t.test('exactly one of 32 neighbouring ids is a memo, and none from 2⁶⁰ on', async () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: (1n << 55n) - 1n }), (payload) => {
      const ids = Array.from({ length: 32 }, (_, check) => (payload << 5n) | BigInt(check));
      return ids.filter((id) => memoOfId(id.toString()) !== null).length === 1;
    }),
    draws(500),
  );
  fc.assert(
    fc.property(fc.bigInt({ min: 1n << 60n, max: (1n << 64n) - 1n }), (id) => memoOfId(id.toString()) === null),
  );
});
