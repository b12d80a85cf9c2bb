import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProject } from './create-project.js';
import { packageManagerOf } from './next-steps.js';
import { templates } from './templates.js';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const root = path.join(import.meta.dirname, '../../..');
const names = templates.map(({ name }) => name);
let cwd = '';

beforeEach(async () => void (cwd = await mkdtemp(path.join(tmpdir(), 'trinity-create-'))));
afterEach(() => rm(cwd, { recursive: true }));

const readManifest = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as Manifest;

describe('createProject', () => {
  it('writes what npm leaves out of packages, and names the project after its folder', async () => {
    const project = await createProject({ folder: 'sub/My Agent', cwd, env: {} });
    expect(project).toMatchObject({ template: 'openai', name: 'my-agent' });
    expect(project.folder).toBe(path.join(cwd, 'sub/My Agent'));
    expect(project.next).toEqual(['cd "sub/My Agent"', 'npm install', 'npm run train']);
    expect(project.files).toEqual(
      expect.arrayContaining(['.gitignore', '.npmrc', 'pnpm-workspace.yaml', 'agent/agent.ts']),
    );
    expect(project.files.filter((file) => /(^|\/)_/.test(file))).toEqual([]);
    expect(await readFile(path.join(project.folder, '.npmrc'), 'utf8')).toContain(
      'ignore-scripts=true',
    );
  });

  it.for(names)('takes the versions of %s from this repository', async (template) => {
    const { folder } = await createProject({ template, folder: template, cwd });
    const manifest = await readManifest(folder);
    const own = await readManifest(path.join(root, 'apps/create'));
    const catalog = await readFile(path.join(root, 'pnpm-workspace.yaml'), 'utf8');
    const ranges = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    const expected = ranges.map(([name]) => {
      const wanted = new RegExp(`^  '?${name}'?: (.*)$`, 'm').exec(catalog)?.[1];
      return [name, name.startsWith('@trinity-rft/') ? `^${own.version}` : wanted];
    });
    const exact = (range: string | undefined): string | undefined => range?.replace('^', '');
    expect(ranges.map(([name, range]) => [name, exact(range)])).toEqual(
      expected.map(([name, range]) => [name, exact(range)]),
    );
    expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(['train', 'typecheck']));
  });

  it('gives each template the tasks that it reads, and no others', async () => {
    for (const template of names) {
      const { files } = await createProject({ template, folder: `tasks-${template}`, cwd });
      expect(files.includes('tasks.jsonl')).toBe(template !== 'environment-package');
    }
  });

  it('refuses a folder with files in it, but not one that git has made', async () => {
    await mkdir(path.join(cwd, 'new/.git'), { recursive: true });
    await createProject({ folder: 'new', cwd });
    await expect(createProject({ folder: 'new', cwd })).rejects.toThrow(
      /new is not empty \(it holds .*Choose a folder that does not exist/,
    );
  });

  it('refuses a template that does not exist, and a name that npm does not take', async () => {
    await expect(createProject({ template: 'crewai', folder: 'a', cwd })).rejects.toThrow(
      `There is no template "crewai". The templates are ${names.join(', ')}.`,
    );
    await expect(createProject({ folder: '.hidden', cwd })).rejects.toThrow(
      '".hidden" cannot be the name of a package',
    );
  });

  it('replaces nothing when a file is in the way', async () => {
    await writeFile(path.join(cwd, 'file'), 'mine');
    await expect(createProject({ folder: 'file', cwd })).rejects.toThrow(
      'file is a file. Choose a folder that does not exist.',
    );
    await expect(createProject({ folder: 'file/in', cwd })).rejects.toThrow(
      /file.in cannot be written: ENOTDIR.* Name a folder that this process may write\.$/,
    );
    expect(await readFile(path.join(cwd, 'file'), 'utf8')).toBe('mine');
  });
});

describe('packageManagerOf', () => {
  it('is the one that started the process, else npm', () => {
    const pnpm = { npm_config_user_agent: 'pnpm/11.28.11 npm/? node/v24.21.0 linux x64' };
    expect(packageManagerOf(pnpm)).toBe('pnpm');
    expect(packageManagerOf({})).toBe('npm');
  });
});
