/** Faults of a body that only stored data reveal: it names missing resources, or ones that it does
 *  not fit. The services refuse the same one fault at a time; these rules complete the list for a
 *  refused body. */

import type { FieldError } from '../../contracts/errors.js';
import { contract } from '../../contracts/index.js';
import type { Operation, RawBody, ValidationContext } from '../../contracts/operation.js';
import { MAX_LINES } from '../../contracts/orders.js';
import { productFieldErrors } from '../../contracts/products.js';
import { badRequestOf, invalid, NO_SUCH } from '../kit/api-error.js';
import type { Caller, ServiceOf, Services } from '../kit/caller.js';
import type { Database } from '../kit/database.js';
import { createdAtOf } from '../kit/ids.js';
import { faultOfAssignment, findAssigned } from '../payments/index.js';
import { lineProductFaults, linkProductFaults, productTermFaults } from '../selling/index.js';
import type { ForAccount } from '../stores.js';

// Checks an operation's `contextRules` before its function, after the look-up of
// the Idempotency-Key.

type Call = (caller: Caller, input: object) => Promise<unknown>;

/** The same service; a broken rule throws `validation_error`, or `bad_request` without a body. A
 *  repeated run is checked as of the first one. */
export function withContextRules<Resource extends object>(
  operations: Resource,
  service: ServiceOf<Resource>,
  validationContext: () => ValidationContext,
): ServiceOf<Resource> {
  const calls = service as unknown as Record<string, Call>;
  const checked = Object.entries(operations as Record<string, Operation>).map(([name, { contextRules, hasBody }]) => {
    const call = calls[name]!;
    if (!contextRules) return [name, call];
    return [
      name,
      async (caller: Caller, input: object) => {
        const context = { ...validationContext(), ...(caller.isRepeated ? { now: firstRunOf(caller) } : {}) };
        const [fault, ...others] = contextRules({ ...input }, context);
        if (fault) throw hasBody ? invalid(fault, ...others) : badRequestOf([fault, ...others]);
        return call(caller, input);
      },
    ];
  });
  return Object.fromEntries(checked) as ServiceOf<Resource>;
}

/** The same for every resource of the contract. */
export const withAllRules = (services: Services, validationContext: () => ValidationContext): Services =>
  Object.fromEntries(
    Object.entries(contract).map(([name, operations]) => [
      name,
      withContextRules(operations, services[name as keyof Services] as never, validationContext),
    ]),
  ) as unknown as Services;

/** A reserved id has the time of the first run. */
const firstRunOf = ({ reservedId }: Caller): Date => createdAtOf(reservedId!('key'));

/** By resource and operation. They get parameters and body as sent, valid or not. */
export type StoredRules = Readonly<
  Record<string, Readonly<Record<string, (caller: Caller, sent: RawBody) => Promise<FieldError[]>>>>
>;

const textIn = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** The one of these fields that is given; nothing if several are, in which case none is
 *  looked up. */
function onlyOf(sent: RawBody, names: readonly string[]): RawBody {
  const [name, ...others] = names.filter((each) => sent[each] !== undefined && sent[each] !== null);
  return name === undefined || others.length > 0 ? {} : { [name]: sent[name] };
}

export function createStoredRules(deps: {
  forAccount: ForAccount<'paymentLinks' | 'checkouts' | 'products' | 'wallets' | 'payments'>;
  transaction: Database['transaction'];
}): StoredRules {
  const { forAccount, transaction } = deps;

  /** @param faultsWith returns the faults of the body with this product */
  async function ofProduct(
    { accountId }: Caller,
    { productId }: { productId?: unknown },
    faultsWith: (product: Parameters<typeof productTermFaults>[0]) => FieldError[] = () => [],
  ): Promise<FieldError[]> {
    const id = textIn(productId);
    if (id === null) return [];
    const product = await forAccount(accountId).products.byId(id);
    return product ? faultsWith(product) : [NO_SUCH.product];
  }

  async function ofWallet({ accountId }: Caller, { walletId }: RawBody): Promise<FieldError[]> {
    const id = textIn(walletId);
    return id === null || (await forAccount(accountId).wallets.byId(id)) ? [] : [NO_SUCH.wallet];
  }

  async function ofLines({ accountId }: Caller, sent: RawBody): Promise<FieldError[]> {
    const lines: unknown[] = Array.isArray(sent.lines) ? sent.lines.slice(0, MAX_LINES) : [];
    const ids = lines.flatMap((line) => textIn((line as RawBody | null)?.productId) ?? []);
    if (ids.length === 0) return [];
    const products = await forAccount(accountId).products.byIds([...new Set(ids)]);
    return lineProductFaults(new Map(products.map((product) => [product._id, product])), sent);
  }

  return {
    products: {
      create: ofWallet,
      async update(caller, { id, ...changes }) {
        const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
        const before = await forAccount(caller.accountId).products.byId(textIn(id) ?? '');
        return [...(before ? productFieldErrors({ ...before, ...given }) : []), ...(await ofWallet(caller, changes))];
      },
    },
    paymentLinks: {
      create: (caller, sent) =>
        ofProduct(caller, sent, (product) => linkProductFaults(product, { order: sent.order ?? null }, true)),
      async update(caller, { id, order }) {
        const link = await forAccount(caller.accountId).paymentLinks.byId(textIn(id) ?? '');
        return link ? ofProduct(caller, link, (product) => linkProductFaults(product, { order }, false)) : [];
      },
    },
    checkouts: {
      async create(caller, sent) {
        const { productId, walletId } = onlyOf(sent, ['productId', 'walletId']);
        return [
          ...(await ofProduct(caller, { productId }, (product) => productTermFaults(product, sent))),
          ...(await ofWallet(caller, { walletId })),
          ...(await ofLines(caller, sent)),
        ];
      },
    },
    payments: {
      assign: ({ accountId }, sent) =>
        transaction(async (session) => {
          const stores = forAccount(accountId);
          const before = await stores.payments.byId(textIn(sent.id) ?? '', session);
          const { paymentLinkId, checkoutId } = onlyOf(sent, ['paymentLinkId', 'checkoutId']);
          const ids = { paymentLinkId: textIn(paymentLinkId), checkoutId: textIn(checkoutId) };
          if (ids.paymentLinkId === null && ids.checkoutId === null) return [];
          const fault = faultOfAssignment(await findAssigned(stores, ids, before, session), ids, before);
          return fault ? [fault] : [];
        }),
    },
  };
}
