/** One e-mail as text and as HTML, from the same parts, so that both say the same. No text of a part becomes markup or a header of its own; nothing is
 *  loaded from anywhere. */
import { type Html, html, trusted } from '../page/html.js';

export interface Letter {
  /** Language and direction of its texts. */
  language: string;
  direction: 'ltr' | 'rtl';
  subject: string;
  heading: string;
  /** Sentences below the heading. */
  intro: readonly string[];
  facts: readonly { name: string; value: string }[];
  link: { text: string; url: string } | null;
  /** Small, at the end: why it comes. */
  closing: readonly string[];
}

export interface Content {
  subject: string;
  text: string;
  html: string;
}

const MOST_IN_SUBJECT = 150;
const LINE_CHARACTERS = /[\p{Cc}\u2028\u2029]+/gu;
/** Marks that turn the direction of what follows: the text of a stranger turns no other. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Without anything that ends a line or turns the direction of what follows. */
export const oneLine = (text: string): string => text.replace(DIRECTION_MARKS, '').replace(LINE_CHARACTERS, ' ').trim();

export function contentOf(letter: Letter): Content {
  return {
    subject: [...oneLine(letter.subject)].slice(0, MOST_IN_SUBJECT).join(''),
    text: textOf(letter),
    html: htmlOf(letter).text,
  };
}

function textOf({ heading, intro, facts, link, closing }: Letter): string {
  const blocks = [
    [oneLine(heading)],
    intro.map(oneLine),
    facts.map(({ name, value }) => `${oneLine(name)}: ${oneLine(value)}`),
    link === null ? [] : [`${oneLine(link.text)}:`, link.url],
    closing.length === 0 ? [] : ['--', ...closing.map(oneLine)],
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

const BODY = 'margin:0;padding:24px;background:#f4f5f4;color:#1a1f1c;font:16px/1.5 system-ui,sans-serif';
const SHEET = 'max-width:560px;margin:0 auto;padding:24px;background:#fff;border-radius:8px';
const NAME = 'padding:4px 0;color:#5a635e;vertical-align:top;white-space:nowrap';
const VALUE = 'padding:4px 0 4px 16px;padding-inline:16px 0;overflow-wrap:anywhere;word-break:break-word';

function htmlOf({ language, direction, subject, heading, intro, facts, link, closing }: Letter): Html {
  return html`${trusted('<!doctype html>')}
<html lang="${language}" dir="${direction}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${oneLine(subject)}</title></head>
<body style="${BODY}">
<div style="${SHEET}">
<h1 style="margin:0 0 16px;font-size:22px"><bdi>${oneLine(heading)}</bdi></h1>
${intro.map((sentence) => html`<p style="margin:0 0 16px"><bdi>${oneLine(sentence)}</bdi></p>\n`)}
<table role="presentation" style="border-collapse:collapse;margin:0 0 16px">
${facts.map(({ name, value }) => html`<tr><td style="${NAME}">${oneLine(name)}</td><td style="${VALUE}"><bdi>${oneLine(value)}</bdi></td></tr>\n`)}</table>
${link !== null && html`<p style="margin:0 0 16px"><a href="${link.url}">${link.text}</a></p>`}
${closing.map((sentence) => html`<p style="margin:0 0 8px;font-size:13px;color:#5a635e"><bdi>${oneLine(sentence)}</bdi></p>\n`)}
</div>
</body>
</html>
`;
}
