import { defineConfig } from 'tsup';

export default defineConfig({
  // Threads start `worker.js` and `update-thread.js`, a process `device-check.js`; they are next to the bundle.
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
