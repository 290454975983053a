/** Renders a stored e-mail when its attempt begins: security notices, receipts and
 *  notifications. */

import type { AccountStore } from '../accounts/index.js';
import { NO_BRAND } from '../domain/brand.js';
import type { ForAccount } from '../stores.js';
import {
  contentOf,
  type Letter,
  type Notice,
  oneLine,
  type PaymentFacts,
  type ReceiptFacts,
  receiptLetter,
  type SecurityFacts,
  type SecurityKind,
  type SecurityNotice,
  type WalletFacts,
} from './letter.js';
import type { MailDoc } from './mail-store.js';
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

// Texts of notifications to merchants.

type Told = Pick<Letter, 'subject' | 'intro' | 'facts'> & { link: Letter['link'] };
type Fact = Letter['facts'][number];

/** @param dashboard its URL. @param accountName as the account calls itself */
function noticeLetter(notice: Notice, dashboard: string, accountName: string, speech: Speech): Letter {
  const closing = [speech.say('closingNotice', { account: accountName, url: `${dashboard}/notifications` })];
  return letterOf(toldOf(notice, dashboard, speech), closing, speech);
}

const letterOf = (told: Told, closing: string[], { language, direction }: Speech): Letter => ({
  language,
  direction,
  heading: told.subject,
  ...told,
  closing,
});

const timeOf = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`;

function toldOf(notice: Notice, dashboard: string, speech: Speech): Told {
  const { say } = speech;
  switch (notice.kind) {
    case 'payment.completed': {
      const { facts } = notice;
      return {
        subject: named(speech, 'received', 'receivedFor', facts),
        intro: [],
        facts: paymentFacts(facts, speech),
        link: { text: say('seePayment'), url: `${dashboard}/payments/${facts.id}` },
      };
    }
    case 'payment.unmatched': {
      const { facts } = notice;
      return {
        subject: say('unmatched', { amount: amountOf(facts) }),
        intro: [say('unmatchedIntro')],
        facts: paymentFacts(facts, speech),
        link: { text: say('assign'), url: `${dashboard}/payments/${facts.id}` },
      };
    }
    case 'payment.decision': {
      const { facts } = notice;
      return {
        subject: named(speech, 'decision', 'decisionFor', facts),
        intro: [say('decisionIntro')],
        facts: paymentFacts(facts, speech),
        link: { text: say('decide'), url: `${dashboard}/payments/${facts.id}` },
      };
    }
    case 'webhook.failing': {
      const { id, name, url, since, error, isPaused } = notice.facts;
      const next = say(isPaused ? 'webhookGone' : 'webhookRetried');
      return {
        subject: say('webhookFails', { name }),
        intro: [say('webhookFailsIntro', { next })],
        facts: [
          { name: say('address'), value: url },
          { name: say('since'), value: timeOf(since) },
          ...(error === null ? [] : [{ name: say('whatHappened'), value: error }]),
        ],
        link: { text: say('seeWebhook'), url: `${dashboard}/webhooks/${id}` },
      };
    }
    case 'wallet.gap': {
      const { wallet, fromLedger, toLedger } = notice.facts;
      return {
        subject: say('gap', { name: wallet.name }),
        intro: [say('gapIntro')],
        facts: [
          ...walletFacts(wallet, speech),
          { name: say('ledgers'), value: say('range', { from: String(fromLedger), to: String(toLedger) }) },
        ],
        link: walletLink(wallet, dashboard, speech),
      };
    }
    case 'wallet.difference': {
      const { wallet, differences } = notice.facts;
      return {
        subject: say('difference', { name: wallet.name }),
        intro: [say('differenceIntro')],
        facts: [
          ...walletFacts(wallet, speech),
          ...differences.map(({ assetCode, amount }) => ({
            name: say('differenceFact'),
            value: `${amount} ${assetCode}`,
          })),
        ],
        link: walletLink(wallet, dashboard, speech),
      };
    }
  }
}

/** With what it was for, where that is known. */
const named = (
  { say }: Speech,
  plain: 'received' | 'decision',
  full: 'receivedFor' | 'decisionFor',
  facts: PaymentFacts,
) =>
  facts.name === null
    ? say(plain, { amount: amountOf(facts) })
    : say(full, { amount: amountOf(facts), name: facts.name });

const amountOf = ({ amount, assetCode }: PaymentFacts): string => `${amount} ${assetCode}`;

function paymentFacts(facts: PaymentFacts, { say, money }: Speech): Fact[] {
  const { value, name, reference, answers, memo, sender, network, closedAt } = facts;
  const optional = (label: string, text: string | null): Fact[] =>
    text === null ? [] : [{ name: label, value: text }];
  return [
    { name: say('amount'), value: amountOf(facts) },
    ...optional(say('value'), value && money(value.amount, value.currency)),
    ...optional(say('for'), name),
    ...optional(say('order'), reference),
    // In the shop's own words.
    ...Object.entries(answers).map(([name, value]) => ({ name, value })),
    ...optional(say('memo'), memo),
    { name: say('from'), value: sender },
    ...(network === 'PUBLIC' ? [] : [{ name: say('network'), value: say('noRealMoney', { network }) }]),
    { name: say('time'), value: timeOf(closedAt) },
  ];
}

const walletFacts = ({ name, address, network }: WalletFacts, { say }: Speech): Fact[] => [
  { name: say('wallet'), value: name },
  { name: say('account'), value: address },
  { name: say('network'), value: network },
];

const walletLink = ({ id }: WalletFacts, dashboard: string, { say }: Speech) => ({
  text: say('seeWallet'),
  url: `${dashboard}/wallets/${id}`,
});
