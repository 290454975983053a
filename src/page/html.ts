/** HTML from tagged templates: every value is escaped unless it is HTML already, so that no text
 *  can become markup. */

/** Markup that is safe to send: made by `html` or `trusted`. */
export class Html {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

/** Null, undefined and false render nothing; lists are concatenated. */
export type Part = Html | string | number | null | undefined | false | readonly Part[];

/** Values belong between tags or inside quoted attributes. */
export const html = (strings: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(strings.map((string, index) => string + show(parts[index])).join(''));

/** Treats the text as markup, unescaped. */
export const trusted = (markup: string): Html => new Html(markup);

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function show(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(show).join('');
  return String(part).replace(/[&<>"']/g, (mark) => ENTITIES[mark]!);
}
