/** Texts of notifications to merchants. */
import { moneyText } from '../domain/money-text.js';
import type { Letter, Notice, PaymentFacts, WalletFacts } from './letter.js';

type Told = Pick<Letter, 'subject' | 'intro' | 'facts'> & { link: Letter['link'] };
type Fact = Letter['facts'][number];

const LANGUAGE = 'en';

/** @param dashboard its URL. @param accountName as the account calls itself */
export function noticeLetter(notice: Notice, dashboard: string, accountName: string): Letter {
  const closing = [
    `You get this e-mail because your address receives the notifications of ${accountName}. To change that: ${dashboard}/notifications`,
  ];
  return letterOf(toldOf(notice, dashboard), closing);
}

export const letterOf = (told: Told, closing: string[]): Letter => ({
  language: LANGUAGE,
  direction: 'ltr',
  heading: told.subject,
  ...told,
  closing,
});

export const timeOf = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`;

function toldOf(notice: Notice, dashboard: string): Told {
  switch (notice.kind) {
    case 'payment.completed': {
      const { facts } = notice;
      return {
        subject: `Payment received: ${amountOf(facts)}${facts.name === null ? '' : ` for ${facts.name}`}`,
        intro: [],
        facts: paymentFacts(facts),
        link: { text: 'See the payment', url: `${dashboard}/payments/${facts.id}` },
      };
    }
    case 'payment.unmatched': {
      const { facts } = notice;
      return {
        subject: `A payment needs a decision: ${amountOf(facts)} for no order`,
        intro: [
          'A payment has arrived in your wallet, but its memo belongs to no order or link. You can assign it to one.',
        ],
        facts: paymentFacts(facts),
        link: { text: 'Assign the payment', url: `${dashboard}/payments/${facts.id}` },
      };
    }
    case 'payment.decision': {
      const { facts } = notice;
      return {
        subject: `A payment needs a decision: ${amountOf(facts)}${facts.name === null ? '' : ` for ${facts.name}`}`,
        intro: ['A payment has arrived that was not taken. You can accept it, assign it, send it back or dismiss it.'],
        facts: paymentFacts(facts),
        link: { text: 'Decide about the payment', url: `${dashboard}/payments/${facts.id}` },
      };
    }
    case 'webhook.failing': {
      const { id, name, url, since, error, isPaused } = notice.facts;
      const next = isPaused
        ? 'Its endpoint answered 410 Gone, so nothing more is sent until you make it active again.'
        : 'Deliveries to it are retried for some days, and none is lost until then.';
      return {
        subject: `Webhook “${name}” does not work`,
        intro: [
          `Your system does not accept messages about payments. ${next} This e-mail is sent once until a delivery succeeds.`,
        ],
        facts: [
          { name: 'Address', value: url },
          { name: 'Since', value: timeOf(since) },
          ...(error === null ? [] : [{ name: 'What happened', value: error }]),
        ],
        link: { text: 'See the webhook', url: `${dashboard}/webhooks/${id}` },
      };
    }
    case 'wallet.gap': {
      const { wallet, fromLedger, toLedger } = notice.facts;
      return {
        subject: `Payments to wallet “${wallet.name}” may be missing`,
        intro: ['Some ledgers could not be read, because no ledger server has them any more.'],
        facts: [...walletFacts(wallet), { name: 'Ledgers', value: `${fromLedger} to ${toLedger}` }],
        link: walletLink(wallet, dashboard),
      };
    }
    case 'wallet.difference': {
      const { wallet, differences } = notice.facts;
      return {
        subject: `The balance of wallet “${wallet.name}” is not explained`,
        intro: ['An audit found balances that nothing on the ledger explains.'],
        facts: [
          ...walletFacts(wallet),
          ...differences.map(({ assetCode, amount }) => ({ name: 'Difference', value: `${amount} ${assetCode}` })),
        ],
        link: walletLink(wallet, dashboard),
      };
    }
  }
}

const amountOf = ({ amount, assetCode }: PaymentFacts): string => `${amount} ${assetCode}`;

function paymentFacts(facts: PaymentFacts): Fact[] {
  const { value, name, reference, answers, memo, sender, network, closedAt } = facts;
  const optional = (label: string, text: string | null): Fact[] =>
    text === null ? [] : [{ name: label, value: text }];
  return [
    { name: 'Amount', value: amountOf(facts) },
    ...optional('Value', value && moneyText(LANGUAGE, value.amount, value.currency)),
    ...optional('For', name),
    ...optional('Order', reference),
    // In the shop's own words.
    ...Object.entries(answers).map(([name, value]) => ({ name, value })),
    ...optional('Memo', memo),
    { name: 'From', value: sender },
    ...(network === 'PUBLIC' ? [] : [{ name: 'Network', value: `${network}: no real money` }]),
    { name: 'Time', value: timeOf(closedAt) },
  ];
}

export const walletFacts = ({ name, address, network }: WalletFacts): Fact[] => [
  { name: 'Wallet', value: name },
  { name: 'Account', value: address },
  { name: 'Network', value: network },
];

const walletLink = ({ id }: WalletFacts, dashboard: string) => ({
  text: 'See the wallet',
  url: `${dashboard}/wallets/${id}`,
});
