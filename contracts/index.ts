/** The tree of operations: its names are the tRPC procedures, and its operations carry the
 *  REST paths. */
import { account } from './account.js';
import { activity } from './activity.js';
import { apiKeys } from './api-keys.js';
import { checkouts } from './checkouts.js';
import { coupons } from './coupons.js';
import { deliveries } from './deliveries.js';
import { events } from './events.js';
import { notifications } from './notifications.js';
import { paymentLinks } from './payment-links.js';
import { payments } from './payments.js';
import { products } from './products.js';
import { rates } from './rates.js';
import { reports } from './reports.js';
import { users } from './users.js';
import { wallets } from './wallets.js';
import { webhooks } from './webhooks.js';

/** All operations, by resource and name. */
export const contract = {
  account,
  notifications,
  apiKeys,
  users,
  wallets,
  products,
  paymentLinks,
  coupons,
  checkouts,
  payments,
  rates,
  events,
  webhooks,
  deliveries,
  reports,
  activity,
};
/** The type of the tree, for `InputOf` and `OutputOf`. */
export type Contract = typeof contract;
