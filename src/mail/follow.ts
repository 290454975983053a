/** What follows from events by e-mail, stored in the transaction that stores them: notifications
 *  for who wants them, and the receipt of a checkout that became PAID. Nothing is rendered or
 *  sent here. */

import type { EventDataOf } from '../../contracts/event-kinds.js';
import { NOTICE_KINDS, type NoticeKind } from '../../contracts/notifications.js';
import type { AccountStore } from '../accounts/index.js';
import type { FollowEvents, StoredEvent } from '../events/index.js';
import { createdAtOf, type NewId } from '../kit/ids.js';
import { accountsOf } from '../kit/owners.js';
import type { Tell } from './bounded.js';
import type { Notice, PaymentFacts, ReceiptFacts, WalletFacts } from './letter.js';
import type { MailStore, NewMail } from './mail-store.js';

/** Differences that an e-mail lists. */
const MOST_DIFFERENCES = 10;

export function createFollowEvents(deps: {
  accounts: Pick<AccountStore, 'withNotifications'>;
  mails: Pick<MailStore, 'insert'>;
  tell: Tell;
  newId: NewId;
}): FollowEvents {
  const { accounts, mails, tell, newId } = deps;
  return async (events, session) => {
    const receipts = events.flatMap((event) => receiptOf(event, newId));
    const noticed = events.flatMap((event) => {
      const notice = noticeOf(event);
      return notice ? { event, notice } : [];
    });
    const ids = accountsOf(noticed.map(({ event }) => event));
    const settings = new Map(
      ids.length === 0
        ? []
        : (await accounts.withNotifications(ids, session)).map(({ _id, notifications }) => [_id, notifications!]),
    );
    const notices = noticed.flatMap(({ event: { accountId, id }, notice }) => {
      const { recipients = [], kinds = [] } = settings.get(accountId) ?? {};
      return kinds.includes(notice.kind)
        ? [{ accountId, sort: 'notice' as const, key: id, ...notice, recipients }]
        : [];
    });
    await mails.insert(receipts, session);
    await tell(notices, session);
  };
}

function receiptOf({ type, accountId, data, id }: StoredEvent, newId: NewId): NewMail[] {
  if (type !== 'checkout.paid') return [];
  const { checkout } = data as EventDataOf<'checkout.paid'>;
  if (checkout.customerEmail === null) return [];
  const facts: ReceiptFacts = { checkoutId: checkout.id };
  const _id = newId('mail');
  return [
    {
      ...{ _id, accountId, sort: 'receipt', key: id, to: checkout.customerEmail, kind: 'receipt' },
      ...{ facts: JSON.stringify(facts), leftBefore: 0, noneUntil: null, createdAt: createdAtOf(_id) },
    },
  ];
}

const isNotice = (type: string): type is NoticeKind => (NOTICE_KINDS as readonly string[]).includes(type);

function noticeOf({ type, data }: StoredEvent): Notice | null {
  if (!isNotice(type)) return null;
  if (type === 'payment.completed' || type === 'payment.unmatched' || type === 'payment.decision')
    return { kind: type, facts: paymentFacts(data as EventDataOf<'payment.completed'>) };
  if (type === 'wallet.gap') {
    const { wallet, fromLedger, toLedger } = data as EventDataOf<'wallet.gap'>;
    return { kind: type, facts: { wallet: walletFacts(wallet), fromLedger, toLedger } };
  }
  if (type === 'wallet.difference') {
    const { wallet, assets } = data as EventDataOf<'wallet.difference'>;
    const differences = assets
      .filter(({ difference }) => difference !== '0')
      .slice(0, MOST_DIFFERENCES)
      .map(({ assetCode, difference }) => ({ assetCode, amount: difference }));
    return { kind: type, facts: { wallet: walletFacts(wallet), differences } };
  }
  return null;
}

const paymentFacts = ({ payment, checkout, paymentLink, product }: EventDataOf<'payment.completed'>): PaymentFacts => ({
  id: payment.id,
  amount: payment.amount,
  assetCode: payment.assetCode,
  value: payment.value,
  sender: payment.senderAddress,
  memo: payment.memo,
  network: payment.network,
  name: checkout?.name ?? paymentLink?.name ?? product?.name ?? null,
  reference: checkout?.reference ?? null,
  answers: checkout?.answers ?? {},
  closedAt: payment.ledgerClosedAt,
});

const walletFacts = ({ id, name, address, network }: WalletFacts): WalletFacts => ({ id, name, address, network });
