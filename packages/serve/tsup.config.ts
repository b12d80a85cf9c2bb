import { defineConfig } from 'tsup';

export default defineConfig({
  // The turn store starts `worker.js` from the bundle's folder.
  entry: { index: 'src/index.ts', worker: 'src/turns/worker.ts' },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
  clean: true,
});
