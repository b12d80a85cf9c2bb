import { defineConfig } from 'tsup';

export default defineConfig({
  // `speaker.js` is executed in a separate process, and must lie next to the bundle.
  entry: { index: 'src/index.ts', speaker: 'src/control/playground/speaker.ts' },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
});
