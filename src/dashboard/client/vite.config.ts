/** Builds the dashboard into dist. Paths are relative, so that it can be served under any path; the server completes the page's own. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  logLevel: 'warn',
  build: {
    outDir: fileURLToPath(new URL('../../../dist/src/dashboard/app', import.meta.url)),
    emptyOutDir: true,
    // Inline assets would violate the page's policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
