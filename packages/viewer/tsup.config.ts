import { defineConfig } from 'tsup';

// `client.js` is imported by nothing: it is what the page runs.
export default defineConfig([
  { entry: ['src/index.ts'], format: ['esm'], target: 'node22', sourcemap: true },
  { entry: { client: 'src/page/client.ts' }, format: ['esm'], target: 'es2022' },
]);
