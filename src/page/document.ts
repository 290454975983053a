/** The frame of every page, and pages that only show a message. */
import type { Brand } from '../domain/brand.js';
import type { Assets } from './assets.js';
import { brandStyleOf } from './brand.js';
import { type Html, html } from './html.js';
import { icon } from './parts.js';
import { LANGUAGES, type Language } from './texts/index.js';
import type { Words } from './words.js';

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
