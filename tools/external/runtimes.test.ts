/**
 * A run in Bun and in Deno with the packed packages, which must produce the same bytes as in Node.
 * Needs `pnpm build`.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../apps/create/src/index.ts';
import { packAll } from '../packages/pack.ts';
import { trainTwoSteps } from '../packages/paths.ts';
import { openTerminal } from '../packages/project.ts';
import { openRegistry, type LocalRegistry } from '../packages/registry.ts';
import { fetchToolchain } from '../packages/toolchains.ts';

const root = join(import.meta.dirname, '../..');
const work = join(tmpdir(), `trinity-runtimes-${process.pid}`);
beforeAll(() => void mkdirSync(work, { recursive: true }));
const built = existsSync(join(root, 'apps/runner/dist/cli.js'));
const command = 'node_modules/@trinity-rft/runner/dist/cli.js run train.yaml';
const runtimes = [
  { name: 'node', package: undefined, program: 'node' },
  {
    name: 'bun',
    package: '@oven/bun-linux-x64',
    program: 'node_modules/@oven/bun-linux-x64/bin/bun',
  },
  {
    name: 'deno',
    package: '@deno/linux-x64-glibc',
    program:
      'node_modules/@deno/linux-x64-glibc/deno run --allow-all --no-lock --node-modules-dir=manual',
  },
] as const;

const describeIf =
  built && process.platform === 'linux' && process.arch === 'x64' ? describe : describe.skip;

describeIf('runs in other runtimes', { tags: ['external'], timeout: 900_000 }, () => {
  let registry: LocalRegistry | undefined;
  const digests = new Map<string, string>();
  const { path } = fetchToolchain('24', join(root, 'node_modules/.cache/toolchains'));

  beforeAll(async () => {
    registry = await openRegistry(packAll(root, work));
  }, 900_000);
  afterAll(async () => {
    await registry?.close();
    rmSync(work, { recursive: true, force: true });
  });

  it.for(runtimes)('$name', async ({ name, package: extra, program }) => {
    const { folder } = await createProject({ folder: name, cwd: work });
    const env = { 'npm_config_@trinity-rft:registry': registry?.url, CI: '1' };
    const terminal = openTerminal(folder, path, env as Readonly<Record<string, string>>);
    await terminal.run('npm install');
    if (extra) await terminal.run(`npm install --no-save --force ${extra}`);
    // Resolves relative programs from the project.
    const absolute = program.replace(/^node_modules/, join(folder, 'node_modules'));
    await trainTwoSteps(folder, terminal, `${absolute} ${command}`);
    const model = join(folder, 'runs/agent/train/global_step_2/model.safetensors');
    digests.set(name, createHash('sha256').update(readFileSync(model)).digest('hex'));
    expect(digests.get(name)).toBe(digests.get('node'));
  });
});
