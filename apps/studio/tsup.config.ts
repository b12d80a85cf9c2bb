import { defineConfig } from 'tsup';

export default defineConfig({
  // A process of its own starts `speaker.js`, which lies next to the bundle.
  entry: { index: 'src/index.ts', speaker: 'src/control/playground/speaker.ts' },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
});
