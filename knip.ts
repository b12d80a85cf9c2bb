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
      entry: ['tools/*.{ts,mjs}', 'tools/readme/*.mjs'],
      project: ['tools/**/*.{ts,mjs}', '*.ts'],
    },
    'packages/*': {
      entry: ['test/**/*.ts', 'bench/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'],
    },
    'integrations/*': {
      entry: ['test/**/*.ts', 'bench/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'],
    },
    'apps/*': {
      entry: ['test/**/*.ts', 'bench/*.ts'],
      project: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'],
    },
    'examples/*': {
      entry: ['src/*.ts', 'plugins/*.ts', 'bench/*.ts', 'frameworks/*/train.ts'],
      project: ['{src,plugins,test,bench,frameworks}/**/*.ts'],
    },
  },
  // pnpm removes unused catalog entries itself (cleanupUnusedCatalogs).
  exclude: ['catalog'],
  // Every package has the same tools at hand for its tests.
  ignoreDependencies: ['fast-check', '@trinity-rft/testing'],
};

export default config;
