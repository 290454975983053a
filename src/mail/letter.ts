/** One e-mail as text and as HTML, from the same parts, so that both say the same. No text of a
 *  part becomes markup or a header of its own; nothing is loaded from anywhere. */
import type { NoticeKind } from '../../contracts/notifications.js';
import { formatAmount } from '../domain/amount.js';
import type { Brand } from '../domain/brand.js';
import { sumsOf } from '../domain/order.js';
import { type Html, html, trusted } from '../page/html.js';
import { orderRows } from '../page/order-rows.js';
import { wordsOf } from '../page/words.js';
import type { CheckoutDoc } from '../selling/index.js';
import type { WalletDoc } from '../watching/index.js';

/** Drops duplicates regardless of case, and keeps the first spelling. */
export function distinctAddresses(addresses: readonly string[]): string[] {
  const seen = new Map<string, string>();
  for (const address of addresses) if (!seen.has(address.toLowerCase())) seen.set(address.toLowerCase(), address);
  return [...seen.values()];
}

// The content of each e-mail, stored until it is sent.

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
  /** What the payer of an order link told, by the keys of its fields. */
  answers: Readonly<Record<string, string>>;
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
  | 'user.counter'
  | 'account.embedding';

export interface SecurityNotice {
  kind: SecurityKind;
  /** The name of what was changed. */
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

// The receipt of a paid checkout, in the payer's language and the shop's name.

interface ReceiptParts {
  checkout: CheckoutDoc;
  wallet: Pick<WalletDoc, 'address'>;
  brand: Brand;
  publicUrl: string;
}

export function receiptLetter({ checkout, wallet, brand, publicUrl }: ReceiptParts): Letter {
  const { name, quantity, reference, amount, price, currency, assetCode, paidAt, slug, language = 'en' } = checkout;
  const words = wordsOf(language);
  const { say } = words;
  const received = `${formatAmount(BigInt((currency === undefined ? checkout.received : checkout.paidIn) ?? 0))} ${assetCode}`;
  const amountOf = (of: string) => (currency === undefined ? `${of} ${assetCode}` : words.money(of, currency));
  const asked = amountOf((price ?? amount)!);
  const rows = orderRows(words, sumsOf(checkout)).map((row) => ({ name: row.name, value: amountOf(row.amount) }));
  const what = {
    name: say('what'),
    value: quantity !== null && quantity > 1 ? `${name} × ${words.number(quantity)}` : name,
  };
  const shop = brand.name ?? '';
  return {
    language,
    direction: words.direction,
    subject: [say('receipt'), name, shop].filter((part) => part !== '').join(' · '),
    heading: shop === '' ? say('receipt') : shop,
    intro: [say('mailPaid')],
    facts: [
      ...(rows.length > 0 ? rows : [what]),
      ...(reference === null ? [] : [{ name: say('reference'), value: reference }]),
      ...(rows.length > 0 ? [] : [{ name: say('amount'), value: asked }]),
      ...(received === asked ? [] : [{ name: say('received'), value: received }]),
      ...(paidAt === null ? [] : [{ name: say('paidAt'), value: words.time(paidAt) }]),
      { name: say('paidTo'), value: wallet.address },
      { name: say('orderId'), value: checkout._id },
    ],
    link: { text: say('mailReceipt'), url: `${publicUrl}/c/${slug}/receipt?lang=${language}` },
    closing: [askShop(words, brand), say('mailWhy')],
  };
}

function askShop({ say }: ReturnType<typeof wordsOf>, { name, supportUrl, supportEmail }: Brand): string {
  const contact = [supportUrl, supportEmail].filter((way) => way !== null).join(' · ');
  if (name === null) return contact === '' ? say('askMerchant') : say('askMerchantBy', { contact });
  return contact === '' ? say('ask', { name }) : say('askBy', { name, contact });
}

export interface Letter {
  /** Language and direction of its texts. */
  language: string;
  direction: 'ltr' | 'rtl';
  subject: string;
  heading: string;
  /** Sentences below the heading. */
  intro: readonly string[];
  facts: readonly { name: string; value: string }[];
  link: { text: string; url: string } | null;
  /** Small, at the end: why it comes. */
  closing: readonly string[];
}

export interface Content {
  subject: string;
  text: string;
  html: string;
}

const MOST_IN_SUBJECT = 150;
const LINE_CHARACTERS = /[\p{Cc}\u2028\u2029]+/gu;
/** Marks that turn the direction of what follows: the text of a stranger turns no other. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Without anything that ends a line or turns the direction of what follows. */
export const oneLine = (text: string): string => text.replace(DIRECTION_MARKS, '').replace(LINE_CHARACTERS, ' ').trim();

export function contentOf(letter: Letter): Content {
  return {
    subject: [...oneLine(letter.subject)].slice(0, MOST_IN_SUBJECT).join(''),
    text: textOf(letter),
    html: htmlOf(letter).text,
  };
}

function textOf({ heading, intro, facts, link, closing }: Letter): string {
  const blocks = [
    [oneLine(heading)],
    intro.map(oneLine),
    facts.map(({ name, value }) => `${oneLine(name)}: ${oneLine(value)}`),
    link === null ? [] : [`${oneLine(link.text)}:`, link.url],
    closing.length === 0 ? [] : ['--', ...closing.map(oneLine)],
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

const BODY = 'margin:0;padding:24px;background:#f4f5f4;color:#1a1f1c;font:16px/1.5 system-ui,sans-serif';
const SHEET = 'max-width:560px;margin:0 auto;padding:24px;background:#fff;border-radius:8px';
const NAME = 'padding:4px 0;color:#5a635e;vertical-align:top;white-space:nowrap';
const VALUE = 'padding:4px 0 4px 16px;padding-inline:16px 0;overflow-wrap:anywhere;word-break:break-word';

function htmlOf({ language, direction, subject, heading, intro, facts, link, closing }: Letter): Html {
  return html`${trusted('<!doctype html>')}
<html lang="${language}" dir="${direction}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${oneLine(subject)}</title></head>
<body style="${BODY}">
<div style="${SHEET}">
<h1 style="margin:0 0 16px;font-size:22px"><bdi>${oneLine(heading)}</bdi></h1>
${intro.map((sentence) => html`<p style="margin:0 0 16px"><bdi>${oneLine(sentence)}</bdi></p>\n`)}
<table role="presentation" style="border-collapse:collapse;margin:0 0 16px">
${facts.map(({ name, value }) => html`<tr><td style="${NAME}">${oneLine(name)}</td><td style="${VALUE}"><bdi>${oneLine(value)}</bdi></td></tr>\n`)}</table>
${link !== null && html`<p style="margin:0 0 16px"><a href="${link.url}">${link.text}</a></p>`}
${closing.map((sentence) => html`<p style="margin:0 0 8px;font-size:13px;color:#5a635e"><bdi>${oneLine(sentence)}</bdi></p>\n`)}
</div>
</body>
</html>
`;
}
