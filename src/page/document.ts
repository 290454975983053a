/** The frame of every page, and pages that only show a message. */

import { LANGUAGES } from '../../contracts/languages.js';
import type { Brand } from '../domain/brand.js';
import type { Assets } from './assets.js';
import { brandStyleOf } from './brand.js';
import { type Html, html, trusted } from './html.js';
import { orderRows } from './order-rows.js';
import type { Language } from './texts/index.js';
import type { PageLink } from './types.js';
import type { PlainKey, Words } from './words.js';

// The small parts that the page's views are made of: amounts, addresses, copy buttons, icons.

/** `GABCDE…UVWXYZ`. */
export const shorten = (address: string): string => `${address.slice(0, 6)}…${address.slice(-6)}`;

/** An amount with thousands separated by style alone: copied text stays a plain number. */
export function figure(amount: string): Html {
  const [whole = '', fraction] = amount.split('.');
  if (whole.length < 5) return html`<span class="figure">${amount}</span>`;
  const groups = whole.split(/(?=(?:\d{3})+$)/).map((digits) => html`<span>${digits}</span>`);
  return html`<span class="figure">${groups}${fraction !== undefined && `.${fraction}`}</span>`;
}

/** `3,50 €`, as the reader's language writes it. */
export function worth(words: Words, amount: string, currency: string): Html {
  const text = words.money(amount, currency);
  return html`<bdi class="money${text.length > 14 && ' long'}">${text}</bdi>`;
}

/** `25 XLM`, the number and the asset's code. */
export const money = (amount: string, assetCode: string): Html =>
  html`<span dir="ltr" class="money${amount.length + assetCode.length > 14 && ' long'}">${figure(amount)} <span class="code">${assetCode}</span></span>`;

/** Groups of four for comparing by eye; lines may wrap between groups, and copied text has
 *  no spaces. */
export const spelled = (address: string): Html =>
  html`<code class="spelled" dir="ltr">${(address.match(/.{1,4}/g) ?? []).map((four) => html`<span>${four}</span><wbr>`)}</code>`;

/** Shown until the script writes it in the local format. */
export const moment = (words: Words, at: Date): Html =>
  html`<time datetime="${at.toISOString()}">${words.time(at)}</time>`;

/** Shown only with the script. */
export const copyButton = (words: Words, value: string, label: PlainKey): Html =>
  html`<button type="button" class="copy" data-copy="${value}" aria-label="${words.say(label)}">${icon('copy')}<span>${words.say('copy')}</span></button>`;

/** The rows of an order, of a `dl`; none for one line without anything else. */
export function orderFacts(words: Words, { checkout, priced, product }: PageLink): Html[] {
  const amountOf = (amount: string) =>
    priced ? worth(words, amount, priced.currency) : money(amount, product.assetCode);
  return orderRows(words, checkout!.order).map(
    ({ name, amount, kind }) =>
      html`<div class="${kind}"><dt><bdi>${name}</bdi></dt><dd>${amountOf(amount)}</dd></div>`,
  );
}

const ICONS = {
  copy: '<path d="M9 9h10v10H9zM5 15H4V5h10v1"/>',
  check: '<path d="m5 12.5 4.5 4.5L19 7.5"/>',
  warning: '<path d="M12 4 2.8 20h18.4zM12 10v4.5M12 17v.3"/>',
  cross: '<path d="M6.5 6.5l11 11m0-11-11 11"/>',
  pause: '<path d="M9 6.5v11m6-11v11"/>',
  part: '<path d="M12 6.5v7M12 17v.3"/>',
  wallet: '<path d="M4 7.5h14.5v11H4zM4 7.5l11-3v3M15 13h3.5"/>',
  search: '<path d="M10.5 5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zm4 9.5 4.5 4.5"/>',
} as const;

/** Decorative: text always accompanies it. */
export const icon = (name: keyof typeof ICONS): Html =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${trusted(ICONS[name])}</svg>`;

/** `base` is the service's path, without a trailing slash. */
export interface Frame {
  assets: Pick<Assets, 'nameOf'>;
  base: string;
  /** In the payer's language. */
  words: Words;
}

/** @param brand of the page's shop; null when unknown. @param head besides what every page has */
export const documentOf = (
  { assets, base, words }: Frame,
  title: string,
  body: Html,
  brand: Brand | null = null,
  head: Html | null = null,
): Html => html`<!doctype html>
<html lang="${words.language}" dir="${words.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${base}/page/${assets.nameOf('icon.svg')}">
<link rel="apple-touch-icon" href="${base}/page/${assets.nameOf('touch-icon.png')}">
<link rel="stylesheet" href="${base}/page/${assets.nameOf('page.css')}">
${
  brand &&
  brandStyleOf(brand) !== null &&
  html`<link rel="stylesheet" href="${base}/page/${brandStyleOf(brand)}">
`
}<script type="module" src="${base}/page/${assets.nameOf('page.js')}"></script>${head}
</head>
<body>
${body}
<footer>
  <p>${words.say('straight')}</p>
  <p>${words.say('secretKey')}</p>
  <details class="languages"><summary>${words.say('languages')}</summary>
  <p>${LANGUAGES.map((language) => html`<a href="?lang=${language}" lang="${language}" hreflang="${language}">${NAMES[language]}</a> `)}</p></details>
</footer>
</body>
</html>
`;

/** Languages by their own names. */
const NAMES: Readonly<Record<Language, string>> = {
  en: 'English',
  de: 'Deutsch',
  es: 'Español',
  fr: 'Français',
  it: 'Italiano',
  nl: 'Nederlands',
  pl: 'Polski',
  pt: 'Português',
  tr: 'Türkçe',
  id: 'Bahasa Indonesia',
  ja: '日本語',
  zh: '中文',
  ar: 'العربية',
};

const messageView = (frame: Frame, heading: string, sentences: readonly string[]): Html =>
  documentOf(
    frame,
    heading,
    html`
<main class="message">
  <span class="badge">${icon('search')}</span>
  <h1>${heading}</h1>
  ${sentences.map((sentence) => html`<p>${sentence}</p>`)}
</main>`,
  );

export const unknownView = (frame: Frame): Html => {
  const { say } = frame.words;
  return messageView(frame, say('unknownTitle'), [say('unknownLink'), say('unknownCheck')]);
};

export const longClosedView = (frame: Frame): Html => {
  const { say } = frame.words;
  return messageView(frame, say('longClosedTitle'), [say('longClosed')]);
};

export const faultView = (frame: Frame, id: string | null): Html => {
  const { say } = frame.words;
  return messageView(frame, say('faultTitle'), [
    say('faultAgain'),
    ...(id === null ? [] : [say('faultReference', { id })]),
  ]);
};

export const busyView = (frame: Frame, waitSeconds: number): Html => {
  const { say, timeLeft } = frame.words;
  return messageView(frame, say('busyTitle'), [
    say('busyWait', { time: timeLeft(waitSeconds * 1000) }),
    say('busyPaid'),
  ]);
};
