import { defineConfig } from 'tsup';

export default defineConfig({
  // Threads start `worker.js` and `update-thread.js`, which are next to the bundle.
  entry: {
    index: 'src/index.ts',
    'graph-runtime': 'src/runtime/graph-runtime.ts',
    worker: 'src/worker/worker.ts',
    'update-thread': 'src/runtime/update-thread.ts',
  },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
  clean: true,
});
