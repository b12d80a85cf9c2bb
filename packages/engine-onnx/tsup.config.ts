import { defineConfig } from 'tsup';

export default defineConfig({
  // Worker threads load `worker.js` and `update-thread.js`, and a child process executes
  // `device-check.js`. All three must be next to the bundle.
  entry: {
    index: 'src/index.ts',
    'graph-runtime': 'src/runtime/graph-runtime.ts',
    worker: 'src/worker/worker.ts',
    'device-check': 'src/device-check.ts',
    'update-thread': 'src/runtime/update-thread.ts',
  },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
  clean: true,
});
