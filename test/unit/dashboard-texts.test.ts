import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import ts from 'typescript';
import { en } from '../../src/dashboard/client/texts/en/index.js';

type Text = string | Readonly<Record<string, string>>;

const CLIENT = new URL('../../src/dashboard/client/', import.meta.url).pathname;
const ENGLISH: Readonly<Record<string, Text>> = en;
const KEYS = Object.keys(ENGLISH);

const sources = readdirSync(CLIENT, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.startsWith('texts/'))
  .map((name) => ({ name, text: readFileSync(join(CLIENT, name), 'utf8') }));

t.test('a text that no view says is none', async (t) => {
  const all = sources.map(({ text }) => text).join('\n');
  // What the API names has a kind: `event.payment.completed`.
  const isSaid = (key: string) =>
    all.includes(`'${key}'`) || new RegExp(`\`${key.split('.')[0]}\\.\\$|In\\('${key.split('.')[0]}'`).test(all);
  t.strictSame(
    KEYS.filter((key) => !isSaid(key)),
    [],
  );
});

/** Attributes that people read or hear. */
const READ = /^(title|label|hint|placeholder|alt|legend|submit|confirm|done|empty|what|remedy|none|on|off|aria-label)$/;
/** Examples and names, the same in every language. */
const SAME =
  /^(https:\/\/…|[GS]…|sk_…|#[0-9a-f]{6}|[\w.]+@[\w.]+|EUR|25 XLM|SVG|PNG|stellar-collect|ms|XLM|Stellar|npx .*|npm .*)$/;
const isEnglish = (text: string) => /[a-z]{2}/i.test(text) && !SAME.test(text.trim());

/** Texts that are written in a view instead of beside it. */
function writtenIn(name: string, text: string): string[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isJsxText(node) && isEnglish(node.text)) found.push(node.text.trim());
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) {
      const { parent } = node;
      const words = ts.isTemplateExpression(node)
        ? [node.head, ...node.templateSpans.map(({ literal }) => literal)].map((part) => part.text).join('·')
        : node.text;
      const isAttribute = ts.isJsxAttribute(parent) && READ.test(parent.name.getText());
      const isProperty = ts.isPropertyAssignment(parent) && READ.test(parent.name.getText());
      const isSentence = /^[A-Z][a-z]+( [a-z]|$)|[a-z]{3}, [a-z]{3}|[a-z] [a-z]{2,} [a-z]/.test(words);
      if ((isAttribute || isProperty || (isSentence && !isForPrograms(node))) && isEnglish(words)) found.push(words);
    }
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}

/** Names of keys, errors and selectors. */
function isForPrograms(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isJsxAttribute(parent) || ts.isImportDeclaration(parent) || ts.isLiteralTypeNode(parent)) return true;
  if (ts.isBinaryExpression(parent) && /^[!=]==$/.test(parent.operatorToken.getText())) return true;
  if (ts.isCallExpression(parent) && /querySelector/.test(parent.expression.getText())) return true;
  if (ts.isVariableDeclaration(parent) && /^[A-Z]+$/.test(parent.name.getText())) return true;
  return false;
}

t.test('no view has English in it: texts lie beside the views', async (t) => {
  for (const { name, text } of sources) t.strictSame(writtenIn(name, text), [], name);
});
