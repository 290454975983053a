/** Rates for all inputs: exact decimals, amounts that are enough, values that are never
 *  too much. */
import fc from 'fast-check';
import t from 'tap';
import { CURRENCIES, minorDigits } from '../../contracts/currencies.js';
import { formatAmount, MAX_STROOPS, parseAmount } from '../../src/domain/amount.js';
import {
  agree,
  askedFor,
  compareRates,
  countsNow as counts,
  crossRate,
  differBy,
  formatRate,
  lowerRate,
  medianOf,
  parseRate,
  type Rate,
  readRate,
  suspectsOf,
  toRate,
  worthOf,
} from '../../src/domain/rate.js';
import { draws } from '../helpers/long.js';

const rate: fc.Arbitrary<Rate> = fc
  .tuple(fc.bigInt({ min: 1n, max: 999_999_999_999n }), fc.nat({ max: 18 }))
  .map(([units, scale]) => toRate(units, 10n ** BigInt(scale))!);
const currency = fc.constantFrom('EUR', 'JPY', 'KWD', 'USD', 'CLF');
const gridOf = (code: string) => 10n ** BigInt(7 - minorDigits(code));
const of = (text: string) => parseRate(text)!;

t.test('a rate is the same after text and back, and its text is canonical', async () => {
  fc.assert(
    fc.property(rate, (each) => {
      const text = formatRate(each);
      const back = parseRate(text);
      return back !== null && compareRates(back, each) === 0 && /^(0|[1-9]\d*)(\.\d*[1-9])?$/.test(text);
    }),
    draws(2000),
  );
});

t.test('the amount asked is worth the price, and a stroop less is not', async () => {
  fc.assert(
    fc.property(rate, currency, fc.bigInt({ min: 1n, max: 10n ** 12n }), (each, code, minor) => {
      const price = minor * gridOf(code);
      const asked = askedFor(price, each);
      return worthOf(asked, each, code) >= price && worthOf(asked - 1n, each, code) < price;
    }),
    draws(2000),
  );
});

t.test('a value is the largest multiple of the smallest unit that the amount is worth', async () => {
  fc.assert(
    fc.property(rate, currency, fc.bigInt({ min: 0n, max: MAX_STROOPS }), (each, code, stroops) => {
      const worth = worthOf(stroops, each, code);
      const scaled = stroops * each.units;
      const unit = 10n ** BigInt(each.scale);
      return worth % gridOf(code) === 0n && worth * unit <= scaled && (worth + gridOf(code)) * unit > scaled;
    }),
    draws(2000),
  );
});

t.test('parts that pay what the rest asks for, each at a rate of its own, complete the price', async () => {
  const part = fc.tuple(rate, fc.bigInt({ min: 1n, max: 10n ** 9n }));
  fc.assert(
    fc.property(currency, fc.bigInt({ min: 1n, max: 10n ** 8n }), fc.array(part), rate, (code, minor, parts, last) => {
      let due = minor * gridOf(code);
      for (const [each, stroops] of parts) {
        const worth = worthOf(stroops, each, code);
        if (worth >= due) return true;
        due -= worth;
      }
      return worthOf(askedFor(due, last), last, code) >= due;
    }),
  );
});

t.test("a server's number is read as it is written, never as a double", async () => {
  t.equal(formatRate(readRate('0.25')!), '0.25');
  t.equal(formatRate(readRate('0.250')!), '0.25');
  t.equal(formatRate(readRate('2.5e-1')!), '0.25');
  t.equal(formatRate(readRate('1E+3')!), '1000');
  t.equal(formatRate(readRate('0.1000000000000000055511151231257827')!), '0.1');
  t.equal(formatRate(readRate('123456789012.5')!), '123456789013', 'half up at the twelfth digit');
  t.equal(formatRate(readRate('0.0999999999999999')!), '0.1');
  for (const text of ['0', '0.000', '-1', '', 'NaN', 'Infinity', '1,5', '0x10', '1e99', '1e-30', ' 1', '.5', '5.']) {
    t.equal(readRate(text), null, text);
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = readRate(text);
      return read === null || (read.units > 0n && parseRate(formatRate(read)) !== null);
    }),
  );
});

t.test('what the API takes for a rate is plain text of at most 12 significant digits', async () => {
  for (const text of ['0.25', '1', '100000000000', '0.000123456789012', '123456789012']) t.ok(parseRate(text), text);
  for (const text of [
    '0',
    '0.0',
    '-1',
    '1e3',
    '01',
    '1.',
    '.1',
    '1234567890123',
    '1000000000000',
    '0.1234567890123',
    '+1',
    ' 1',
    '',
  ]) {
    t.equal(parseRate(text), null, text);
  }
});

t.test('a median lies in the middle, and of two it is the mean', async () => {
  t.equal(formatRate(medianOf([of('3'), of('1'), of('2')])), '2');
  t.equal(formatRate(medianOf([of('0.25'), of('0.26')])), '0.255');
  t.equal(formatRate(medianOf([of('1'), of('9'), of('2'), of('3')])), '2.5');
  fc.assert(
    fc.property(fc.array(rate, { minLength: 1, maxLength: 6 }), (rates) => {
      const median = medianOf(rates);
      // Rounded to 12 digits, the mean may lie a digit beyond two that are closer than that.
      const under = rates.filter((each) => compareRates(each, median) < 0).length;
      const over = rates.filter((each) => compareRates(each, median) > 0).length;
      return rates.length % 2 === 0 || (under <= rates.length / 2 && over <= rates.length / 2);
    }),
  );
});

t.test('two that differ by more than 5 % make no rate; three do', async () => {
  t.equal(agree([]).outcome, 'none');
  t.equal(agree([of('100'), of('105')]).outcome, 'agreed');
  t.equal(agree([of('105.1'), of('100')]).outcome, 'disagreed');
  t.equal(agree([of('100'), of('200'), of('101')]).outcome, 'agreed');
  t.equal(agree([of('7')]).outcome, 'agreed');
});

t.test('a jump of more than 20 % counts once newer answers confirm it', async () => {
  const answer = (text: string, second: number, source = 'custom EUR') => ({
    ...{ of: source, rate: of(text), at: new Date(second * 1000) },
  });
  const countsNow = (each: Rate, last: Rate | null, before: Rate | null) =>
    counts({ rate: each, answers: [answer('1', 2)] }, last, before && { rate: before, suspects: [answer('1', 1)] });
  t.ok(countsNow(of('1'), null, null), 'the first sample');
  t.ok(countsNow(of('1.2'), of('1'), null));
  t.notOk(countsNow(of('1.21'), of('1'), null));
  t.notOk(countsNow(of('0.79'), of('1'), null));
  t.ok(countsNow(of('0.8'), of('1'), null));
  t.ok(countsNow(of('1.5'), of('1'), of('1.45')));
  t.notOk(countsNow(of('0.5'), of('1'), of('1.5')), 'a jump the other way confirms nothing');

  const wrong = answer('2', 5);
  const jumped = { rate: of('2'), suspects: [wrong, answer('2', 5, 'kraken EUR')] };
  const again = (answers: (typeof wrong)[]) => counts({ rate: of('2'), answers }, of('1'), jumped);
  t.notOk(again([wrong]), 'the same answer confirms nothing');
  t.notOk(again([wrong, answer('2', 6, 'kraken EUR')]), 'also beside a newer one of another source');
  t.notOk(again([answer('2.1', 4)]), 'nor does an older one');
  t.ok(again([answer('2', 6), answer('2', 6, 'kraken EUR')]));
  t.ok(again([answer('2', 6, 'kraken EUR')]), 'a source that no longer answers proves nothing');
  const day = answer('0.95', 0, 'ecb EUR/CHF');
  t.same(suspectsOf([answer('2', 6), day], [answer('1', 5), day]), [answer('2', 6)], 'what was right before stays so');
  t.same(suspectsOf([answer('9.5', 0, 'ecb EUR/CHF')], [day]), [answer('9.5', 0, 'ecb EUR/CHF')]);
  const nextDay = answer('0.96', 86_400, 'ecb EUR/CHF');
  t.same(suspectsOf([answer('2', 90_000), nextDay], [answer('1', 5), day]), [answer('2', 90_000)], 'who jumped');
  t.same(
    suspectsOf([answer('2', 180_000), nextDay], []),
    [answer('2', 180_000)],
    'no other day of a bank is waited for',
  );
  const both = [answer('1.04', 90_000), answer('0.99', 86_400, 'ecb EUR/CHF')];
  t.same(suspectsOf(both, [answer('1', 5), day]), both, 'no one source did');
});

t.test('a markup lowers the rate exactly, and crossing multiplies', async () => {
  t.equal(formatRate(lowerRate(of('0.25'), of('2'))!), '0.245');
  t.equal(formatRate(lowerRate(of('0.25'), of('0.5'))!), '0.24875');
  t.equal(formatRate(lowerRate(of('0.25'), null)!), '0.25');
  t.equal(formatRate(crossRate(of('0.1'), of('0.9'))!), '0.09');
  fc.assert(
    fc.property(rate, fc.integer({ min: 1, max: 20 }), (each, percent) => {
      const lower = lowerRate(each, of(`${percent}`))!;
      return compareRates(lower, each) < 0 && !differBy(26n, lower, each);
    }),
  );
});

t.test('an amount of every currency has the form of an amount', async () => {
  for (const code of CURRENCIES) {
    const digits = minorDigits(code);
    t.ok(digits >= 0 && digits <= 7, code);
    const least = gridOf(code);
    if (parseAmount(formatAmount(least)) !== least) t.fail(code);
  }
});

t.test('the minor digits are those of ISO 4217, on every Node', async (t) => {
  const digits = { HUF: 2, IDR: 2, COP: 2, PKR: 2, IQD: 3, JPY: 0, KWD: 3, CLF: 4, EUR: 2 };
  for (const [code, count] of Object.entries(digits)) t.equal(minorDigits(code), count, code);
});
