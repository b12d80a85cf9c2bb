import { defineConfig } from 'tsup';

export default defineConfig({
  // The math checker starts `worker.js`, which must be next to the bundle.
  entry: {
    index: 'src/index.ts',
    internal: 'src/internal.ts',
    reward: 'src/reward/index.ts',
    worker: 'src/reward/checker/worker.ts',
  },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
  clean: true,
});
