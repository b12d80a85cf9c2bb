/**
 * `start.ts FOLDER`: from an empty folder to a trained model with only npm: installs the packed
 * packages and those of the registry, and runs the quickstart. Needs a build, and pnpm.
 */
import { cpSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packAll } from '../../../tools/packages/pack.ts';
import { openTerminal } from '../../../tools/packages/project.ts';
import { openRegistry } from '../../../tools/packages/registry.ts';
import { fetchToolchain } from '../../../tools/packages/toolchains.ts';
import type { Figures } from '../row.ts';
import { repository } from '../programs.ts';

const [folder = ''] = process.argv.slice(2);
const project = path.join(folder, 'project');
const tarballs = path.join(folder, 'tarballs');
const quickstart = path.join(repository, 'examples/quickstart');
const used = ['core', 'launcher', 'monitor'];

for (const each of [project, tarballs]) mkdirSync(each, { recursive: true });
const packages = packAll(repository, tarballs);
const registry = await openRegistry(packages);
const { path: programs } = fetchToolchain(
  '24',
  path.join(repository, 'node_modules/.cache/toolchains'),
);
const terminal = openTerminal(project, programs, {
  'npm_config_@trinity-rft:registry': registry.url,
  npm_config_cache: path.join(folder, 'npm-cache'),
});

writeProject();
const withDownload = await seconds(() => terminal.run('npm install'));
rmSync(path.join(project, 'node_modules'), { recursive: true });
const install = await seconds(() => terminal.run('npm install --prefer-offline'));
await registry.close();

const begun = Date.now();
await terminal.run('npm start');
const ended = Date.now();
const stage = (name: string): number =>
  statSync(path.join(project, 'runs/Trinity-RFT/quickstart', name)).birthtimeMs;
const [warmup, learning] = [stage('warmup'), stage('grpo')];
const parts = {
  download: Math.max(0, withDownload - install),
  install,
  'start-up': (warmup - begun) / 1000,
  'warm-up': (learning - warmup) / 1000,
  learning: (ended - learning) / 1000,
};
const { download: _, ...others } = parts;
const total = Object.values(others).reduce((sum, each) => sum + each, 0);
const figures: Figures = { seconds: total, parts };
process.stdout.write(`${JSON.stringify(figures)}\n`);

/**
 * Writes the project as `npm create` does. Install scripts are off, because the script of onnxruntime-node downloads
 * CUDA.
 */
function writeProject(): void {
  cpSync(path.join(quickstart, 'src'), path.join(project, 'src'), { recursive: true });
  cpSync(path.join(quickstart, 'quickstart.yaml'), path.join(project, 'quickstart.yaml'));
  const npmrc = path.join(repository, 'apps/create/templates/base/_npmrc');
  cpSync(npmrc, path.join(project, '.npmrc'));
  const ours = packages.filter(({ manifest }) =>
    used.some((name) => manifest.name === `@trinity-rft/${name}`),
  );
  const dependencies = Object.fromEntries(
    ours.map(({ manifest }) => [manifest.name, manifest.version]),
  );
  const manifest = { type: 'module', scripts: { start: 'node src/index.ts' }, dependencies };
  writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest));
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
