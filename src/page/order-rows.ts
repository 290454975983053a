/** The rows of an order, as page, receipt and e-mail write them: lines, discount, tax,
 *  tip, total. */
import type { OrderSums } from '../domain/order.js';
import type { Words } from './words.js';

export interface OrderRow {
  /** A line's or discount's name is the shop's text, the rest the page's. */
  name: string;
  /** Canonical decimal text; negative for a discount. */
  amount: string;
  kind: 'line' | 'part' | 'total' | 'within';
}

/** Empty for one line without anything else, which the price says. */
export function orderRows({ say, number, percent }: Words, order: OrderSums): OrderRow[] {
  const { lines, discount, taxes, taxIncluded, tip, subtotal, total } = order;
  const added: OrderRow[] = [
    ...(discount
      ? [
          {
            name: discount.name === null ? say('discount') : say('discountNamed', { name: discount.name }),
            amount: `-${discount.amount}`,
            kind: 'part' as const,
          },
        ]
      : []),
    ...(taxIncluded ? [] : taxRows('part')),
    ...(tip === '0' ? [] : [{ name: say('tip'), amount: tip, kind: 'part' as const }]),
  ];
  const within = taxIncluded ? taxRows('within') : [];
  if (lines.length === 1 && added.length === 0 && within.length === 0) return [];
  return [
    ...lines.map(({ name, quantity, total: amount }): OrderRow => {
      return { name: quantity > 1 ? `${name} × ${number(quantity)}` : name, amount, kind: 'line' };
    }),
    ...(lines.length > 1 && added.length > 0
      ? [{ name: say('subtotal'), amount: subtotal, kind: 'part' as const }]
      : []),
    ...added,
    { name: say('total'), amount: total, kind: 'total' },
    ...within,
  ];

  function taxRows(kind: 'part' | 'within'): OrderRow[] {
    const key = kind === 'part' ? 'taxAdded' : 'taxWithin';
    return taxes.map((each) => ({ name: say(key, { percent: percent(each.taxPercent) }), amount: each.tax, kind }));
  }
}
