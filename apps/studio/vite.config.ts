import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultClientConditions, defineConfig } from 'vite';

/** Markdown document that explains the metrics. */
const metrics = join(import.meta.dirname, '../../docs/reference/metrics.md');

export default defineConfig({
  root: join(import.meta.dirname, 'page'),
  base: './',
  define: { metricsDocument: JSON.stringify(readFileSync(metrics, 'utf8')) },
  // What the page shares with the server, as sources: nothing needs to be built before.
  resolve: { conditions: ['@trinity-rft/source', ...defaultClientConditions] },
  build: {
    outDir: join(import.meta.dirname, 'dist/page'),
    emptyOutDir: true,
    modulePreload: false,
    // Scripts and styles are files of this server: its policy allows data addresses for the pictures of controls only.
    assetsInlineLimit: 0,
  },
  // The base has settings for Node that a page does not need.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
