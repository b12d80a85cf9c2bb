import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { index: 'src/index.ts' },
  format: ['esm'],
  target: 'node22',
  dts: { entry: ['src/index.ts'] },
  sourcemap: true,
  clean: true,
});
