/** Renders a stored e-mail when its attempt begins. */

import type { AccountStore } from '../accounts/index.js';
import { NO_BRAND } from '../domain/brand.js';
import type { ForAccount } from '../stores.js';
import type { Notice, ReceiptFacts, SecurityFacts } from './facts.js';
import { contentOf, type Letter, oneLine } from './letter.js';
import type { MailDoc } from './mail-store.js';
import { noticeLetter, timeOf } from './notices.js';
import { receiptLetter } from './receipt.js';
import { securityLetter } from './security.js';
import type { Outgoing } from './transport.js';

/** Null when what it was about no longer exists. */
export type Render = (mail: MailDoc) => Promise<Outgoing | null>;

export function createRender(deps: {
  accounts: Pick<AccountStore, 'byId'>;
  forAccount: ForAccount<'checkouts' | 'wallets'>;
  publicUrl: string;
}): Render {
  const { accounts, forAccount, publicUrl } = deps;
  const dashboard = `${publicUrl}/dashboard`;

  async function receipt({
    accountId,
    facts,
  }: MailDoc): Promise<(Pick<Outgoing, 'senderName' | 'replyTo'> & { letter: Letter }) | null> {
    const { checkoutId }: ReceiptFacts = JSON.parse(facts);
    const { checkouts, wallets } = forAccount(accountId);
    const checkout = await checkouts.byId(checkoutId);
    const wallet = checkout && (await wallets.byId(checkout.walletId));
    if (!checkout || !wallet) return null;
    const account = await accounts.byId(accountId);
    const ofAccount = { ...NO_BRAND, ...account?.brand };
    const brand = { ...ofAccount, name: ofAccount.name ?? account?.name ?? null };
    const letter = receiptLetter({ checkout, wallet, brand, publicUrl });
    return { letter, senderName: oneLine(brand.name ?? ''), replyTo: brand.supportEmail };
  }

  async function merchantLetter({ accountId, sort, kind, facts }: MailDoc): Promise<Letter> {
    const name = (await accounts.byId(accountId))?.name ?? accountId;
    if (sort === 'security') return securityLetter(JSON.parse(facts) as SecurityFacts, dashboard, name);
    return noticeLetter({ kind, facts: JSON.parse(facts) } as Notice, dashboard, name);
  }

  return async (mail) => {
    const { _id: id, to, sort } = mail;
    const ofReceipt = sort === 'receipt' ? await receipt(mail) : null;
    if (sort === 'receipt' && !ofReceipt) return null;
    const letter = ofReceipt?.letter ?? (await merchantLetter(mail));
    const { senderName = '', replyTo = null } = ofReceipt ?? {};
    return {
      id,
      to,
      senderName,
      replyTo,
      language: letter.language,
      ...contentOf({ ...letter, closing: [...boundsOf(mail), ...letter.closing] }),
    };
  };
}

/** What was left out before, and will be after. */
const boundsOf = ({ leftBefore, noneUntil }: MailDoc): string[] => [
  ...(leftBefore === 0 ? [] : [`Before it, ${leftBefore} more of these happened than were told. ${SHOWN}`]),
  ...(noneUntil === null
    ? []
    : [
        `No more of these are sent until ${timeOf(noneUntil.toISOString())}: there were too many, and the next one counts them. ${SHOWN}`,
      ]),
];

const SHOWN = 'The dashboard shows everything.';
