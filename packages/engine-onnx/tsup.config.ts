import { defineConfig } from 'tsup';

export default defineConfig({
  // The engine starts `worker.js`, which is next to the bundle.
  entry: { index: 'src/index.ts', worker: 'src/worker/worker.ts' },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
  clean: true,
});
