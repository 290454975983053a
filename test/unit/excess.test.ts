/** What a checkout in a currency shows of money that it did not need, and which payments of it wait
 *  for a decision. */
import t from 'tap';
import { isUnneeded, needsDecision } from '../../src/payments/checkout.js';
import { balanceOf } from '../../src/selling/checkout-resource.js';

const paid = {
  ...{ status: 'PAID' as const, amount: null, price: '10', currency: 'EUR' },
  ...{ received: '100000000', paidIn: '800000001', excess: '400000001' },
};

t.test('the excess of a PAID checkout is exact, although its value rounds to the price', async (t) => {
  t.match(balanceOf(paid), { receivedAmount: '80.0000001', receivedValue: '10', excessAmount: '40.0000001' });
  t.equal(balanceOf({ ...paid, excess: '0' }).excessAmount, null);
  t.equal(balanceOf({ ...paid, status: 'OPEN' }).excessAmount, null, 'an open one may need it yet');
});

t.test('a part without a rate waits for a decision though others made the checkout PAID', async (t) => {
  const part = { status: 'UNDERPAID' as const, reason: 'no_rate' as const, amount: '40' };
  t.equal(needsDecision(part, { status: 'PAID' }), true);
  t.equal(needsDecision({ ...part, reason: 'partial' }, { status: 'PAID' }), false);
  t.equal(needsDecision({ ...part, refundedAmount: '40' }, { status: 'PAID' }), false);
  t.equal(needsDecision({ ...part, dismissal: { at: new Date(), note: null } }, { status: 'PAID' }), false);
  t.equal(isUnneeded(part, { status: 'PAID' }), true, 'it is accepted by itself');
  t.equal(isUnneeded(part, { status: 'OPEN' }), false);
});
