/** The shop on its pages: name and logo above the item, a contact wherever a payer is refused, the
 *  color of the main button. */
import { type Brand, buttonColors } from '../domain/brand.js';
import { type ShownImage, shownImage } from './headers.js';
import { type Html, html } from './html.js';
import type { Words } from './words.js';

/** The logo if it may be shown. */
export const shownLogo = ({ logoUrl }: Brand): ShownImage | null => shownImage(logoUrl);

/** Null without name and logo. */
export function shopHead(brand: Brand): Html | null {
  const logo = shownLogo(brand);
  if (brand.name === null && !logo) return null;
  return html`<p class="shop">${logo && html`<img class="logo" src="${logo.url}" alt="" referrerpolicy="no-referrer" height="32">`}${brand.name !== null && html`<bdi>${brand.name}</bdi>`}</p>`;
}

/** A `%`, `?` or `&` of an address is none of the link. */
function mailtoOf(address: string): string {
  const at = address.lastIndexOf('@');
  return `mailto:${encodeURIComponent(address.slice(0, at))}@${encodeURIComponent(address.slice(at + 1))}`;
}

/** Null without a contact. */
function supportLinks({ supportUrl, supportEmail }: Brand): Html | null {
  const links = [
    supportUrl !== null &&
      html`<a href="${supportUrl}" target="_blank" rel="noopener noreferrer">${new URL(supportUrl).host}</a>`,
    supportEmail !== null && html`<a href="${mailtoOf(supportEmail)}">${supportEmail}</a>`,
  ].filter((link) => link !== false);
  if (links.length === 0) return null;
  return html`${links.map((link, index) => html`${index > 0 && ' · '}${link}`)}`;
}

/** The merchant's contact, for a payer whose payment was refused. */
export function askShop(words: Words, brand: Brand): Html {
  const contact = supportLinks(brand);
  const name = brand.name === null ? null : html`<bdi>${brand.name}</bdi>`;
  if (name === null)
    return html`<p class="support">${contact ? words.html('askMerchantBy', { contact }) : words.say('askMerchant')}</p>`;
  return html`<p class="support">${contact ? words.html('askBy', { name, contact }) : words.html('ask', { name })}</p>`;
}

/** Path below `/page/` of the style in that color, or null for the usual one. */
export const brandStyleOf = ({ color }: Brand): string | null =>
  color === null ? null : `brand-${color.slice(1).toLowerCase()}.css`;

const BRAND_STYLE = /^brand-([0-9a-f]{6})\.css$/;

/** The style behind such a path; null for another. */
export function brandStyle(file: string): string | null {
  const [, color] = BRAND_STYLE.exec(file) ?? [];
  if (color === undefined) return null;
  const { background, text, hover } = buttonColors(`#${color}`);
  return `:root { --main: ${background}; --main-strong: ${hover}; --on-main: ${text}; }\n`;
}
