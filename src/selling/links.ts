/** Payment links in the API. */

import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from '../../contracts/errors.js';
import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf, RawBody } from '../../contracts/operation.js';
import { type OrderForm, toOrderForm } from '../../contracts/payment-links.js';
import { minorDigitErrors } from '../../contracts/rates.js';
import type { Act, Commit } from '../accounts/index.js';
import type { LedgerStamper } from '../asking/index.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { createMemo } from '../domain/memo.js';
import { canonicalPercent } from '../domain/order.js';
import type { PayUri } from '../domain/sep7.js';
import { beginAfter, type LinkTerms } from '../domain/terms.js';
import { badRequest, conflict, invalid, NO_SUCH, notFound } from '../kit/api-error.js';
import type { ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { Taken } from '../kit/database.js';
import { byAccount } from '../kit/group-commit.js';
import type { NewId } from '../kit/ids.js';
import { pageOf } from '../kit/paging.js';
import type { AccountStores, ForAccount } from '../stores.js';
import { type PaymentLink, toPaymentLink } from './checkout-resource.js';
import { toInstructions } from './instructions.js';
import type { PaymentLinkDoc } from './link-store.js';
import { createSlug } from './payable-documents.js';
import { type ProductDoc, type WithWallet, withWallet } from './product-document.js';
import type { ProductStore } from './product-store.js';
import type { Quotes } from './quotes.js';

/** Bounds the size of the link's document, which is read with every payment. */
const MAX_SWITCHES = 1000;
/** The query for their links names each; MongoDB allows 16 MB. */
const MAX_PRODUCTS_SEARCHED = 50_000;

/** @throws ApiError when the search is too vague */
async function idsOfNamed(
  search: string,
  products: Pick<AccountStores['products'], 'idsByName'>,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const ids = await products.idsByName(search, MAX_PRODUCTS_SEARCHED + 1, signal);
  if (ids.length <= MAX_PRODUCTS_SEARCHED) return ids;
  const most = MAX_PRODUCTS_SEARCHED.toLocaleString('en');
  throw badRequest(`search: More than ${most} products have this in their name; search for more of it.`);
}

const STOCKED = 'The product has a stock, which a plain payment link cannot keep to: give it an order.';

/** Faults of a link that does not fit its product. @param body as sent, valid or not; a PATCH names
 *  its `order` alone */
export function linkProductFaults(product: ProductDoc, { order }: RawBody, isNew: boolean): FieldError[] {
  if (order === undefined) return [];
  // The payers of a plain link come unasked, so that nothing could be held for them.
  if (order === null)
    return product.stock === null
      ? []
      : [{ path: isNew ? 'productId' : 'order', message: STOCKED, code: 'not_allowed' }];
  if (typeof order !== 'object') return [];
  const { quantity, suggestedAmounts } = order as RawBody;
  const amounts = Array.isArray(suggestedAmounts) ? suggestedAmounts : [];
  if (product.priceType === 'CUSTOM') {
    const least = product.minAmount === null ? 0n : parseAmount(product.minAmount)!;
    const faults = amounts.flatMap((amount, index): FieldError[] => {
      const path = `order.suggestedAmounts.${index}`;
      const stroops = typeof amount === 'string' ? parseAmount(amount) : null;
      if (stroops !== null && stroops < least)
        return [
          {
            path,
            message: `The minimum is ${product.minAmount} ${product.currency ?? product.assetCode}.`,
            code: 'too_small',
          },
        ];
      return minorDigitErrors(product.currency, { [path]: amount });
    });
    if (quantity == null) return faults;
    return [
      ...faults,
      { path: 'order.quantity', message: 'Only a FIXED product has a quantity.', code: 'not_allowed' },
    ];
  }
  return amounts.length === 0
    ? []
    : [{ path: 'order.suggestedAmounts', message: 'The product has a fixed price.', code: 'not_allowed' }];
}

function checkProduct(product: ProductDoc, body: RawBody, isNew: boolean): void {
  const [fault, ...others] = linkProductFaults(product, body, isNew);
  if (fault) throw invalid(fault, ...others);
}

/** @throws ApiError `validation_error` when a new link cannot sell it */
function sellable(product: ProductDoc | null, { order }: Pick<PaymentLinkDoc, 'order'>): ProductDoc {
  if (!product) throw invalid(NO_SUCH.product);
  checkProduct(product, { order }, true);
  return product;
}

type Input = Omit<ParsedInputOf<Contract['paymentLinks']['create']>, 'productId'>;
type Settings = Pick<PaymentLinkDoc, 'name' | 'order' | 'endsAt' | 'inactiveText' | 'afterPayment' | 'maxPayments'>;

/** As they are stored; null for those that are not given. */
const settingsOf = ({ name, order, endsAt, inactiveText, afterPayment, maxPayments }: Input): Settings => ({
  name: name ?? null,
  order: order ? canonicalForm(toOrderForm(order)) : null,
  endsAt: endsAt == null ? null : new Date(endsAt),
  inactiveText: inactiveText ?? null,
  afterPayment:
    afterPayment?.message || afterPayment?.url
      ? { message: afterPayment.message || null, url: afterPayment.url ?? null }
      : null,
  maxPayments: maxPayments ?? null,
});

const canonicalForm = (form: OrderForm): OrderForm => ({
  ...form,
  suggestedAmounts: form.suggestedAmounts.map((amount) => formatAmount(parseAmount(amount)!)),
  tipPercents: form.tipPercents.map(canonicalPercent),
});

/** The fields that are terms, or follow from them. */
const TERMS = ['active', 'endsAt', 'order'] as const;

const termsOf = ({ active, endsAt, order }: Pick<PaymentLinkDoc, 'active' | 'endsAt' | 'order'>): LinkTerms => ({
  ...{ active, endsAt },
  takesOrders: order !== null,
});

/** A new link for its product to count. */
const countOf = ({ accountId, productId, order }: PaymentLinkDoc) => ({
  ...{ accountId, productId },
  ...{ all: 1, plain: order ? 0 : 1 },
});

interface Creation extends Act {
  link: PaymentLinkDoc;
}

type Service = ServiceOf<Contract['paymentLinks']>;

interface PaymentLinkServiceDeps {
  forAccount: ForAccount<'paymentLinks' | 'products' | 'wallets'>;
  products: Pick<ProductStore, 'countLinks'>;
  commit: Commit;
  stamper: LedgerStamper;
  clock: Clock;
  newId: NewId;
  publicUrl: string;
  payUri: PayUri;
  quotes: Quotes;
}

export function createPaymentLinkService(deps: PaymentLinkServiceDeps): Service {
  const { forAccount, commit, clock, newId } = deps;

  const insert = commit.inGroups<Creation, ProductDoc>(async (creations, session, storeNew) => {
    const links = creations.map(({ link }) => link);
    await storeNew(
      byAccount(links).flatMap(([accountId, batch]) => forAccount(accountId).paymentLinks.insertsOf(batch)),
    );
    // Last, because all processes write these documents, and the later of two must retry.
    const products = await deps.products.countLinks(links.map(countOf), session);
    return links.map((link, index) => sellable(products[index] ?? null, link));
  });

  return {
    async create(caller, { productId, ...input }) {
      const { accountId, reservedId } = caller;
      const { paymentLinks, products } = forAccount(accountId);
      const _id = reservedId?.('link') ?? newId('link');
      const made = reservedId && (await paymentLinks.byId(_id));
      if (made) return show(deps, made, await productOf(deps, made));
      const settings = settingsOf(input);
      // Before the transaction, where it would fail the links of others.
      sellable(await products.byId(productId), settings);
      for (;;) {
        const link: PaymentLinkDoc = {
          _id,
          accountId,
          productId,
          ...settings,
          slug: createSlug(clock),
          memo: createMemo(clock, 'link'),
          active: true,
          history: [{ from: null, terms: termsOf({ ...settings, active: true }) }],
          paymentCount: 0,
          receivedCount: 0,
          completedCount: 0,
          orderCount: 0,
          createdAt: clock.now(),
        };
        try {
          const product = await insert({ caller, subjectId: _id, link });
          return show(deps, link, product);
        } catch (error) {
          if (!(error instanceof Taken)) throw error;
        }
      }
    },
    list: list(deps),
    get: get(deps),
    instructions: instructions(deps),
    update: update(deps),
    delete: remove(deps),
  };
}

/** With their current quotes. */
async function quoted(
  { forAccount, quotes }: PaymentLinkServiceDeps,
  accountId: string,
  links: readonly PaymentLink[],
  products: readonly ProductDoc[],
) {
  const priced = products.filter(({ currency }) => currency);
  if (priced.length === 0) return [...links];
  const wallets = await forAccount(accountId).wallets.byIds([...new Set(priced.map(({ walletId }) => walletId))]);
  const networkOf = new Map(wallets.map(({ _id, network }) => [_id, network]));
  const byId = new Map(priced.map((product) => [product._id, product]));
  return quotes.links(accountId, links, (link) => {
    const product = byId.get(link.product.id);
    const network = product && networkOf.get(product.walletId);
    return network && { product, network };
  });
}

const show = async (deps: PaymentLinkServiceDeps, link: PaymentLinkDoc, product: ProductDoc) =>
  (await quoted(deps, link.accountId, [toPaymentLink(link, product, deps.publicUrl)], [product]))[0]!;

const productOf = async ({ forAccount }: PaymentLinkServiceDeps, link: PaymentLinkDoc): Promise<ProductDoc> => {
  const product = await forAccount(link.accountId).products.byId(link.productId);
  if (!product) throw notFound('payment link');
  return product;
};

/** What the link sells, and the wallet that it is paid to. */
async function soldBy(deps: PaymentLinkServiceDeps, link: PaymentLinkDoc): Promise<WithWallet> {
  const sold = await withWallet(await productOf(deps, link), deps.forAccount(link.accountId));
  if (!sold) throw notFound('payment link');
  return sold;
}

const list =
  (deps: PaymentLinkServiceDeps): Service['list'] =>
  async (caller, { search, productId, active, ...request }) => {
    const { accountId } = caller;
    const { paymentLinks, products } = deps.forAccount(accountId);
    const found = search ? { text: search, productIds: await idsOfNamed(search, products, caller.signal) } : undefined;
    const { items, meta } = await paymentLinks.list({ productId, active, search: found }, pageOf(caller, request));
    const used = await products.byIds([...new Set(items.map((link) => link.productId))]);
    const productById = new Map(used.map((product) => [product._id, product]));
    const shown = items.flatMap((link) => {
      const product = productById.get(link.productId);
      // If the product was deleted between the two reads, the link is gone, too.
      return product ? [toPaymentLink(link, product, deps.publicUrl)] : [];
    });
    return { items: await quoted(deps, accountId, shown, used), meta };
  };

const get =
  (deps: PaymentLinkServiceDeps): Service['get'] =>
  async ({ accountId }, { id }) => {
    const { paymentLinks } = deps.forAccount(accountId);
    const link = await paymentLinks.byId(id);
    if (!link) throw notFound('payment link');
    return show(deps, link, await productOf(deps, link));
  };

const instructions =
  (deps: PaymentLinkServiceDeps): Service['instructions'] =>
  async ({ accountId }, { id, amount }) => {
    const { forAccount, quotes, publicUrl, payUri, clock } = deps;
    const { paymentLinks } = forAccount(accountId);
    const link = await paymentLinks.byId(id);
    if (!link) throw notFound('payment link');
    const { product, wallet } = await soldBy(deps, link);
    const asked = amountToPay(product, amount || null);
    if (!link.active) throw conflict('This payment link is inactive.');
    if (link.endsAt && link.endsAt <= clock.now()) throw conflict('This payment link has ended.');
    if (link.order) throw conflict('This is an order link: its page makes a checkout for each payer.');
    if (!product.active) throw conflict('The product of this payment link is inactive.');
    if (!wallet.active) throw conflict('The wallet of this payment link is inactive.');
    const due = asked === null ? null : await quotes.asked(accountId, product, wallet.network, asked);
    return toInstructions(
      {
        address: wallet.address,
        network: wallet.network,
        memo: link.memo,
        asset: { code: product.assetCode, issuer: product.assetIssuer },
        amount: due,
        pageUrl: toPaymentLink(link, product, publicUrl).url,
      },
      payUri,
    );
  };

const update =
  (deps: PaymentLinkServiceDeps): Service['update'] =>
  async (caller, { id, active, ...changes }) => {
    const { forAccount, stamper, commit } = deps;
    const { paymentLinks } = forAccount(caller.accountId);
    const found = await paymentLinks.byId(id);
    if (!found) throw notFound('payment link');
    const { product, wallet } = await soldBy(deps, found);
    const given = Object.entries(settingsOf(changes)).filter(([name]) => changes[name as keyof Settings] !== undefined);
    const fields: Partial<PaymentLinkDoc> = {
      ...Object.fromEntries(given),
      ...(active === undefined ? {} : { active }),
    };
    const isSame = (link: PaymentLinkDoc) => isDeepStrictEqual(link, { ...link, ...fields });
    if (isSame(found)) return show(deps, found, product);
    // Before the transaction, which may run more than once. A stamp may cost a request to the
    // ledger, which a new name needs not.
    const namesTerm = TERMS.some((name) => fields[name] !== undefined);
    const stamp = namesTerm ? await stamper.stamp(wallet.network) : null;
    const after = await commit({ caller, subjectId: id }, async (session) => {
      const before = await paymentLinks.byId(id, session);
      if (!before) throw notFound('payment link');
      if (isSame(before)) return before;
      const terms = termsOf({ ...before, ...fields });
      const changesTerms = stamp !== null && !isDeepStrictEqual(terms, termsOf(before));
      if (changesTerms && before.history.length > MAX_SWITCHES)
        throw conflict(`This payment link was changed ${MAX_SWITCHES} times: make another one.`);
      const last = before.history.at(-1)!.from;
      const version = changesTerms ? { from: beginAfter(last && { from: last }, stamp), terms } : null;
      const plain =
        Number((fields.order === undefined ? before.order : fields.order) === null) - Number(before.order === null);
      if (fields.order !== undefined) {
        const { accountId, productId } = before;
        const [product] = await deps.products.countLinks([{ accountId, productId, all: 0, plain }], session);
        if (!product) throw notFound('payment link');
        checkProduct(product, { order: fields.order }, false);
      }
      return paymentLinks.change(before, fields, version, session);
    });
    return show(deps, after, product);
  };

const remove =
  ({ forAccount, products, commit }: PaymentLinkServiceDeps): Service['delete'] =>
  async (caller, { id }) => {
    const { paymentLinks } = forAccount(caller.accountId);
    await commit({ caller, subjectId: id }, async (session) => {
      const link = await paymentLinks.byId(id, session);
      if (!link) throw notFound('payment link');
      if (link.orderCount > 0) throw conflict('This payment link has orders: make it inactive instead.');
      if (!(await paymentLinks.removeUnpaid(id, session))) {
        throw conflict('This payment link has payments: make it inactive instead.');
      }
      const { accountId, productId, order } = link;
      await products.countLinks([{ accountId, productId, all: -1, plain: order ? 0 : -1 }], session);
    });
    return { id, deleted: true };
  };

/** The price of a FIXED product, or the payer's amount for a CUSTOM one: canonical, null while none
 *  is chosen. */
function amountToPay(product: ProductDoc, asked: string | null): string | null {
  if (product.priceType === 'FIXED') {
    if (asked !== null) throw badRequest('amount: The product has a fixed price.');
    return product.price;
  }
  if (asked === null) return null;
  const [fault] = minorDigitErrors(product.currency, { amount: asked });
  if (fault) throw badRequest(`amount: ${fault.message}`);
  const stroops = parseAmount(asked)!;
  if (product.minAmount !== null && stroops < parseAmount(product.minAmount)!) {
    throw badRequest(`amount: The minimum is ${product.minAmount} ${product.currency ?? product.assetCode}.`);
  }
  return formatAmount(stroops);
}
