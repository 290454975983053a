/** Texts of notices to OWNERs of changes to where money goes and to who may change that. */
import type { SecurityFacts, SecurityKind, SecurityNotice } from './facts.js';
import type { Letter } from './letter.js';
import { letterOf, timeOf, walletFacts } from './notices.js';

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
  'user.counter': {
    subject: (name) => `A passkey of ${name} may have been copied`,
    intro:
      'A sign-in showed a counter that did not rise. A device that was restored does that, and so does a copy of its passkey. Where it was not this user, remove the passkey.',
    link: 'See the users',
  },
};

export function securityLetter({ notice, actor, at }: SecurityFacts, dashboard: string, accountName: string): Letter {
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
