/** A poster to print: shop, item, QR code of the page, address to type. */
import { shopHead } from './brand.js';
import { documentOf, type Frame } from './document.js';
import { type Html, html } from './html.js';
import { closedBecause } from './page-state.js';
import { money, worth } from './parts.js';
import type { PageLink } from './types.js';

/** @param url of the page @param qr code of it */
export function posterView(frame: Frame, link: PageLink, url: string, qr: Html): Html {
  const { say } = frame.words;
  const { product, priced, brand } = link;
  // No amount at the current rate: a printed one would become wrong.
  const price = priced
    ? priced.due !== null && worth(frame.words, priced.due, priced.currency)
    : product.price !== null && money(product.price, product.assetCode);
  return documentOf(
    frame,
    `${say('poster')} · ${product.name}`,
    html`
<main class="sheet poster">
  ${closedBecause(link) !== null && html`<p class="callout screen">${say('closedTitle')}</p>`}
  ${shopHead(brand)}
  <h1><bdi>${product.name}</bdi></h1>
  ${price && html`<p class="price">${price}</p>`}
  <div class="qr" role="img" aria-label="${say('scanToPay')}">${qr}</div>
  <p class="scan-here">${say('scanToPay')}</p>
  <p><code dir="ltr">${url}</code></p>
  <p class="scripted screen"><button type="button" class="plain" id="print">${say('print')}</button></p>
</main>`,
    brand,
  );
}
