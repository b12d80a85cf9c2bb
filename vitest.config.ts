import { defineConfig } from 'vitest/config';

// Packages resolve to each other's sources, so tests need no build. Vitest hands the conditions on
// to Node as well.
const conditions = ['@trinity-rft/source', 'node', 'development|production'];

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    // Child processes, not threads: native addons, worker threads and process.exit behave in them
    // as they do in real use.
    pool: 'forks',
    maxWorkers: 2,
    // Worker threads that a test starts load sources through Node itself: `new Worker(new
    // URL('./worker.js', import.meta.url))` works.
    execArgv: [`--import=${new URL('tools/register-source.mjs', import.meta.url).href}`],
    // Only a test that hangs may reach these: on a busy machine one second becomes many.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    restoreMocks: true,
    setupFiles: ['./tools/console-guard.ts'],
    tags: [{ name: 'contract' }, { name: 'slow', timeout: 480_000 }, { name: 'external' }],
    include: [
      'packages/*/{src,test}/**/*.test.ts',
      'integrations/*/{src,test}/**/*.test.ts',
      'apps/*/{src,test}/**/*.test.ts',
      'examples/*/**/*.test.ts',
      'tools/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**', '**/dist/**'],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'] },
  },
});
