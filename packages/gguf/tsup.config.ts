import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { index: 'src/index.ts', internal: 'src/internal.ts' },
  format: ['esm'],
  target: 'node22',
  dts: { entry: ['src/index.ts', 'src/internal.ts'] },
  sourcemap: true,
  clean: true,
});
