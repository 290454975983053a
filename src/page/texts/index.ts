/** The languages of the pages, and the choice among them: `?lang=`, else the browser's first available one. */
import type { IncomingMessage } from 'node:http';
import { LANGUAGES, type Language } from '../../../contracts/languages.js';
import { ar } from './ar.js';
import { de } from './de.js';
import { en } from './en.js';
import { es } from './es.js';
import { fr } from './fr.js';
import { id } from './id.js';
import { it } from './it.js';
import { ja } from './ja.js';
import { nl } from './nl.js';
import { pl } from './pl.js';
import { pt } from './pt.js';
import type { Texts } from './texts.js';
import { tr } from './tr.js';
import { zh } from './zh.js';

export type { CountedKey, Forms, TextKey, Texts } from './texts.js';

export const CATALOGUES = { en, de, es, fr, it, nl, pl, pt, tr, id, ja, zh, ar } satisfies Record<Language, Texts>;
export { LANGUAGES, type Language };

const DEFAULT: Language = 'en';
/** Longer headers are cut: a browser's has some ten entries. */
const MOST_ENTRIES = 50;

/** What begins a language tag. */
const PRIMARY = /^(?:[a-z]{2,3}|[a-z]{5,8})(?=$|[-_])/;

/** `de-AT` → `de`, and old codes by their new ones: `in-ID` → `id`. Null for an unavailable language. */
export function toLanguage(tag: string): Language | null {
  const [primary] = PRIMARY.exec(tag.trim().toLowerCase()) ?? [];
  const [language = ''] = primary === undefined ? [] : Intl.getCanonicalLocales(primary);
  return Object.hasOwn(CATALOGUES, language) ? (language as Language) : null;
}

/** @param header `Accept-Language` */
export function acceptedLanguage(header: string | undefined): Language {
  const ranked = (header ?? '')
    .split(',', MOST_ENTRIES)
    .map((entry, place) => {
      const [tag = '', ...parameters] = entry.split(';');
      const quality = parameters.map((text) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(text)?.[1]).find(Boolean);
      return { language: tag.trim() === '*' ? DEFAULT : toLanguage(tag), quality: Number(quality ?? 1), place };
    })
    .filter(({ language, quality }) => language !== null && quality > 0)
    .sort((a, b) => b.quality - a.quality || a.place - b.place);
  return ranked[0]?.language ?? DEFAULT;
}

/** `asked` is null when the browser chose. */
export function languageOf(req: Pick<IncomingMessage, 'headers'> & { query: Record<string, unknown> }): {
  language: Language;
  asked: Language | null;
} {
  const { lang } = req.query;
  const asked = typeof lang === 'string' ? toLanguage(lang) : null;
  return { asked, language: asked ?? acceptedLanguage(req.headers['accept-language']) };
}
