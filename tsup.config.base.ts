import { defineConfig } from 'tsup';

/** The build of every package: one ES module with its declarations. Keep to options that tsdown has too. */
export default defineConfig({
  entry: ['src/index.ts'],
  format: ['esm'],
  target: 'node22',
  dts: true,
  sourcemap: true,
  clean: true,
});
