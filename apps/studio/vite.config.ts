import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultClientConditions, defineConfig } from 'vite';

/** Markdown document that explains the metrics. */
const metrics = join(import.meta.dirname, '../../docs/reference/metrics.md');

export default defineConfig({
  root: join(import.meta.dirname, 'page'),
  base: './',
  define: { metricsDocument: JSON.stringify(readFileSync(metrics, 'utf8')) },
  // Resolves packages that the page shares with the server to their sources, so that nothing has to
  // be built first.
  resolve: { conditions: ['@trinity-rft/source', ...defaultClientConditions] },
  build: {
    outDir: join(import.meta.dirname, 'dist/page'),
    emptyOutDir: true,
    modulePreload: false,
    // Nothing is inlined as a data URL, because the content policy of the server only allows data
    // URLs for images.
    assetsInlineLimit: 0,
  },
  // The base configuration of TypeScript has settings for Node that a page does not need.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
