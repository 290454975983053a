/** Renders a stored e-mail when its attempt begins: notifications, receipts and security notices. */

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
import type { Outgoing } from './transport.js';

// Texts of notices to OWNERs of changes to where money goes and to who may change that.

interface Text {
  subject: (name: string) => string;
  intro: string;
  link: string;
}

const TEXTS: Readonly<Record<SecurityKind, Text>> = {
  'wallet.created': {
    subject: (name) => `New wallet “${name}”`,
    intro: 'A wallet was added. Payments can go to it from now on.',
    link: 'See the wallet',
  },
  'product.wallet': {
    subject: (name) => `“${name}” is paid to another wallet`,
    intro: 'Payments for this product go to another wallet from now on.',
    link: 'See the product',
  },
  'webhook.url': {
    subject: (name) => `Webhook “${name}” has another URL`,
    intro: 'Messages about payments go to another URL from now on.',
    link: 'See the webhook',
  },
  'apiKey.created': {
    subject: (name) => `New API key “${name}” that may do everything`,
    intro: 'Programs with this key may change everything of the account, its users too.',
    link: 'See the API keys',
  },
  'user.created': {
    subject: (name) => `${name} was invited as an owner`,
    intro: 'With the invitation this user may change everything of the account, its users too.',
    link: 'See the users',
  },
  'user.invited': {
    subject: (name) => `${name}, an owner, was invited again`,
    intro: 'With the invitation another device signs in as this user.',
    link: 'See the users',
  },
  'user.role': {
    subject: (name) => `${name} has another role`,
    intro: 'What this user may do has changed.',
    link: 'See the users',
  },
  'user.removed': {
    subject: (name) => `${name} is an owner no more`,
    intro: 'This user was removed, and signs in no more.',
    link: 'See the users',
  },
  'user.email': {
    subject: (name) => `E-mails to ${name} go to another address`,
    intro: 'This address was taken off its user, an owner, and is told of no further changes.',
    link: 'See the users',
  },
  'user.passkey': {
    subject: (name) => `A passkey of ${name} was removed`,
    intro: 'This user signs in with it no more.',
    link: 'See the users',
  },
  'account.embedding': {
    subject: (name) => `Other pages may show the payment pages of ${name}`,
    intro: 'Pages of these origins may show the payment pages within their own from now on.',
    link: 'See the settings',
  },
  'user.counter': {
    subject: (name) => `A passkey of ${name} may have been copied`,
    intro:
      'A sign-in showed a counter that did not rise. A device that was restored does that, and so does a copy of its passkey. Where it was not this user, remove the passkey.',
    link: 'See the users',
  },
};

function securityLetter({ notice, actor, at }: SecurityFacts, dashboard: string, accountName: string): Letter {
  const { subject, intro, link } = TEXTS[notice.kind];
  const closing = [
    'If you did not expect this change, sign in at once, undo it, and check the users and API keys of the account.',
    notice.kind === 'user.email'
      ? `You get this e-mail because your address was that of an owner of ${accountName}.`
      : `Every owner of ${accountName} with an e-mail address gets this e-mail.`,
  ];
  const facts = [
    ...factsOf(notice),
    { name: 'By', value: ACTORS[actor.type](actor.name) },
    { name: 'Time', value: timeOf(at) },
  ];
  const url = `${dashboard}/${notice.page}`;
  return letterOf({ subject: subject(notice.name), intro: [intro], facts, link: { text: link, url } }, closing);
}

const factsOf = ({ wallet, before, now }: SecurityNotice): Letter['facts'] => [
  ...(wallet ? walletFacts(wallet) : []),
  ...(before === undefined ? [] : [{ name: 'Before', value: before }]),
  ...(now === undefined ? [] : [{ name: 'Now', value: now }]),
];

const ACTORS: Record<SecurityFacts['actor']['type'], (name: string | null) => string> = {
  user: (name) => name ?? 'a user',
  key: (name) => (name === null ? 'an API key' : `API key “${name}”`),
  cli: () => 'the operator of this service',
  system: () => 'the service itself',
};

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
