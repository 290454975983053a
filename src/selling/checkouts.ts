/** Checkouts in the API, except their creation (`checkout-creation.ts`). */

import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import type { LedgerStamper } from '../asking/index.js';
import type { PayUri } from '../domain/sep7.js';
import { conflict, notFound } from '../kit/api-error.js';
import { type Caller, onlySeller, type ServiceOf } from '../kit/caller.js';
import { pageOf } from '../kit/paging.js';
import { type AcceptCheckout, type CheckoutPayable, cancelled, loadPayable, loadPayables } from '../payments/index.js';
import { type CheckoutCreationDeps, createCheckoutCreation, show } from './checkout-creation.js';
import { balanceOf, checkoutUrl, toCheckout } from './checkout-resource.js';
import type { CheckoutFilter } from './checkout-store.js';
import { toInstructions } from './instructions.js';

type ListFilter = Omit<ParsedInputOf<Contract['checkouts']['list']>, 'page' | 'pageSize'>;

/** The list's filters for the store. */
export const filterOf = ({ createdFrom, createdTo, ...filter }: ListFilter): CheckoutFilter => ({
  ...filter,
  ...(createdFrom === undefined ? {} : { createdFrom: new Date(createdFrom) }),
  ...(createdTo === undefined ? {} : { createdTo: new Date(createdTo) }),
});

const ACCEPT_REFUSALS = {
  paid: 'This checkout is PAID already.',
  stock: 'Its pieces were given back, and too few are left of them: raise the stock first.',
  nothing: 'No money in the right asset has come for this checkout, or all of it was sent back.',
} as const;

type Service = ServiceOf<Contract['checkouts']>;

interface CheckoutServiceDeps extends CheckoutCreationDeps {
  acceptCheckout: AcceptCheckout;
  stamper: LedgerStamper;
  payUri: PayUri;
  /** Called when events may have been stored. */
  eventsStored: () => void;
}

export function createCheckoutService(deps: CheckoutServiceDeps): Service {
  return {
    create: createCheckoutCreation(deps),
    list: list(deps),
    get: async (caller, { id }) => show(deps, await find(deps, caller, id)),
    instructions: instructions(deps),
    cancel: cancel(deps),
    accept: accept(deps),
  };
}

async function find({ forAccount }: CheckoutServiceDeps, caller: Caller, id: string): Promise<CheckoutPayable> {
  const stores = forAccount(caller.accountId);
  const payable = await loadPayable(stores, await stores.checkouts.byId(id));
  const seller = onlySeller(caller);
  if (!payable || (seller !== undefined && payable.checkout.soldBy !== seller)) throw notFound('checkout');
  return payable;
}

const list =
  ({ forAccount, publicUrl, quotes }: CheckoutServiceDeps): Service['list'] =>
  async (caller, { page, pageSize, ...filter }) => {
    const { accountId } = caller;
    const request = pageOf(caller, { page, pageSize });
    const wanted = { ...filterOf(filter), soldBy: onlySeller(caller) };
    const { items, meta } = await forAccount(accountId).checkouts.list(wanted, request);
    const all = await loadPayables(forAccount(accountId), items);
    const shown = all.map((payable) => toCheckout(payable, publicUrl));
    return { items: await quotes.checkouts(accountId, shown), meta };
  };

const instructions =
  (deps: CheckoutServiceDeps): Service['instructions'] =>
  async (caller, { id }) => {
    const { clock, quotes, publicUrl, payUri } = deps;
    const { checkout, product, wallet } = await find(deps, caller, id);
    if (checkout.status !== 'OPEN') throw conflict(`This checkout is ${checkout.status}.`);
    if (checkout.expiresAt <= clock.now()) throw conflict('This checkout has ended.');
    if (product && !product.active) throw conflict('The product of this checkout is inactive.');
    const { remainingAmount, remainingValue } = balanceOf(checkout);
    const remaining = (checkout.currency ? remainingValue : remainingAmount)!;
    const due = await quotes.asked(caller.accountId, checkout, wallet.network, remaining);
    return toInstructions(
      {
        address: wallet.address,
        network: wallet.network,
        memo: checkout.memo,
        asset: { code: checkout.assetCode, issuer: checkout.assetIssuer },
        amount: due,
        pageUrl: checkoutUrl(publicUrl, checkout.slug),
      },
      payUri,
    );
  };

const cancel =
  (deps: CheckoutServiceDeps): Service['cancel'] =>
  async (caller, { id }) => {
    const { forAccount, stamper, commit, clock } = deps;
    const { checkouts } = forAccount(caller.accountId);
    const found = await find(deps, caller, id);
    const from = found.checkout.status === 'OPEN' ? await stamper.stamp(found.wallet.network) : null;
    const checkout = await commit({ caller, subjectId: id }, async (session) => {
      const before = await checkouts.byId(id, session);
      if (!before) throw notFound('checkout');
      const now = clock.now();
      const after = cancelled(before, from ?? { at: now, ledger: null }, now);
      if (!after) throw conflict(`Only an OPEN checkout can be cancelled; this one is ${before.status}.`);
      if (after !== before) await checkouts.update(after, session);
      return after;
    });
    return show(deps, { ...found, checkout });
  };

const accept =
  (deps: CheckoutServiceDeps): Service['accept'] =>
  async (caller, { id }) => {
    const { forAccount, clock, stamper, commit, acceptCheckout, eventsStored } = deps;
    const { accountId, isRepeated } = caller;
    const stores = forAccount(accountId);
    const found = await find(deps, caller, id);
    const isPaid = found.checkout.status === 'PAID';
    if (isRepeated && isPaid) return show(deps, found);
    // Before the transaction, which may run more than once.
    const from = isPaid ? { at: clock.now(), ledger: null } : await stamper.stamp(found.wallet.network);
    const accepted = await commit({ caller, subjectId: id }, async (session) => {
      const before = await loadPayable(stores, await stores.checkouts.byId(id, session), session);
      if (!before) throw notFound('checkout');
      const after = await acceptCheckout(before, from, session);
      if (typeof after === 'string') throw conflict(ACCEPT_REFUSALS[after]);
      return after;
    });
    eventsStored();
    return show(deps, accepted);
  };
