import { defineConfig } from 'tsup';

export default defineConfig({
  // Long prompts are encoded by `worker.js`, which is next to the bundles.
  entry: {
    index: 'src/index.ts',
    internal: 'src/internal.ts',
    testing: 'src/testing/index.ts',
    worker: 'src/encoder-thread/worker.ts',
  },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
  clean: true,
});
