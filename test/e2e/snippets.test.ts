/** The TypeScript of the README and the guides passes a strict compiler, as a shop pastes it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const PAGES = [
  ...['README.md', 'src/client/README.md', 'scripts/examples/medusa/README.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('api'))
    .map((name) => join('docs', name)),
];

/** What a shop has around the lines. */
const AROUND = `
declare const apiKey: string, productId: string, secret: string, rawBody: string, lastSequence: number;
declare const request: import('node:http').IncomingMessage;
declare const response: { redirect(status: number, url: string): void };
declare function ship(what: import('stellar-collect-client').Payment | string | null): Promise<void>;
`;

const OPTIONS: ts.CompilerOptions = {
  ...{ strict: true, noUncheckedIndexedAccess: true, skipLibCheck: true, noEmit: true, types: ['node'] },
  ...{ target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.NodeNext },
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  paths: { 'stellar-collect-client': [join(ROOT, 'src/client/index.ts')] },
};

/** @param files text by path below the root; they need not exist */
function faultsOf(files: ReadonlyMap<string, string>): string[] {
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, readFile, getSourceFile } = host;
  const textOf = (path: string) => files.get(path);
  host.getCurrentDirectory = () => ROOT;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => textOf(path) ?? readFile(path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = textOf(path);
    return text === undefined ? getSourceFile(path, version, ...rest) : ts.createSourceFile(path, text, version);
  };
  const program = ts.createProgram([...files.keys()], OPTIONS, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const place = file?.fileName.replace(ROOT, '') ?? '';
    return `${place}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

t.test('every TypeScript block of the documentation passes the strict compiler', async (t) => {
  const files = new Map([[join(ROOT, 'around.d.ts'), AROUND]]);
  for (const page of PAGES) {
    const blocks = readFileSync(join(ROOT, page), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm);
    for (const [index, [, block]] of [...blocks].entries()) {
      files.set(join(ROOT, `${page.replaceAll('/', '-')}-${index + 1}.mts`), `${block}\nexport {};\n`);
    }
  }
  t.ok(files.size > 3, `${files.size - 1} blocks`);
  files.set(join(ROOT, 'wrong.mts'), 'declare const event: unknown; console.log(event.type); export {};');
  t.same(faultsOf(files), ["wrong.mts: 'event' is of type 'unknown'."], 'only the planted fault');
});

t.test('the documentation has one name for the address, the key and the client', async (t) => {
  for (const page of PAGES) {
    const text = readFileSync(join(ROOT, page), 'utf8');
    t.notMatch(text, /\$\{?(API|URL|KEY|BASE|TOKEN)\b/, `${page}: $COLLECT_URL, $API_KEY`);
    t.notMatch(text, /from 'stellar-collect'/, `${page}: stellar-collect-client`);
  }
});
