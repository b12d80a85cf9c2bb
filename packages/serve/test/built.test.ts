/** The published form of the package: one bundle with the store's worker beside it, in plain Node. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build, type Options } from 'tsup';
import { afterAll, expect, it } from 'vitest';
import config from '../tsup.config.js';

const root = path.join(import.meta.dirname, '..');
const folder = mkdtempSync(path.join(tmpdir(), 'trinity-serve-built-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const script = `
import { openTurnStore } from './dist/index.js';
const turns = await openTurnStore({ path: 'calls.db' });
await turns.record({ msgId: 'a', session: 's', experiences: [] });
const again = await openTurnStore({ path: 'calls.db' }).catch(({ name, code }) => [name, code]);
console.log(JSON.stringify([turns.starts, await turns.counts(), again]));
`;

it('opens a store from its build, and ends by itself', { timeout: 240_000 }, async () => {
  const options = config as Options;
  const entry = Object.entries(options.entry as Record<string, string>).map(([name, file]) => [
    name,
    path.join(root, file),
  ]);
  await build({
    ...options,
    entry: Object.fromEntries(entry) as Record<string, string>,
    config: false,
    silent: true,
    dts: false,
    sourcemap: false,
    outDir: path.join(folder, 'dist'),
    // Bundles our other packages from their sources, so that they need not be built.
    noExternal: [/^@trinity-rft\//, '@msgpack/msgpack'],
    esbuildOptions: (esbuild) => void (esbuild.conditions = ['@trinity-rft/source']),
  });
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(path.join(folder, 'run.js'), script);
  const env = { PATH: process.env['PATH'] };
  // Standard error is not checked, because Node 22 warns about its SQLite module.
  const { stdout, status } = spawnSync(process.execPath, ['run.js'], {
    cwd: folder,
    encoding: 'utf8',
    env,
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  const counts = { total: 0, open: 0, ready: 0, committed: 0 };
  expect([status, JSON.parse(stdout)]).toEqual([0, [1, counts, ['BufferError', 'SERVE_LOCKED']]]);
});

it('starts as a part of a CommonJS bundle', { timeout: 120_000 }, async () => {
  const entry = path.join(folder, 'app.ts');
  const index = path.join(root, 'src/index.ts');
  writeFileSync(
    entry,
    `import * as all from ${JSON.stringify(index)}; console.log('started', Object.keys(all));`,
  );
  await build({
    entry: [entry],
    format: 'cjs',
    outDir: path.join(folder, 'bundle'),
    config: false,
    silent: true,
    dts: false,
    noExternal: [/./],
    esbuildOptions: (esbuild) => {
      esbuild.conditions = ['@trinity-rft/source'];
      // As esbuild itself does for Node.
      esbuild.mainFields = ['main', 'module'];
      esbuild.logOverride = { 'empty-import-meta': 'silent' };
    },
  });
  const app = path.join(folder, 'bundle', 'app.cjs');
  const { stdout, stderr } = spawnSync(process.execPath, [app], {
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^started .*openTurnStore/s), '']);
});
