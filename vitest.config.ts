import { defineConfig } from 'vitest/config';

// Packages resolve to each other's sources, so tests need no build.
const conditions = ['@trinity-rft/source', 'module', 'node', 'development|production'];

export default defineConfig({
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    // Child processes, not threads: native addons, worker threads and process.exit behave in them as they do in real use.
    pool: 'forks',
    maxWorkers: 2,
    // For workers and child processes that a test starts: they load sources through Node itself.
    execArgv: ['--conditions=@trinity-rft/source'],
    restoreMocks: true,
    setupFiles: ['./tools/console-guard.ts'],
    tags: [{ name: 'contract' }, { name: 'slow', timeout: 120_000 }, { name: 'external' }],
    include: [
      'packages/*/{src,test}/**/*.test.ts',
      'apps/*/{src,test}/**/*.test.ts',
      'examples/*/**/*.test.ts',
      'tools/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**', '**/dist/**'],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'] },
  },
});
