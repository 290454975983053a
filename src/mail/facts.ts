/** The content of each e-mail, stored until it is sent. */
import type { NoticeKind } from '../../contracts/notifications.js';
import type { Role } from '../../contracts/roles.js';

export interface PaymentFacts {
  id: string;
  amount: string;
  assetCode: string;
  /** Its value, with the currency. */
  value: string | null;
  sender: string;
  memo: string | null;
  network: string;
  /** The item: of a checkout or product. */
  name: string | null;
  reference: string | null;
  closedAt: string;
}

export interface WalletFacts {
  id: string;
  name: string;
  address: string;
  network: string;
}

interface FactsOfKind {
  'payment.completed': PaymentFacts;
  'payment.unmatched': PaymentFacts;
  'webhook.failing': { id: string; name: string; url: string; since: string; error: string | null; isPaused: boolean };
  'wallet.gap': { wallet: WalletFacts; fromLedger: number; toLedger: number };
  'wallet.difference': { wallet: WalletFacts; differences: { assetCode: string; amount: string }[] };
}

/** A notification. */
export type Notice = { [Kind in NoticeKind]: { kind: Kind; facts: FactsOfKind[Kind] } }[NoticeKind];

/** A change reported to every OWNER. */
export type SecurityNotice =
  | { kind: 'wallet.created'; wallet: WalletFacts }
  | { kind: 'product.wallet'; product: { id: string; name: string }; from: WalletFacts; to: WalletFacts }
  | { kind: 'webhook.url'; webhook: { id: string; name: string }; from: string; to: string }
  | { kind: 'user.role'; user: { id: string; name: string; email: string | null }; from: Role; to: Role };

/** With whose doing it was, as the list of activity shows it. */
export interface SecurityFacts {
  notice: SecurityNotice;
  actor: { type: 'user' | 'key' | 'cli' | 'system'; name: string | null };
  at: string;
}

export interface ReceiptFacts {
  checkoutId: string;
}
