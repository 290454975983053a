/** What orders come to, case by case. */
import t from 'tap';
import { formatAmount, parseAmount } from '../../src/domain/amount.js';
import { canonicalPercent, type Order, parsePercent, totalsOf } from '../../src/domain/order.js';

type Line = readonly [price: string, quantity: number, taxPercent?: string];
interface Case {
  lines: Line[];
  currency?: string;
  added?: true;
  percent?: string;
  amount?: string;
  takesFrom?: number[];
  tip?: string;
  /** Total, net and tax of each line. */
  of: string[];
  /** Subtotal, discount, tax, total. */
  sums: string;
}

const CASES: Record<string, Case> = {
  'one line at one price': { lines: [['10', 1]], of: ['10 10 0'], sums: '10 0 0 10' },
  'a line is price times quantity, to the stroop': {
    lines: [['0.0000001', 10_000]],
    ...{ of: ['0.001 0.001 0'], sums: '0.001 0 0 0.001' },
  },
  'prices contain the tax': {
    ...{ lines: [['11.9', 1, '19']], currency: 'EUR' },
    ...{ of: ['11.9 10 1.9'], sums: '11.9 0 1.9 11.9' },
  },
  'tax comes on top': {
    ...{ lines: [['10', 1, '19']], currency: 'EUR', added: true as const },
    ...{ of: ['10 10 1.9'], sums: '10 0 1.9 11.9' },
  },
  'a tax of half a cent is rounded up': {
    ...{ lines: [['0.05', 1, '10']], currency: 'EUR', added: true as const },
    ...{ of: ['0.05 0.05 0.01'], sums: '0.05 0 0.01 0.06' },
  },
  'a tax of less than half a cent is rounded down': {
    ...{ lines: [['0.04', 1, '10']], currency: 'EUR', added: true as const },
    ...{ of: ['0.04 0.04 0'], sums: '0.04 0 0 0.04' },
  },
  'tax is rounded for each line, not for their sum': {
    lines: [
      ['0.05', 1, '10'],
      ['0.05', 1, '10'],
    ],
    ...{ currency: 'EUR', added: true as const },
    ...{ of: ['0.05 0.05 0.01', '0.05 0.05 0.01'], sums: '0.1 0 0.02 0.12' },
  },
  'a currency without decimals': {
    ...{ lines: [['1000', 1, '8']], currency: 'JPY' },
    ...{ of: ['1000 926 74'], sums: '1000 0 74 1000' },
  },
  'a currency of three decimals': {
    ...{ lines: [['1.005', 1, '5']], currency: 'KWD', added: true as const },
    ...{ of: ['1.005 1.005 0.05'], sums: '1.005 0 0.05 1.055' },
  },
  'three decimals of a percentage': {
    ...{ lines: [['100', 1, '7.125']], added: true as const },
    ...{ of: ['100 100 7.125'], sums: '100 0 7.125 107.125' },
  },
  'a tax of nothing and one of all': {
    lines: [
      ['10', 1, '0'],
      ['10', 1, '100'],
    ],
    ...{ of: ['10 10 0', '10 5 5'], sums: '20 0 5 20' },
  },
  'a discount by percent is rounded half up, once': {
    lines: [
      ['0.05', 1],
      ['0.05', 1],
      ['0.05', 1],
    ],
    ...{ currency: 'EUR', percent: '10' },
    ...{ of: ['0.05 0.04 0', '0.05 0.04 0', '0.05 0.05 0'], sums: '0.15 0.02 0 0.13' },
  },
  'a discount is spread by largest remainder, the earlier line first': {
    lines: [
      ['10', 1],
      ['10', 1],
      ['10', 1],
    ],
    ...{ currency: 'EUR', amount: '10' },
    ...{ of: ['10 6.66 0', '10 6.67 0', '10 6.67 0'], sums: '30 10 0 20' },
  },
  'the larger remainder goes before the earlier line': {
    lines: [
      ['1', 1],
      ['2', 1],
    ],
    ...{ currency: 'EUR', amount: '0.01' },
    ...{ of: ['1 1 0', '2 1.99 0'], sums: '3 0.01 0 2.99' },
  },
  'tax is of what the discount leaves': {
    ...{ lines: [['23.8', 1, '19']], currency: 'EUR', percent: '50' },
    ...{ of: ['23.8 10 1.9'], sums: '23.8 11.9 1.9 11.9' },
  },
  'a discount is cut to what there is': {
    ...{ lines: [['10', 1]], amount: '25', tip: '1' },
    ...{ of: ['10 0 0'], sums: '10 10 0 1' },
  },
  'a discount takes from its own lines only': {
    lines: [
      ['10', 1],
      ['10', 1],
    ],
    ...{ percent: '50', takesFrom: [1] },
    ...{ of: ['10 10 0', '10 5 0'], sums: '20 5 0 15' },
  },
  'a discount that takes from no line is none': {
    ...{ lines: [['10', 1] as const], percent: '50', takesFrom: [] },
    ...{ of: ['10 10 0'], sums: '10 0 0 10' },
  },
  'a tip is added last, without tax': {
    ...{ lines: [['11.9', 2, '19']], currency: 'EUR', tip: '2.2' },
    ...{ of: ['23.8 20 3.8'], sums: '23.8 0 3.8 26' },
  },
};

const orderOf = ({ lines, currency, added, percent, amount, takesFrom, tip }: Case): Order => ({
  lines: lines.map(([price, quantity, tax]) => ({
    price: parseAmount(price)!,
    quantity: BigInt(quantity),
    tax: tax === undefined ? null : parsePercent(tax, 3),
  })),
  taxIncluded: !added,
  discount:
    percent !== undefined
      ? { percent: parsePercent(percent, 2) }
      : amount === undefined
        ? null
        : { amount: parseAmount(amount)! },
  ...(takesFrom && { takesFrom: (index) => takesFrom.includes(index) }),
  tip: parseAmount(tip ?? '0')!,
  currency: currency ?? null,
});

const texts = (amounts: bigint[]): string => amounts.map(formatAmount).join(' ');

for (const [name, each] of Object.entries(CASES)) {
  t.test(name, async (t) => {
    const { lines, subtotal, discount, tax, total } = totalsOf(orderOf(each));
    t.same(
      lines.map((line) => texts([line.total, line.net, line.tax])),
      each.of,
    );
    t.equal(texts([subtotal, discount, tax, total]), each.sums);
  });
}

t.test('a percentage is read and written exactly', async (t) => {
  t.equal(parsePercent('19.5', 3), 19_500n);
  t.equal(parsePercent('0', 2), 0n);
  t.same(['19.50', '19.0', '100', '0', '0.05', '10'].map(canonicalPercent), ['19.5', '19', '100', '0', '0.05', '10']);
});
