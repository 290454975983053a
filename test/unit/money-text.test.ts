import t from 'tap';
import { moneyText } from '../../src/domain/money-text.js';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

t.test(
  'a person reads money in a currency → it is written as his language writes it, with all minor digits',
  async (t) => {
    for (const [locale, amount, currency, text] of [
      ['de', '3.5', 'EUR', '3,50 €'],
      ['en', '9.5', 'EUR', '€9.50'],
      ['fr', '1234.5', 'EUR', '1 234,50 €'],
      ['ja', '500', 'JPY', '￥500'],
      ['en', '1.5', 'KWD', 'KWD 1.500'],
      ['en', '-9.5', 'USD', '-$9.50'],
      ['pl', '0', 'PLN', '0,00 zł'],
    ] as const)
      t.equal(plain(moneyText(locale, amount, currency)), text);
  },
);

t.test('money is exact: neither large nor fine amounts are rounded', async (t) => {
  t.equal(moneyText('en', '922337203685.4775807', 'USD'), '$922,337,203,685.4775807');
  t.equal(plain(moneyText('de', '0.000000123456', 'EUR')), '0,000000123456 €', 'a rate keeps its decimals');
});
