/** Texts of notifications to merchants. */
import type { Letter, Notice, PaymentFacts, WalletFacts } from './letter.js';
import type { Speech } from './texts/index.js';

type Told = Pick<Letter, 'subject' | 'intro' | 'facts'> & { link: Letter['link'] };
type Fact = Letter['facts'][number];

/** @param dashboard its URL. @param accountName as the account calls itself */
export function noticeLetter(notice: Notice, dashboard: string, accountName: string, speech: Speech): Letter {
  const closing = [speech.say('closingNotice', { account: accountName, url: `${dashboard}/notifications` })];
  return letterOf(toldOf(notice, dashboard, speech), closing, speech);
}

export const letterOf = (told: Told, closing: string[], { language, direction }: Speech): Letter => ({
  language,
  direction,
  heading: told.subject,
  ...told,
  closing,
});

export const timeOf = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`;

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

export const walletFacts = ({ name, address, network }: WalletFacts, { say }: Speech): Fact[] => [
  { name: say('wallet'), value: name },
  { name: say('account'), value: address },
  { name: say('network'), value: network },
];

const walletLink = ({ id }: WalletFacts, dashboard: string, { say }: Speech) => ({
  text: say('seeWallet'),
  url: `${dashboard}/wallets/${id}`,
});
