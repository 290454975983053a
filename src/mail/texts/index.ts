/** Texts of e-mails to staff, in the language of the one who gets it. */
import type { Language } from '../../../contracts/languages.js';
import { wordsOf } from '../../page/words.js';
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
import { tr } from './tr.js';
import { zh } from './zh.js';

export type MailKey = keyof typeof en;
export type MailTexts = Readonly<Record<MailKey, string>>;

export const MAIL_TEXTS: Readonly<Record<Language, MailTexts>> = { en, de, es, fr, it, nl, pl, pt, tr, id, ja, zh, ar };

export interface Speech {
  language: Language;
  direction: 'ltr' | 'rtl';
  say(key: MailKey, values?: Readonly<Record<string, string>>): string;
  /** Money of a currency. @param amount canonical decimal text */
  money(amount: string, currency: string): string;
}

export function speechOf(language: Language): Speech {
  const { direction, money } = wordsOf(language);
  const say: Speech['say'] = (key, values = {}) =>
    MAIL_TEXTS[language][key].replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
  return { language, direction, say, money };
}
