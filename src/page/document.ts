/** The frame around every answer that a person reads, and the pages that only say something. */
import type { Assets } from './assets.js';
import { type Html, html } from './html.js';
import { icon } from './parts.js';

/** `base` is the path under which the service is reached, without a slash at its end. */
export interface Frame {
  assets: Pick<Assets, 'nameOf'>;
  base: string;
}

export const documentOf = ({ assets, base }: Frame, title: string, body: Html): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${base}/page/${assets.nameOf('icon.svg')}">
<link rel="stylesheet" href="${base}/page/${assets.nameOf('page.css')}">
<script type="module" src="${base}/page/${assets.nameOf('page.js')}"></script>
</head>
<body>
${body}
<footer>
  <p>Your payment goes from your wallet straight to the merchant’s Stellar account.</p>
  <p>This page never asks for a secret key or recovery phrase. Never enter one.</p>
</footer>
</body>
</html>
`;

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

export const unknownView = (frame: Frame): Html =>
  messageView(frame, 'This payment page does not exist', [
    'The link may be incomplete, or the merchant has removed it.',
    'Check the address, or ask the merchant who gave it to you.',
  ]);

export const faultView = (frame: Frame, requestId: string | null): Html =>
  messageView(frame, 'This page cannot be shown right now', [
    'Please try again in a moment. If you have paid already, your payment is not lost: it is on the Stellar ledger and will be found.',
    ...(requestId === null ? [] : [`Reference: ${requestId}`]),
  ]);

export const busyView = (frame: Frame, waitSeconds: number): Html =>
  messageView(frame, 'Too many requests', [
    `Many requests have come from your network. Please try again in ${waitSeconds} s.`,
    'If you have paid already, your payment is not lost: it is on the Stellar ledger and will be found.',
  ]);
