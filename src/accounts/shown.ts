/** The changeable fields of each kind of resource, as the API shows them, from which activity derives the differences. */

import type { Contract } from '../../contracts/index.js';
import { NO_BRAND } from '../domain/brand.js';
import type { Session } from '../kit/database.js';
import type { AccountStores } from '../stores.js';
import { flat, Secret, type Shown } from './activity-changes.js';

type Read = (stores: AccountStores, id: string, session: Session) => Promise<Shown | null>;

const time = (date: Date | null | undefined): string | null => date?.toISOString() ?? null;

/** By the resource of the operation. */
const READS: Partial<Record<keyof Contract, Read>> = {
  async account({ account }, _id, session) {
    const found = await account.get(session);
    if (!found) return null;
    const { name, brand, rateMarkups, booksCurrency, tolerancePercent = '0' } = found;
    return {
      ...{ name, rateMarkupPercent: rateMarkups?.at(-1)?.percent ?? '0', booksCurrency, tolerancePercent },
      ...Object.fromEntries(flat({ brand: { ...NO_BRAND, ...brand } })),
    };
  },
  async notifications({ account }, _id, session) {
    const { recipients = [], kinds = [] } = (await account.get(session))?.notifications ?? {};
    return { recipients, kinds: [...kinds] };
  },
  async apiKeys({ apiKeys }, id, session) {
    const found = await apiKeys.byId(id, session);
    return (
      found && { name: found.name, scope: found.scope, expiresAt: time(found.expiresAt), key: new Secret(found.hash) }
    );
  },
  async users({ users }, id, session) {
    const found = await users.byId(id, session);
    if (!found) return null;
    const { name, role, email, status, passkeys, invitation } = found;
    return {
      ...{
        name,
        role,
        email,
        status,
        passkeys: passkeys.map((each) => `${each.name ?? 'Passkey'} ${each.id.slice(0, 8)}`),
      },
      invitation: new Secret(invitation?.hash ?? ''),
    };
  },
  async wallets({ wallets }, id, session) {
    const found = await wallets.byId(id, session);
    return found && { name: found.name, address: found.address, network: found.network, active: found.active };
  },
  async products({ products }, id, session) {
    const found = await products.byId(id, session);
    if (!found) return null;
    const { name, description, imageUrl, walletId, active } = found;
    const { assetCode, assetIssuer, priceType, price, minAmount, currency, tolerancePercent } = found;
    return {
      ...{ name, description, imageUrl, walletId, active },
      ...{ assetCode, assetIssuer, priceType, price, minAmount, currency, tolerancePercent },
    };
  },
  async paymentLinks({ paymentLinks }, id, session) {
    const found = await paymentLinks.byId(id, session);
    return found && { name: found.name, productId: found.productId, active: found.active };
  },
  async checkouts({ checkouts }, id, session) {
    const found = await checkouts.byId(id, session);
    return found && { status: found.status };
  },
  async payments({ payments }, id, session) {
    const found = await payments.byId(id, session);
    if (!found) return null;
    const { status, reason, paymentLinkId, checkoutId, needsDecision, dismissal, refundedAmount = '0' } = found;
    return {
      ...{ status, reason, paymentLinkId, checkoutId, needsDecision, refundedAmount },
      ...{ decisionNote: dismissal?.note },
    };
  },
  async webhooks({ webhooks }, id, session) {
    const found = await webhooks.byId(id, session);
    if (!found) return null;
    const { name, url, events, status, secrets } = found;
    const [secret, ...previous] = secrets.map(({ sealed }) => sealed);
    return {
      ...{ name, url, events, status, secret: new Secret(secret ?? '') },
      ...(previous.length > 0 ? { previousSecret: new Secret(previous.join(' ')) } : {}),
    };
  },
  /** The account's own rate for the pair. */
  async rates({ ownRates }, pair, session) {
    const found = await ownRates.newest(pair, session);
    return found?.rate ? { rate: found.rate, expiresAt: time(found.until) } : null;
  },
};

/** Null for a missing resource. @param operation such as `products_update` */
export function shownOf(
  stores: AccountStores,
  operation: string,
  subjectId: string,
  session: Session,
): Promise<Shown | null> {
  const read = READS[operation.slice(0, operation.indexOf('_')) as keyof Contract];
  if (!read) throw new Error(`nothing is known to change by ${operation}`);
  return read(stores, subjectId, session);
}
