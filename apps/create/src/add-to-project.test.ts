import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { addToProject } from './add-to-project.js';
import { isWorkspaceMember } from './workspace-patterns.js';

let cwd = '';
beforeEach(async () => void (cwd = await mkdtemp(path.join(tmpdir(), 'trinity-add-'))));
afterEach(() => rm(cwd, { recursive: true }));

const env = (agent: string) => ({ npm_config_user_agent: agent });
const npm10 = env('npm/10.9.2 node/v22.13.1 linux x64 workspaces/false');
const npm11 = env('npm/11.19.1 node/v24.21.0 linux x64 workspaces/false');
const pnpm = env('pnpm/11.28.11 npm/? node/v24.21.0 linux x64');
const write = async (file: string, text: string): Promise<void> => {
  await mkdir(path.dirname(path.join(cwd, file)), { recursive: true });
  await writeFile(path.join(cwd, file), text);
};
const read = (file: string): Promise<string> => readFile(path.join(cwd, file), 'utf8');
const json = async (file: string) => JSON.parse(await read(file)) as Record<string, unknown>;

const own = {
  name: 'mine',
  scripts: { prepare: 'husky' },
  dependencies: { ai: '^5.0.0' },
  type: 'commonjs',
};

it('keeps the line ends of a package.json', async () => {
  await write('package.json', `${JSON.stringify(own, undefined, 2)}\n`.replaceAll('\n', '\r\n'));
  await addToProject({ cwd, env: npm11 });
  const lines = (await read('package.json')).split('\n').slice(0, -1);
  expect(lines.filter((line) => !line.endsWith('\r'))).toEqual([]);
  expect(lines.length).toBeGreaterThan(5);
});

it('adds to a project without replacing anything', async () => {
  await write('package.json', JSON.stringify(own, undefined, 4));
  const added = await addToProject({ cwd, env: npm11 });
  expect(added).toMatchObject({
    template: 'ai-sdk',
    kept: [expect.stringMatching(/^ai is \^5\.0\.0; the template has \^7/)],
    next: [
      'npm install',
      'cd trinity',
      'npx trinity config check train.yaml',
      'npx trinity run train.yaml',
    ],
  });
  expect(added.files).toEqual(
    expect.arrayContaining(['package.json', 'trinity/train.yaml', 'trinity/plugins/workflow.ts']),
  );
  expect(added.files).not.toContain('.npmrc');
  expect(added.files).toContain('trinity/SKILL.md');
  expect((await read('trinity/.gitignore')).split('\n')).toEqual(
    expect.arrayContaining(['runs/', '/exported/', '/out/', '/eval/']),
  );
  expect(added.files).not.toContain('trinity/.npmrc');
  expect(added.files.filter((file) => file.includes('.github'))).toEqual([]);
  const manifest = await json('package.json');
  expect(Object.keys(manifest)).toEqual([...Object.keys(own), 'allowScripts']);
  expect(manifest).toMatchObject({
    ...own,
    dependencies: {
      ai: '^5.0.0',
      '@trinity-rft/runner': expect.stringMatching(/^\^\d/) as string,
    },
    allowScripts: { 'onnxruntime-node': false, protobufjs: false },
  });
  expect(await read('package.json')).toMatch(/^ {4}"name"/m);
  await expect(addToProject({ cwd, env: npm11 })).rejects.toThrow('trinity is not empty');
});

it.each([
  ['{ "compilerOptions": { "outDir": "dist" } } // no files', 1],
  ['{ "include": ["next-env.d.ts", "**/*.ts"], "exclude": ["node_modules"] }', 1],
  ['{ "exclude": ["trinity"] }', 0],
])('says what a project with the tsconfig.json %s must exclude', async (text, notes) => {
  await write('package.json', '{}');
  await write('tsconfig.json', text);
  const { next } = await addToProject({ cwd, env: npm11 });
  expect(next.filter((line) => line.startsWith('# if tsconfig.json'))).toHaveLength(notes);
});

it('writes the setting of each package manager, next to those that are there', async () => {
  await write('package.json', '{}');
  const { next: old } = await addToProject({ cwd, env: npm10 });
  expect(old[0]).toBe(
    process.platform === 'linux' ? 'ONNXRUNTIME_NODE_INSTALL=skip npm install' : 'npm install',
  );
  await write('pnpm-workspace.yaml', '# ours\nallowBuilds: { esbuild: true, protobufjs: true }\n');
  const { files, next } = await addToProject({ cwd, folder: 'my rl', env: pnpm });
  expect(await read('pnpm-workspace.yaml')).toBe(
    '# ours\nallowBuilds: { esbuild: true, protobufjs: true, onnxruntime-node: false }\n',
  );
  expect(files).toContain('pnpm-workspace.yaml');
  expect(next.slice(0, 3)).toEqual([
    'pnpm install',
    'cd "my rl"',
    'pnpm exec trinity config check train.yaml',
  ]);
});

it('writes the settings of a workspace at its root', async () => {
  await write('package.json', JSON.stringify({ workspaces: ['apps/*'] }));
  await write('pnpm-workspace.yaml', 'packages: [apps/*]\n');
  await write('apps/one/package.json', JSON.stringify({ dependencies: { '@mastra/core': '1' } }));
  const added = await addToProject({ cwd: path.join(cwd, 'apps/one'), env: npm10 });
  expect(added.template).toBe('mastra');
  expect(await json('package.json')).toHaveProperty(['allowScripts', 'onnxruntime-node'], false);
  expect(await json('apps/one/package.json')).not.toHaveProperty('allowScripts');
  expect(await read('pnpm-workspace.yaml')).toContain('onnxruntime-node: false');
});

it('leaves a workspace alone that does not contain the project', async () => {
  const [manifest, settings] = [JSON.stringify({ workspaces: ['apps/*'] }), 'packages: [apps/*]\n'];
  await write('package.json', manifest);
  await write('pnpm-workspace.yaml', settings);
  await write('scratch/p/package.json', '{}');
  const { files } = await addToProject({ cwd: path.join(cwd, 'scratch/p'), env: pnpm });
  expect([await read('package.json'), await read('pnpm-workspace.yaml')]).toEqual([
    manifest,
    settings,
  ]);
  expect(files).toEqual(expect.arrayContaining(['package.json', 'pnpm-workspace.yaml']));
  expect(await json('scratch/p/package.json')).toHaveProperty('allowScripts');
});

it.each<[string[], string, boolean]>([
  [['apps/*'], 'apps/one', true],
  [['apps/*'], 'apps/one/deep', false],
  [['./apps/**/'], 'apps/one/deep', true],
  [['apps/**'], 'apps', true],
  [['{apps,packages}/a?'], 'packages/ab', true],
  [['**', '!**/test/**'], 'apps/test/one', false],
  [['a.b'], 'aXb', false],
  [['@(apps|libs)/*'], 'libs/one', true],
  [['[ab]*'], 'apps', true],
  [['!(x)'], 'apps', true],
  [['packages/{a'], 'packages/a', true],
  [['packages/a}'], 'packages/a', true],
  [['*', '![b]*', '!{b'], 'apps', true],
  [[], 'apps', false],
  [[], '', true],
])('with the patterns %j, %j belongs to a workspace: %s', (patterns, folder, expected) => {
  expect(isWorkspaceMember(folder, patterns)).toBe(expected);
});

it('finds the root of a workspace from a relative folder', async () => {
  await write('package.json', JSON.stringify({ workspaces: ['apps/*'] }));
  await write('apps/one/package.json', '{}');
  const before = process.cwd();
  process.chdir(path.join(cwd, 'apps'));
  onTestFinished(() => process.chdir(before));
  const { files } = await addToProject({ cwd: 'one', env: npm11 });
  expect(files).toContain('../../package.json');
  expect(await json('apps/one/package.json')).not.toHaveProperty('allowScripts');
});

it('ignores manifests of parent folders that cannot be read', async () => {
  for (const broken of ['', '[]']) {
    await write('package.json', broken);
    await write('mine/package.json', '{}');
    const { files } = await addToProject({ cwd: path.join(cwd, 'mine'), env: npm11 });
    expect(files).toContain('package.json');
    expect(await read('package.json')).toBe(broken);
    await rm(path.join(cwd, 'mine'), { recursive: true });
  }
});

it.each([
  ['pnpm-workspace.yaml', 'packages: [', undefined],
  ['pnpm-workspace.yaml', 'packages: [mine]\nallowBuilds: true', undefined],
  ['mine/pnpm-workspace.yaml', '- packages', undefined],
  ['mine/package.json', '{"name": ', 'openai'],
])('writes nothing where %s is %s', async (file, text, template) => {
  await write('mine/package.json', '{}');
  await write(file, text);
  const before = [await read('mine/package.json'), await readdir(path.join(cwd, 'mine'))];
  const add = () => addToProject({ cwd: path.join(cwd, 'mine'), template, env: npm11 });
  for (const _ of ['first', 'again'])
    await expect(add()).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringContaining(`${path.join(cwd, file)} `) as string,
    });
  expect([await read('mine/package.json'), await readdir(path.join(cwd, 'mine'))]).toEqual(before);
  await write(file, file.endsWith('.json') ? '{}' : 'packages: [mine]\nallowBuilds:\n');
  await add();
  expect(await read(file)).toContain('onnxruntime-node');
});

it('refuses what it cannot add to', async () => {
  await expect(addToProject({ cwd })).rejects.toThrow(/no package\.json in .*--add/);
  await write('package.json', '{"name": ');
  await expect(addToProject({ cwd })).rejects.toThrow(/package\.json is not JSON/);
  await write('package.json', '[]');
  await expect(addToProject({ cwd })).rejects.toThrow('holds no JSON object');
  await write('package.json', '{}');
  await expect(addToProject({ cwd, template: 'workflow-package' })).rejects.toThrow(
    'is a package of its own',
  );
});
