/** Builds the dashboard into dist. Paths are relative, so that it can be served below any path; the page's own are completed by the server. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  logLevel: 'warn',
  build: {
    outDir: fileURLToPath(new URL('../../../dist/src/dashboard/app', import.meta.url)),
    emptyOutDir: true,
    // Nothing inline: the policy would refuse it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
