/** The content of each e-mail, stored until it is sent. */
import type { NoticeKind } from '../../contracts/notifications.js';

export interface PaymentFacts {
  id: string;
  amount: string;
  assetCode: string;
  value: { amount: string; currency: string } | null;
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
  'payment.decision': PaymentFacts;
  'webhook.failing': { id: string; name: string; url: string; since: string; error: string | null; isPaused: boolean };
  'wallet.gap': { wallet: WalletFacts; fromLedger: number; toLedger: number };
  'wallet.difference': { wallet: WalletFacts; differences: { assetCode: string; amount: string }[] };
}

/** A notification. */
export type Notice = { [Kind in NoticeKind]: { kind: Kind; facts: FactsOfKind[Kind] } }[NoticeKind];

/** Changes that are told to OWNERs. */
export type SecurityKind =
  | 'wallet.created'
  | 'product.wallet'
  | 'webhook.url'
  | 'apiKey.created'
  | 'user.created'
  | 'user.invited'
  | 'user.role'
  | 'user.removed'
  | 'user.email'
  | 'user.passkey'
  | 'user.counter';

export interface SecurityNotice {
  kind: SecurityKind;
  /** Of what was changed. */
  name: string;
  /** Its page of the dashboard. */
  page: string;
  wallet?: WalletFacts;
  /** Absent where there is nothing to say of it. */
  before?: string;
  now?: string;
}

/** With whose doing it was, as the list of activity shows it. */
export interface SecurityFacts {
  notice: SecurityNotice;
  actor: { type: 'user' | 'key' | 'cli' | 'system'; name: string | null };
  at: string;
}

export interface ReceiptFacts {
  checkoutId: string;
}
