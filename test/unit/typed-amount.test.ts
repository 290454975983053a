import fc from 'fast-check';
import t from 'tap';
import { LANGUAGES } from '../../contracts/languages.js';
import { formatAmount, MAX_STROOPS, parseAmount } from '../../src/domain/amount.js';
import { readAlike, readTyped, type TypedAmount } from '../../src/domain/typed-amount.js';
import { localeOf } from '../../src/page/words.js';
import { draws } from '../helpers/long.js';

const read = (written: string, locale = 'en', unit = 'XLM') => readTyped(written, { locale, unit });
const number = (amount: string): TypedAmount => ({ state: 'number', amount });

t.test('a payer types digits of any script and his own separators → the amount that he means', async (t) => {
  for (const [written, amount, locale] of [
    ['٢٥٫٥', '25.5'],
    ['۲۵٫۵', '25.5'],
    ['２５．５', '25.5'],
    ['２５，５', '25.5', 'de'],
    ['२५.५', '25.5'],
    ['𝟐𝟓.𝟓', '25.5'],
    ['25。5', '25.5', 'ja'],
    ['12,5', '12.5'],
    ['12،5', '12.5', 'ar'],
    ['1.000,50', '1000.50', 'de'],
    ['1.000,50', '1000.50'],
    ['1,000.50', '1000.50', 'de'],
    ['1.234.567', '1234567'],
    ['1,00,000.5', '100000.5'],
    ['1 000,50', '1000.50', 'fr'],
    ['1\u202f000,50', '1000.50', 'fr'],
    ['1’000.50', '1000.50', 'de'],
    ['١٬٠٠٠٫٥', '1000.5', 'ar'],
    ['1,000', '1.000', 'de'],
    ['1.000', '1.000'],
    ['0,125', '0.125'],
    ['1000,250', '1000.250'],
    ['\u200f\u206825.5\u2069 ', '25.5', 'ar'],
    ['\u061c12 , 5', '12.5'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['007', '7'],
  ] as const)
    t.strictSame(read(written, locale), number(amount), `${written} in ${locale ?? 'en'}`);
});

t.test('a unit stands beside the number → it is read; another unit, or none that is known → it is not', async (t) => {
  for (const [written, unit, locale] of [
    ['12,5 XLM', 'XLM'],
    ['12.5xlm', 'XLM'],
    ['XLM 12.5', 'XLM'],
    ['12,5 €', 'EUR', 'de'],
    ['€12.5', 'EUR'],
    ['12,5 euros', 'EUR', 'fr'],
    ['$ 12.5', 'USD', 'es'],
    ['12.5円', 'JPY', 'ja'],
    ['12.5 1INCH', '1INCH'],
    ['12,5 %', '%', 'de'],
  ] as const)
    t.strictSame(read(written, locale, unit), number('12.5'), `${written} for ${unit}`);
  t.strictSame(read('121', 'en', '1'), number('121'), 'a code of digits is never taken off the number');
  for (const [written, unit] of [
    ['12 $', 'EUR'],
    ['12 USD', 'EUR'],
    ['12 kg', 'XLM'],
    ['XLM', 'XLM'],
  ] as const)
    t.strictSame(read(written, 'en', unit), { state: 'wrong' }, `${written} for ${unit}`);
});

t.test('a number may mean two amounts → both are named, and none is taken', async (t) => {
  t.strictSame(read('1,000'), { state: 'ambiguous', whole: '1000', decimal: '1.000' });
  t.strictSame(read('1.000', 'de'), { state: 'ambiguous', whole: '1000', decimal: '1,000' });
  t.strictSame(read('12.345 €', 'it', 'EUR'), { state: 'ambiguous', whole: '12345', decimal: '12,345' });
  for (const locale of LANGUAGES.map(localeOf))
    for (const written of ['1,234', '1.234']) {
      const typed = read(written, locale);
      if (typed.state !== 'ambiguous') continue;
      t.strictSame(read(typed.whole, locale), number('1234'), `${locale}: the whole one`);
      t.strictSame(read(typed.decimal, locale), number('1.234'), `${locale}: the other`);
    }
});

t.test('what is no amount is not read', async (t) => {
  for (const written of ['abc', '1e3', '-1', '−1', '+1', '0x10', 'NaN', '10 50', '1.0.000', '1,2,3', "'", '1..5', '二'])
    t.strictSame(read(written), { state: 'wrong' }, written);
  for (const written of ['', '  ', '\u200f']) t.strictSame(read(written), { state: 'none' });
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof read(text).state === 'string'));
});

t.test('each amount, as each language and the service write it, is read as that amount or asked again', async (t) => {
  const scripts = ['latn', 'arab', 'deva', 'fullwide'];
  fc.assert(
    fc.property(
      fc.bigInt(0n, MAX_STROOPS),
      fc.constantFrom(...LANGUAGES),
      fc.constantFrom(...scripts),
      (stroops, language, script) => {
        const amount = formatAmount(stroops);
        const format = new Intl.NumberFormat(`${language}-u-nu-${script}`, { maximumFractionDigits: 7 });
        const locale = localeOf(language);
        for (const written of [format.format(amount as Intl.StringNumericLiteral), amount, readAlike(amount)]) {
          const typed = read(written, locale);
          if (typed.state === 'number') t.equal(parseAmount(typed.amount), stroops, `${written} in ${language}`);
          else t.equal(typed.state, 'ambiguous', `${written} in ${language}`);
        }
        t.match(read(readAlike(amount), locale), { state: 'number' }, 'what pages carry is never asked again');
      },
    ),
    draws(200),
  );
});

t.test('a stranger types a hundred thousand digits → nothing is read of them', async (t) => {
  t.strictSame(read('9'.repeat(100_000)), { state: 'wrong' });
  t.strictSame(read('9'.repeat(5000)), number('9'.repeat(5000)));
});
