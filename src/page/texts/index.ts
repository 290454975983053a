/** The languages of the pages, and the choice among them: `?lang=`, else the browser's first
 *  available one. */
import type { IncomingMessage } from 'node:http';
import type { Language } from '../../../contracts/languages.js';
import { acceptedLanguage, toLanguage } from '../../domain/accepted-language.js';
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
export type { Language };

/** `asked` is null when the browser chose. */
export function languageOf(req: Pick<IncomingMessage, 'headers'> & { query: Record<string, unknown> }): {
  language: Language;
  asked: Language | null;
} {
  const { lang } = req.query;
  const asked = typeof lang === 'string' ? toLanguage(lang) : null;
  return { asked, language: asked ?? acceptedLanguage(req.headers['accept-language']) };
}
