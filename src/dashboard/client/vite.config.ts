/** Builds the dashboard into dist. Paths are relative, so that it can be served under any path; the
 *  server completes the page's own. Each language is a file of its own, which the server names in
 *  the page. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const languages = readdirSync(pathOf('texts')).filter((name) => name.length === 2);

export default defineConfig({
  root: pathOf('.'),
  base: './',
  logLevel: 'warn',
  build: {
    outDir: fileURLToPath(new URL('../../../dist/src/dashboard/app', import.meta.url)),
    emptyOutDir: true,
    // Inline assets would violate the page's policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: {
        index: pathOf('index.html'),
        ...Object.fromEntries(
          languages.map((language) => [`language-${language}`, pathOf(`texts/${language}/index.ts`)]),
        ),
      },
    },
  },
});
