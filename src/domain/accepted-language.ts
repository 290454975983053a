/** The reader's language among those that the service speaks, by a tag or by what the
 *  browser prefers. */
import { LANGUAGES, type Language } from '../../contracts/languages.js';

const DEFAULT: Language = 'en';
/** Longer headers are cut: a browser's has some ten entries. */
const MOST_ENTRIES = 50;

/** What begins a language tag. */
const PRIMARY = /^(?:[a-z]{2,3}|[a-z]{5,8})(?=$|[-_])/;

/** `de-AT` → `de`, and old codes by their new ones: `in-ID` → `id`. Null for an
 *  unavailable language. */
export function toLanguage(tag: string): Language | null {
  const [primary] = PRIMARY.exec(tag.trim().toLowerCase()) ?? [];
  const [language = ''] = primary === undefined ? [] : Intl.getCanonicalLocales(primary);
  return LANGUAGES.find((each) => each === language) ?? null;
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
