/** Finds bytes that are turned into text by accident. The Stellar SDK returns `Uint8Array` where it
 *  used to return `Buffer`, and its `toString` ignores the encoding and returns decimals without an
 *  error. So `toString('hex')` and the like may be called only on a Buffer, and a Uint8Array may
 *  not be put into a text. Exits with 1 and names file and line. */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ENCODINGS = new Set(['hex', 'base64', 'base64url', 'utf8', 'utf-8', 'latin1', 'ascii']);

const root = dirname(fileURLToPath(new URL('.', import.meta.url)));
const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile);
const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
const program = ts.createProgram(fileNames, options);
const checker = program.getTypeChecker();

function typesOf(node: ts.Expression): readonly ts.Type[] {
  const type = checker.getTypeAtLocation(node);
  return type.isUnion() ? type.types : [type];
}

const isPlainBytes = (node: ts.Expression): boolean =>
  typesOf(node).some((type) => type.getSymbol()?.name === 'Uint8Array');

const isUnknown = (node: ts.Expression): boolean =>
  typesOf(node).some(({ flags }) => (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0);

const namesEncoding = (node: ts.Expression | undefined): boolean =>
  node !== undefined && ts.isStringLiteral(node) && ENCODINGS.has(node.text);

/** The fault of the node, or null. */
function mistakeIn(node: ts.Node): string | null {
  if (ts.isCallExpression(node)) {
    const { expression, arguments: given } = node;
    if (ts.isPropertyAccessExpression(expression) && expression.name.text === 'toString' && namesEncoding(given[0])) {
      const of = expression.expression;
      if (isPlainBytes(of)) return 'a Uint8Array takes no encoding: make a Buffer of it';
      return isUnknown(of) ? 'this may be a Uint8Array, which takes no encoding: say what it is' : null;
    }
  }
  if (ts.isTemplateSpan(node) && isPlainBytes(node.expression)) return 'bytes as text are decimals';
  return null;
}

const mistakes: string[] = [];
for (const file of program.getSourceFiles().filter(({ fileName }) => fileNames.includes(fileName))) {
  const visit = (node: ts.Node): void => {
    const mistake = mistakeIn(node);
    if (mistake) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      mistakes.push(`${file.fileName.slice(root.length + 1)}:${line + 1}: ${mistake}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
}
for (const mistake of mistakes) console.error(mistake);
process.exit(mistakes.length > 0 ? 1 : 0);
