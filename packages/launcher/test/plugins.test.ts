import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { readModuleNames } from '@trinity-rft/config/internal';
import { ConfigError, createRuntime, type Task } from '@trinity-rft/core';
import { Workflow, type WorkflowContext } from '@trinity-rft/workflow';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadExtensions } from '../src/run/configuration.js';
import { loadPlugins } from '../src/plugins/load.js';

/** Folders outside of any `node_modules`, as a user has them. */
const root = mkdtempSync(path.join(tmpdir(), 'trinity-plugins-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;
function folder(files: Readonly<Record<string, string>>): string {
  const directory = path.join(root, String(folders++));
  mkdirSync(directory);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
    writeFileSync(path.join(directory, name), text);
  }
  return directory;
}

const reward = (name: string): string =>
  `import { defineReward } from '@trinity-rft/workflow';\nexport const fn = defineReward({ name: '${name}', score: () => 1 });\n`;

const policyLoss = (name: string): string =>
  `import { definePolicyLoss } from '@trinity-rft/algorithm';\nexport const loss = definePolicyLoss({ name: '${name}', lossMetric: 'loss', token: () => {} });\n`;

const context = {
  task: { taskId: 5, workflowArgs: {} } as unknown as Task,
  runtime: createRuntime(),
} as WorkflowContext;

describe('loadPlugins', () => {
  it('loads workflows written as functions and as classes, with enums and parameter properties, across imports of every spelling', async () => {
    const directory = folder({
      'agent.ts': `
        import { Workflow, defineWorkflow, type WorkflowContext } from '@trinity-rft/workflow';
        import { one } from './parts/one.js';
        import { two } from './parts/two.ts';
        import { Weight } from './weight';
        class Sum extends Workflow {
          static override readonly canRepeat: boolean = true;
          constructor(context: WorkflowContext, private readonly weight: Weight = Weight.Heavy) { super(context); }
          override run(): number { return (one + two) * this.weight + Number(this.task.taskId); }
        }
        export const asClass = defineWorkflow({ name: 'as_class', workflow: Sum });
        export default defineWorkflow({ name: 'as_function', run: ({ task }) => Number(task.taskId) + one });
        export const base = Workflow;
      `,
      'weight.ts': 'export enum Weight { Light, Heavy = 10 }\n',
      'parts/one.ts':
        'namespace Inner { export const value = 1; }\nexport const one: number = Inner.value;\n',
      'parts/two.ts': "import { one } from './one';\nexport const two = one + one;\n",
    });
    const { workflows } = await loadPlugins({ pluginDirs: [directory] });
    expect(workflows.map(({ name, canRepeat }) => [name, canRepeat])).toEqual(
      expect.arrayContaining([
        ['as_class', true],
        ['as_function', false],
      ]),
    );
    const results = Object.fromEntries(
      await Promise.all(
        workflows.map(async (workflow) => [workflow.name, await workflow.create(context).run()]),
      ),
    );
    expect(results).toEqual({ as_class: 35, as_function: 6 });
  });

  it("gives plugins this program's own copies of the packages, so that classes and errors are the same", async () => {
    const directory = folder({
      'same.ts': `
        import { ConfigError } from '@trinity-rft/core';
        import { Workflow, defineWorkflow } from '@trinity-rft/workflow';
        export const same = defineWorkflow({ name: 'same', run: () => { throw Object.assign(new ConfigError('no'), { Workflow }); } });
      `,
    });
    const { workflows } = await loadPlugins({ pluginDirs: [directory] });
    const error = await Promise.resolve()
      .then(() => workflows[0]!.create(context).run())
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toHaveProperty('Workflow', Workflow);
  });

  it('lets plugins import npm packages that lie beside them, and JavaScript modules with top-level await', async () => {
    const directory = folder({
      'node_modules/scale/package.json':
        '{ "name": "scale", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
      'node_modules/scale/index.js': 'export const scale = 3;\n',
      'a.ts':
        "import { scale } from 'scale';\nimport { defineReward } from '@trinity-rft/workflow';\nexport const a = defineReward({ name: 'a', score: () => scale });\n",
      'b.mjs':
        "const { defineReward } = await import('@trinity-rft/workflow');\nexport const b = defineReward({ name: 'b', score: () => 2 });\n",
    });
    const { rewardFns } = await loadPlugins({ pluginDirs: [directory] });
    const task = { response: '', truth: '', prompt: '', rawTask: {} };
    expect(
      await Promise.all(rewardFns.map(async ({ name, create }) => [name, await create({})(task)])),
    ).toEqual([
      ['a', 3],
      ['b', 2],
    ]);
  });

  it('collects algorithms and their parts, which extend the built-in ones', async () => {
    const directory = folder({
      'mine.ts': `
        import { byGroup, defineAdvantage, defineAlgorithm, defineOperator, definePolicyLoss } from '@trinity-rft/algorithm';
        export const best = defineAdvantage({ name: 'best', create: () => byGroup(({ rewards }) => ({ scores: rewards, metrics: {} })) });
        const loss = definePolicyLoss({ name: 'flat', lossMetric: 'flat', token: () => {} });
        export const mine = defineAlgorithm({ name: 'mine', advantageFn: best, policyLossFn: loss });
        export const keep = defineOperator({ name: 'keep', create: () => (experiences) => ({ experiences, metrics: {} }) });
      `,
    });
    const { algorithms } = await loadExtensions({ pluginDirs: [directory] });
    const plugins = await loadPlugins({ pluginDirs: [directory] });
    expect(plugins.algorithms.map(({ kind, name }) => [kind, name])).toEqual([
      ['trinity-rft.algorithm', 'mine'],
      ['trinity-rft.advantage', 'best'],
      ['trinity-rft.operator', 'keep'],
    ]);
    expect(algorithms.presets['mine']).toMatchObject({
      advantageFn: { name: 'best' },
      policyLossFn: { name: 'flat' },
    });
    expect(Object.keys(algorithms.policyLossFns)).toContain('flat');
    const { algorithms: builtIn } = await loadExtensions({});
    expect(Object.keys(builtIn.presets)).not.toContain('mine');
  });

  it('takes a definition that several modules export, and a directory that is named twice, once', async () => {
    const directory = folder({
      'a.ts': reward('shared'),
      'b.ts': "export * from './a.js';\n",
      'index.ts': "export { fn as again } from './a.js';\n",
    });
    const { rewardFns } = await loadPlugins({ pluginDirs: [directory, path.join(directory, '.')] });
    expect(rewardFns.map(({ name }) => name)).toEqual(['shared']);
  });

  it('leaves tests, declarations and names with a leading underscore or dot alone', async () => {
    const bad = 'throw new Error("loaded");\n';
    const directory = folder({
      'good.ts': reward('good'),
      '_draft.ts': bad,
      '.hidden.ts': bad,
      'a.test.ts': bad,
      'a.spec.js': bad,
      'a.d.ts': bad,
      'notes.md': bad,
      'deep/a.ts': bad,
    });
    const { rewardFns } = await loadPlugins({ pluginDirs: [directory] });
    expect(rewardFns.map(({ name }) => name)).toEqual(['good']);
  });
});

/**
 * A package of workflows as npm installs it: compiled, with our packages as its own dependencies.
 */
const workflowPackage = (name: string): Readonly<Record<string, string>> => ({
  'package.json': JSON.stringify({ name, type: 'module', exports: { '.': './dist/index.js' } }),
  'dist/index.js': `export * from './parts.js';\n`,
  'dist/parts.js': `import { defineReward } from '@trinity-rft/workflow/reward';
    import { defineWorkflow } from '@trinity-rft/workflow';
    export const polite = defineWorkflow({ name: '${name}/polite', run: () => 1 });
    export const short = defineReward({ name: '${name}/short', score: () => 1 });\n`,
});

const under = (
  directory: string,
  files: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(files).map(([file, text]) => [path.join(directory, file), text]),
  );

describe('loadPlugins of packages', () => {
  const project = folder({
    ...under('node_modules/polite-agents', workflowPackage('polite-agents')),
    ...under('node_modules/@me/agents', workflowPackage('@me/agents')),
    ...under('local', workflowPackage('local')),
    'own.ts': reward('own'),
    'folder/a.ts': reward('in_folder'),
    'sub/run.yaml': 'plugins: [polite-agents, "${oc.env:AGENTS}"]\n',
  });

  it.each([
    ['polite-agents', ['polite-agents/polite']],
    ['@me/agents', ['@me/agents/polite']],
    ['./node_modules/polite-agents', ['polite-agents/polite']],
    ['local', ['local/polite']],
    ['own.ts', []],
    ['./folder', []],
  ])('takes %s', async (plugin, expected) => {
    const { workflows, rewardFns } = await loadPlugins({ plugins: [plugin], cwd: project });
    expect(workflows.map(({ name }) => name)).toEqual(expected);
    expect(rewardFns).toHaveLength(1);
  });

  it('takes the plugins that a configuration names, from the packages of its project', async () => {
    const { plugins } = await readModuleNames('sub/run.yaml', {
      cwd: project,
      env: { AGENTS: '@me/agents' },
    });
    const names = plugins.map(({ name }) => name);
    expect(names).toEqual(['polite-agents', '@me/agents']);
    const { workflows } = await loadPlugins({ plugins: names, cwd: root }, [
      path.join(project, 'sub'),
    ]);
    expect(workflows).toHaveLength(2);
  });

  it('takes plugins under names with defaults of the file', async () => {
    const named = folder({ 'run.yaml': 'plugins: ["./plug${group}"]\n' });
    const { plugins } = await readModuleNames('run.yaml', { cwd: named, env: {} });
    expect(plugins.map(({ name }) => name)).toEqual(['./plug']);
  });

  it('takes scorers that a configuration names, in every place of a reward function', async () => {
    const evals = folder({
      'my.eval.ts': `export const Factuality = ({ output, expected }: { output: string; expected: string }) =>
          ({ name: 'Factuality', score: output === expected ? 1 : 0, metadata: { rationale: 'compared' } });
        export const nothing = 1;`,
      'run.yaml': `buffer:
  explorer_input:
    default_reward_fn_type: ./my.eval.ts#Factuality
    tasksets: [{ path: tasks.jsonl, default_reward_fn_type: my.eval.ts#nothing }, { default_reward_fn: math_reward }]
`,
    });
    const { scorers } = await readModuleNames('run.yaml', { cwd: evals, env: {} });
    expect(scorers.map(({ name }) => name)).toEqual([
      './my.eval.ts#Factuality',
      'my.eval.ts#nothing',
    ]);
    const { rewardFns, files } = await loadPlugins({
      scorers: ['./my.eval.ts#Factuality'],
      cwd: evals,
    });
    expect(files).toEqual([path.join(evals, 'my.eval.ts')]);
    expect(rewardFns[0]?.name).toBe('./my.eval.ts#Factuality');
    const answer = { response: '4', truth: '4', prompt: '', rawTask: {} };
    expect(await rewardFns[0]?.create({})(answer)).toEqual({
      parts: { Factuality: 1 },
      reasons: { Factuality: 'compared' },
    });
    const refused = (scorer: string) => loadPlugins({ scorers: [scorer], cwd: evals });
    await expect(refused('my.eval.ts#nothing')).rejects.toThrow('exports Factuality, nothing');
    await expect(refused('your.eval.ts#x')).rejects.toThrow('there is no ');
  });

  it('lets them import the other packages of ours too', async () => {
    const directory = folder({
      'a.ts': `import { chatTemplates } from '@trinity-rft/chat';
        import { defineReward } from '@trinity-rft/workflow/reward';
        export const a = defineReward({ name: 'a', score: () => Object.keys(chatTemplates).length });`,
    });
    const { rewardFns } = await loadPlugins({ pluginDirs: [directory] });
    const task = { response: '', truth: '', prompt: '', rawTask: {} };
    expect(await rewardFns[0]?.create({})(task)).toBeGreaterThan(0);
  });

  it.each([
    [
      'polite-agent',
      /^There is no plugin "polite-agent": .*polite-agent does not exist, and no package of this name .* is installed in .*\. Install it there \(npm install polite-agent\), or check the path\.$/,
    ],
    [
      './gone',
      /^There is no plugin .*gone\. Relative paths start at the working directory, .*\. Name a directory, a module or an npm package\.$/,
    ],
  ])('says that there is no %s', async (plugin, message) => {
    await expect(loadPlugins({ plugins: [plugin], cwd: project })).rejects.toThrow(message);
  });
});

describe('loadPlugins, told of mistakes,', () => {
  const failures: readonly (readonly [what: string, directory: () => string, message: RegExp])[] = [
    [
      'a directory that is missing',
      () => path.join(root, 'none'),
      /^Plugin directory .*none cannot be read\. Give --plugin-dir a directory that exists, and --plugin a package\.$/,
    ],
    [
      'a syntax error',
      () => folder({ 'broken.ts': 'export const a = ;\n' }),
      /^Plugin .*broken\.ts cannot be loaded: .*Unexpected token.*1:17/s,
    ],
    [
      'a module that throws',
      () => folder({ 'angry.ts': "throw new TypeError('no key');\n" }),
      /^Plugin .*angry\.ts cannot be loaded: no key$/,
    ],
    [
      'a module that is missing',
      () => folder({ 'a.ts': "import './gone.js';\n" }),
      /^Plugin .*a\.ts cannot be loaded: Cannot find module '\.\/gone\.js'(?!.*If it is a package)/s,
    ],
    [
      'a package that is missing',
      () =>
        folder({ 'a.ts': "import './_b.js';\n", '_b.ts': "import '@not/installed-here/deep';\n" }),
      /^Plugin .*a\.ts cannot be loaded: Cannot find (?:module|package) '@not\/installed-here.*b\.ts.*\nIf it is a package, install it/s,
    ],
    [
      'a directory without modules',
      () => folder({ 'notes.md': 'none', 'deep/a.ts': reward('deep') }),
      /^Plugin directory .* has no module at its top level\. Export what defineWorkflow, defineReward, defineEnvironment, defineTaskOperator or defineAlgorithm returns\.$/,
    ],
    [
      'modules that define nothing',
      () => folder({ 'a.ts': 'export class Mine {}\nexport const other = 1;\n' }),
      /^Plugin directory .* exports Mine, other, and none of it is a workflow, a reward function, an environment, a task operator or an algorithm\. Export /,
    ],
    [
      'where an export lies that another package has',
      () => folder({ 'a.ts': reward('x').replace('workflow', 'core') }),
      /a\.ts cannot be loaded: @trinity-rft\/core exports no "defineReward"\. Import it from @trinity-rft\/workflow, which exports it\.$/,
    ],
    [
      'what an export may be called',
      () => folder({ 'a.ts': reward('x').replaceAll('defineReward', 'defineRewards') }),
      /a\.ts cannot be loaded: @trinity-rft\/workflow exports no "defineRewards"\. Did you mean "defineReward"\?$/,
    ],
    [
      'two reward functions of one name',
      () => folder({ 'a.ts': reward('twin'), 'b.ts': reward('twin') }),
      /^Two plugins define a reward function named "twin": .*a\.ts and .*b\.ts\. Give one of them another name\.$/,
    ],
    [
      'two policy losses of one name',
      () => folder({ 'a.ts': policyLoss('twin'), 'b.ts': policyLoss('twin') }),
      /^Two plugins define a policy loss named "twin": .*a\.ts and .*b\.ts\. Give one of them another name\.$/,
    ],
    [
      'a name that YAML cannot hold',
      () => folder({ 'a.ts': reward('two words') }),
      /^Plugin .*a\.ts cannot be loaded: Reward function name "two words" is invalid/,
    ],
  ];
  it.each(failures)('names %s', async (_what, directory, message) => {
    const error: unknown = await loadPlugins({ pluginDirs: [directory()] }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).message).toMatch(message);
  });

  it('names an algorithm that is built in', async () => {
    const directory = folder({ 'a.ts': policyLoss('ppo') });
    await expect(loadExtensions({ pluginDirs: [directory] })).rejects.toThrow(
      `The policy loss "ppo" already exists. Give yours another name. It is defined in ${path.join(directory, 'a.ts')}.`,
    );
  });

  it('names the file of a reward function that is built in', async () => {
    const directory = folder({ 'a.ts': reward('mine'), 'b.ts': reward('math_reward') });
    await expect(loadExtensions({ pluginDirs: [directory] })).rejects.toThrow(
      `Choose another name. It is defined in ${path.join(directory, 'b.ts')}.`,
    );
  });

  it('names the one file that defines a name twice', async () => {
    const twice = reward('x') + reward('x').split('\n')[1]!.replace('fn', 'other');
    const directory = folder({ 'a.ts': twice });
    await expect(loadPlugins({ pluginDirs: [directory] })).rejects.toThrow(
      `${path.join(directory, 'a.ts')} defines a reward function named "x" twice. Give`,
    );
  });

  it.each([
    [{ name: 'mine', exports: './dist/index.js' }, '"./dist/index.js"'],
    [{ name: 'mine', main: 'lib/index' }, '"lib/index"'],
  ])('names the entry of a package that is not built: %j', async (manifest, entry) => {
    const directory = folder({
      'package.json': JSON.stringify(manifest),
      'a.config.ts': "import 'a-bundler';",
    });
    await expect(loadPlugins({ plugins: [directory] })).rejects.toThrow(
      `Plugin ${directory}: the entry in its package.json, ${entry}, does not exist. If it is the result of a build, build the package (npm run build).`,
    );
  });

  it.each([
    [{ main: 'lib/index' }, 'lib/index.js'],
    [{ main: 'src/index' }, 'src/index.ts'],
    [{ main: 'lib' }, 'lib/index.ts'],
    [{ main: 'index.js' }, 'a.ts'],
    [{ main: './index.js' }, 'index.ts'],
    [{ name: 'mine', exports: { './sub': './w.ts' } }, 'w.ts'],
    [{ name: 'mine', exports: './dist/index.js' }, 'a.ts'],
    [{ main: 'dist/index.js' }, 'a.ts'],
  ])('loads a package with %j from %s', async (manifest, file) => {
    const text = JSON.stringify({ ...manifest, type: 'module' });
    const directory = folder({ 'package.json': text, [file]: reward('in_file') });
    const { rewardFns } = await loadPlugins({ plugins: [directory] });
    expect(rewardFns.map(({ name }) => name)).toEqual(['in_file']);
  });

  it('loads many scorers without a warning of Node', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    const directory = folder({ 'a.ts': 'export const half = () => ({ score: 0.5 });' });
    const numbers = Array.from({ length: 12 }, (_, i) => String(i));
    for (const i of numbers)
      writeFileSync(path.join(directory, `${i}.ts`), `export { half } from './a.ts';`);
    const scorers = numbers.map((i) => `${i}.ts#half`);
    const { rewardFns } = await loadPlugins({ scorers, cwd: directory });
    expect(rewardFns.map(({ name }) => name)).toEqual(scorers);
    expect(warned).not.toHaveBeenCalled();
  });

  it('names a module that is still loading, and one that never ends to load', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    const before = process.listenerCount('beforeExit');
    const directory = folder({ 'a.mjs': `await new Promise(() => {});\n${reward('x')}` });
    const loading = loadPlugins({ pluginDirs: [directory] });
    const failed = loading.catch(String);
    while (process.listenerCount('beforeExit') === before) await setImmediate();
    vi.advanceTimersByTime(5000);
    expect(warned).toHaveBeenCalledWith(
      `Plugin ${path.join(directory, 'a.mjs')} is still loading.`,
    );
    // As Node does when nothing is left to do.
    process.listeners('beforeExit').at(-1)!(0);
    expect(await failed).toContain(
      `Plugin ${path.join(directory, 'a.mjs')} cannot be loaded: a top-level await of it never settles`,
    );
  });
});
