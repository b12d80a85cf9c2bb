import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { createProject } from '@trinity-rft/create';
import ts from 'typescript';
import { afterAll, expect, it } from 'vitest';
import { trinity } from './support/trinity.js';

const run = promisify(execFile);
const root = mkdtempSync(path.join(tmpdir(), 'trinity-package-'));
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));

/** Builds the package as its `npm run build` does, but without types. */
function build(folder: string): void {
  mkdirSync(path.join(folder, 'dist'));
  for (const name of ['index', 'reward', 'workflow']) {
    const source = readFileSync(path.join(folder, 'src', `${name}.ts`), 'utf8');
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2023,
        rewriteRelativeImportExtensions: true,
      },
    });
    writeFileSync(path.join(folder, 'dist', `${name}.js`), outputText);
  }
}

it(
  'a package of workflows is packed, installed elsewhere, and trains by its name',
  { tags: ['slow'] },
  async () => {
    const { folder, name } = await createProject({
      template: 'workflow-package',
      folder: 'my-workflows',
      cwd: root,
    });
    build(folder);
    const project = path.join(root, 'project');
    const installed = path.join(project, 'node_modules', name);
    mkdirSync(installed, { recursive: true });
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', root], { cwd: folder });
    const tarball = path.join(root, `${name}-0.1.0.tgz`);
    await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
    for (const file of ['model', 'tasks.jsonl'])
      cpSync(path.join(folder, file), path.join(project, file), { recursive: true });
    const yaml = readFileSync(path.join(folder, 'train.yaml'), 'utf8')
      .replace('total_steps: 20', 'total_steps: 1')
      .replace('batch_size: 16', 'batch_size: 4');

    writeFileSync(path.join(project, 'unnamed.yaml'), yaml);
    const unnamed = await trinity(project, 'config', 'check', 'unnamed.yaml');
    expect([unnamed.exitCode, unnamed.stderr]).toEqual([
      2,
      expect.stringMatching(/got "estimate", but there is no such workflow/),
    ]);

    writeFileSync(path.join(project, 'run.yaml'), `plugins: [${name}]\n${yaml}`);
    const checked = await trinity(folder, 'config', 'check', 'train.yaml', '--plugin', '.');
    expect([checked.exitCode, checked.stderr]).toEqual([0, '']);
    const ended = await trinity(project, 'run', 'run.yaml');
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ended.stdout).toContain('Done after train step 1');
  },
);
