/** Renders a stored e-mail when its attempt begins: notifications, receipts and
 *  security notices. */

import type { AccountStore } from '../accounts/index.js';
import { NO_BRAND } from '../domain/brand.js';
import type { ForAccount } from '../stores.js';
import {
  contentOf,
  type Letter,
  type Notice,
  oneLine,
  type ReceiptFacts,
  receiptLetter,
  type SecurityFacts,
  type SecurityKind,
  type SecurityNotice,
} from './letter.js';
import type { MailDoc } from './mail-store.js';
import { letterOf, noticeLetter, timeOf, walletFacts } from './notices.js';
import { type MailKey, type Speech, speechOf } from './texts/index.js';
import type { Outgoing } from './transport.js';

// Texts of notices to OWNERs of changes to where money goes and to who may change that.

interface Text {
  subject: MailKey;
  intro: MailKey;
  link: MailKey;
}

const TEXTS: Readonly<Record<SecurityKind, Text>> = {
  'wallet.created': { subject: 'walletCreated', intro: 'walletCreatedIntro', link: 'seeWallet' },
  'product.wallet': { subject: 'productWallet', intro: 'productWalletIntro', link: 'seeProduct' },
  'webhook.url': { subject: 'webhookUrl', intro: 'webhookUrlIntro', link: 'seeWebhook' },
  'apiKey.created': { subject: 'keyCreated', intro: 'keyCreatedIntro', link: 'seeKeys' },
  'user.created': { subject: 'userCreated', intro: 'userCreatedIntro', link: 'seeUsers' },
  'user.invited': { subject: 'userInvited', intro: 'userInvitedIntro', link: 'seeUsers' },
  'user.role': { subject: 'userRole', intro: 'userRoleIntro', link: 'seeUsers' },
  'user.removed': { subject: 'userRemoved', intro: 'userRemovedIntro', link: 'seeUsers' },
  'user.email': { subject: 'userEmail', intro: 'userEmailIntro', link: 'seeUsers' },
  'user.passkey': { subject: 'userPasskey', intro: 'userPasskeyIntro', link: 'seeUsers' },
  'account.embedding': { subject: 'embedding', intro: 'embeddingIntro', link: 'seeSettings' },
  'user.counter': { subject: 'userCounter', intro: 'userCounterIntro', link: 'seeUsers' },
};

function securityLetter(
  { notice, actor, at }: SecurityFacts,
  dashboard: string,
  account: string,
  speech: Speech,
): Letter {
  const { say } = speech;
  const { subject, intro, link } = TEXTS[notice.kind];
  const closing = [say('unexpected'), say(notice.kind === 'user.email' ? 'wasOwner' : 'everyOwner', { account })];
  const facts = [
    ...factsOf(notice, speech),
    { name: say('by'), value: actorOf(actor, speech) },
    { name: say('time'), value: timeOf(at) },
  ];
  const url = `${dashboard}/${notice.page}`;
  const told = { subject: say(subject, { name: notice.name }), intro: [say(intro)], facts };
  return letterOf({ ...told, link: { text: say(link), url } }, closing, speech);
}

const factsOf = ({ wallet, before, now }: SecurityNotice, speech: Speech): Letter['facts'] => [
  ...(wallet ? walletFacts(wallet, speech) : []),
  ...(before === undefined ? [] : [{ name: speech.say('before'), value: before }]),
  ...(now === undefined ? [] : [{ name: speech.say('now'), value: now }]),
];

function actorOf({ type, name }: SecurityFacts['actor'], { say }: Speech): string {
  switch (type) {
    case 'user':
      return name ?? say('aUser');
    case 'key':
      return name === null ? say('aKey') : say('namedKey', { name });
    case 'cli':
      return say('operator');
    case 'system':
      return say('service');
  }
}

/** Null when what it was about no longer exists. */
export type Render = (mail: MailDoc) => Promise<Outgoing | null>;

export function createRender(deps: {
  accounts: Pick<AccountStore, 'byId'>;
  forAccount: ForAccount<'checkouts' | 'users' | 'wallets'>;
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

  async function merchantLetter({ accountId, sort, kind, facts }: MailDoc, speech: Speech): Promise<Letter> {
    const name = (await accounts.byId(accountId))?.name ?? accountId;
    if (sort === 'security') return securityLetter(JSON.parse(facts) as SecurityFacts, dashboard, name, speech);
    return noticeLetter({ kind, facts: JSON.parse(facts) } as Notice, dashboard, name, speech);
  }

  return async (mail) => {
    const { _id: id, to, sort } = mail;
    const ofReceipt = sort === 'receipt' ? await receipt(mail) : null;
    if (sort === 'receipt' && !ofReceipt) return null;
    // An address that is no user's, or whose user chose none, is written to in English.
    const speech = speechOf((ofReceipt ? null : await forAccount(mail.accountId).users.languageOf(to)) ?? 'en');
    const letter = ofReceipt?.letter ?? (await merchantLetter(mail, speech));
    const { senderName = '', replyTo = null } = ofReceipt ?? {};
    return {
      id,
      to,
      senderName,
      replyTo,
      language: letter.language,
      ...contentOf({ ...letter, closing: [...boundsOf(mail, speech), ...letter.closing] }),
    };
  };
}

/** What was left out before, and will be after. */
const boundsOf = ({ leftBefore, noneUntil }: MailDoc, { say }: Speech): string[] => [
  ...(leftBefore === 0 ? [] : [`${say('leftBefore', { n: String(leftBefore) })} ${say('shown')}`]),
  ...(noneUntil === null ? [] : [`${say('noneUntil', { time: timeOf(noneUntil.toISOString()) })} ${say('shown')}`]),
];
