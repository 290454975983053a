import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import ts from 'typescript';
import { LANGUAGES } from '../../contracts/languages.js';
import { ar } from '../../src/dashboard/client/texts/ar/index.js';
import { de } from '../../src/dashboard/client/texts/de/index.js';
import { en } from '../../src/dashboard/client/texts/en/index.js';
import { es } from '../../src/dashboard/client/texts/es/index.js';
import { fr } from '../../src/dashboard/client/texts/fr/index.js';
import { id } from '../../src/dashboard/client/texts/id/index.js';
import { it } from '../../src/dashboard/client/texts/it/index.js';
import { ja } from '../../src/dashboard/client/texts/ja/index.js';
import { nl } from '../../src/dashboard/client/texts/nl/index.js';
import { pl } from '../../src/dashboard/client/texts/pl/index.js';
import { pt } from '../../src/dashboard/client/texts/pt/index.js';
import { t as say, speak, textIn } from '../../src/dashboard/client/texts/texts.js';
import { tr } from '../../src/dashboard/client/texts/tr/index.js';
import { zh } from '../../src/dashboard/client/texts/zh/index.js';
import { localeOf } from '../../src/page/words.js';

type Text = string | Readonly<Record<string, string>>;

const CLIENT = new URL('../../src/dashboard/client/', import.meta.url).pathname;
const ENGLISH: Readonly<Record<string, Text>> = en;
const KEYS = Object.keys(ENGLISH);

const sources = readdirSync(CLIENT, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.startsWith('texts/'))
  .map((name) => ({ name, text: readFileSync(join(CLIENT, name), 'utf8') }));

const CATALOGUES: Readonly<Record<string, Readonly<Record<string, Text>>>> = {
  ...{ en, de, es, fr, it, nl, pl },
  ...{ pt, tr, id, ja, zh, ar },
};
const formsOf = (text: Text) => (typeof text === 'string' ? { other: text } : text);
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)/g)].map(([, name]) => name!).sort();

/** One assertion for each text would take most of the time. */
function faultsOf(text: string, form: string, english: string): string[] {
  const expected = placeholders(english);
  // A form for one or two may spell the number out.
  const spelled = ['zero', 'one', 'two'].includes(form) ? expected.filter((name) => name !== 'n') : expected;
  const hasNames = [expected, spelled].some((names) => `${names}` === `${placeholders(text)}`);
  const isTrimmed = text === text.trim() && text !== '';
  return [
    ...(hasNames ? [] : [`${form} has other placeholders`]),
    ...(isTrimmed ? [] : [`${form} is empty or not trimmed`]),
  ];
}

t.test('each language has every text, with its placeholders and the forms that it counts with', async (t) => {
  t.strictSame(Object.keys(CATALOGUES), [...LANGUAGES]);
  for (const [language, texts] of Object.entries(CATALOGUES)) {
    t.strictSame(Object.keys(texts), KEYS, `${language}: all texts, in the same order`);
    const plural = new Intl.PluralRules(localeOf(language as 'en'));
    const counted = new Set(Array.from({ length: 1_001 }, (_, n) => plural.select(n)));
    const faults = KEYS.flatMap((key) => {
      const [text, english] = [texts[key]!, ENGLISH[key]!];
      const isTranslated = language === 'en' || !/\w+ \w+ \w+ \w+/.test(formsOf(english).other!);
      return [
        ...Object.entries(formsOf(text)).flatMap(([form, each]) => faultsOf(each, form, formsOf(english).other!)),
        ...(typeof english === 'string'
          ? typeof text === 'string'
            ? []
            : ['has forms']
          : [...counted].flatMap((form) => (form in formsOf(text) ? [] : `does not count ${form}`))),
        ...(isTranslated || formsOf(text).other !== formsOf(english).other ? [] : ['is English']),
      ].map((fault) => `${key} ${fault}`);
    });
    t.strictSame(faults, [], language);
  }
});

t.test('a text is said with its values, numbers and forms as the language writes them', async (t) => {
  speak('pl', pl);
  t.strictSame(
    [1, 3, 5].map((n) => say('attemptsMade', { n })),
    ['1 próba', '3 próby', '5 prób'],
  );
  speak('de', de);
  t.equal(say('found', { n: 12_345 }), '12.345 gefunden.');
  t.equal(textIn('event', 'payment.completed'), 'Eine Zahlung wurde abgeschlossen');
  t.equal(textIn('event', 'toString'), null);
  speak('ar', ar);
  t.equal(say('attemptsMade', { n: 2 }), 'محاولتان');
  t.equal(say('deleteNameAsk', { name: '25 XLM' }), 'حذف \u206825 XLM\u2069؟', 'Latin text keeps its order');
  speak('en', en);
});

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
