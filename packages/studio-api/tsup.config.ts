import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    internal: 'src/internal.ts',
    interface: 'src/interface/index.ts',
  },
  format: ['esm'],
  target: 'node22',
  sourcemap: true,
});
