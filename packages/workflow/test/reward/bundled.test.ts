/**
 * The package inside a CommonJS bundle, as Next.js and Electron make it: its thread has no file
 * there.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'bundled-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const index = fileURLToPath(new URL('../../src/reward/index.ts', import.meta.url));

it('names the cause at once', { timeout: 120_000 }, async () => {
  const entry = join(folder, 'app.ts');
  writeFileSync(
    entry,
    `import { createRewardFn } from ${JSON.stringify(index)};
     const reward = createRewardFn('accuracy_reward', {});
     const input = { response: '\\\\boxed{\\\\frac{1}{2}}', truth: '0.5', prompt: undefined, rawTask: {} };
     Promise.resolve(reward(input)).then(console.log, (error) => console.log(error.message));`,
  );
  await build({
    entry: [entry],
    format: 'cjs',
    outDir: folder,
    config: false,
    silent: true,
    dts: false,
    noExternal: [/./],
    esbuildOptions: (esbuild) => {
      esbuild.conditions = ['@trinity-rft/source'];
      esbuild.logOverride = { 'empty-import-meta': 'silent' };
    },
  });
  const { stdout, stderr } = spawnSync(process.execPath, ['app.cjs'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  expect(stdout + stderr).toMatch(/math answers .*bundle of CommonJS.*serverExternalPackages/s);
});
