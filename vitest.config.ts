import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig } from 'vitest/config';

// Packages resolve to each other's sources, so tests need no build. Vitest hands the conditions on
// to Node as well.
const conditions = ['@trinity-rft/source', 'node', 'development|production'];

const built = ['**/node_modules/**', '**/dist/**'];
const tests = [
  'packages/*/{src,test}/**/*.test.ts',
  'integrations/*/{src,test}/**/*.test.ts',
  'apps/*/{src,test}/**/*.test.ts',
  'examples/*/**/*.test.ts',
  'tests/**/*.test.ts',
  'tools/**/*.test.ts',
];
/** They change or need to find untouched what a process has once, such as OpenTelemetry's SDK. */
const alone = ['packages/monitor/test/telemetry/*.test.ts'];

/** Whole runs take longest: they begin, so that no worker is left with one in the end. */
class WholeRunsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification): number => {
      // Between others they would end the shared processes.
      if (project.name === 'alone') return 0;
      return /^(apps|examples|tools)\b/.test(path.relative(import.meta.dirname, moduleId)) ? 1 : 2;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    // Child processes, not threads: native addons, worker threads and process.exit behave in them
    // as they do in real use.
    pool: 'forks',
    // More than cores, because many tests wait.
    maxWorkers: 3,
    sequence: { sequencer: WholeRunsFirst },
    // Worker threads that a test starts load sources through Node itself: `new Worker(new
    // URL('./worker.js', import.meta.url))` works.
    execArgv: [`--import=${new URL('tools/register-source.mjs', import.meta.url).href}`],
    // Only a test that hangs may reach these: on a busy machine one second becomes many.
    testTimeout: 120_000,
    hookTimeout: 480_000,
    expect: { poll: { timeout: 60_000 } },
    restoreMocks: true,
    setupFiles: ['./tools/test-guard.ts'],
    tags: [{ name: 'slow', timeout: 480_000 }, { name: 'external' }],
    projects: [
      // Files share a process and the modules it has loaded: a fresh one for each would double the
      // time of all tests together.
      {
        extends: true,
        test: { name: 'shared', isolate: false, include: tests, exclude: [...built, ...alone] },
      },
      { extends: true, test: { name: 'alone', include: alone, exclude: built } },
    ],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'] },
  },
});
