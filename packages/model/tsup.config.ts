import { defineConfig } from 'tsup';

export default defineConfig({
  // `worker.js` encodes long prompts, and `body-worker.js` reads large requests. Both must be next
  // to the bundles.
  entry: {
    index: 'src/index.ts',
    internal: 'src/internal.ts',
    testing: 'src/testing/index.ts',
    worker: 'src/encoder-thread/worker.ts',
    'body-worker': 'src/body-thread/body-worker.ts',
  },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
  clean: true,
});
