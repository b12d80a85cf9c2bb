import { defineConfig } from 'tsup';

export default defineConfig({
  // The watchdog starts `watchdog-thread.js`, which must be next to the bundle.
  entry: {
    index: 'src/index.ts',
    files: 'src/files.ts',
    parts: 'src/parts.ts',
    'watchdog-thread': 'src/run/guard/watchdog-thread.ts',
  },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
  clean: true,
});
