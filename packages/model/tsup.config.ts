import { defineConfig } from 'tsup';

export default defineConfig({
  // Long prompts are encoded by `worker.js` and large requests read by `body-worker.js`, next to the bundles.
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
