/** Checks the requirements that the parts of a stage declare; see {@link Needs} of core. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import type { StageConfig } from '@trinity-rft/config';
import { ConfigError, describeError, type Needs, type PythonNeeds } from '@trinity-rft/core';
import { isHttpUrl, shownVariable } from '@trinity-rft/core/support';
import { serviceNeeds } from '@trinity-rft/monitor';
import type { Environment } from '@trinity-rft/buffer/internal';
import { tinkerEngine } from '../outer/outer.js';
import type { TaskParts } from '../context/stage-context.js';
import { variablesOf } from './environment.js';
import { tasksetsOf } from './data/tasks.js';

export interface NeedsContext {
  readonly stage: StageConfig;
  readonly extensions: TaskParts;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

export interface UnmetNeed {
  readonly key: readonly (string | number)[];
  readonly message: string;
}

/**
 * Returns the requirements that are not met, each with the configuration key of the part that
 * declares it.
 */
export async function unmetNeeds(context: NeedsContext): Promise<readonly UnmetNeed[]> {
  const { stage, signal } = context;
  const env = variablesOf(stage, context.env);
  const unmet: UnmetNeed[] = [];
  const seen = new Set<string>();
  for (const { key, owner, needs } of declared({ ...context, env })) {
    const asked = JSON.stringify([owner, needs]);
    if (seen.has(asked)) continue;
    seen.add(asked);
    const messages = [
      ...missingVariables(needs, env),
      ...missingPackages(needs),
      ...(needs.python ? await missingModules(needs.python, signal) : []),
    ];
    unmet.push(...messages.map((message) => ({ key, message: `${owner} needs ${message}` })));
  }
  return unmet;
}

/**
 * Checks the requirements of a stage.
 * @throws ConfigError that lists all requirements that are not met
 */
export async function assertNeeds(context: NeedsContext): Promise<void> {
  const unmet = await unmetNeeds(context);
  if (unmet.length === 0) return;
  throw new ConfigError(
    unmet.map(({ key, message }) => `${key.join('.')}: ${message}`).join('\n'),
    { code: 'NEEDS_UNMET' },
  );
}

interface Declared {
  readonly key: UnmetNeed['key'];
  readonly owner: string;
  readonly needs: Needs;
}

function* declared({ stage, extensions, env }: NeedsContext): Generator<Declared> {
  for (const { taskset, place } of tasksetsOf(stage)) {
    const { workflow = '', workflowArgs, rewardFn = '' } = taskset;
    const { byArgs, ...fixed } = extensions.workflows.find(workflow)?.needs ?? {};
    const key = [...place, 'default_workflow_type'];
    yield { key, owner: workflow, needs: fixed };
    if (byArgs) yield { key, owner: workflow, needs: byArgs(workflowArgs) };
    const ofReward = extensions.rewardFns.find(rewardFn)?.needs;
    if (ofReward)
      yield { key: [...place, 'default_reward_fn_type'], owner: rewardFn, needs: ofReward };
  }
  yield* ofModels(stage, env);
  const { sinks, args } = stage.monitor;
  for (const sink of stage.part === 'explore' ? [] : sinks)
    if (sink !== 'tensorboard')
      yield {
        key: ['monitor', 'monitor_type'],
        owner: sink,
        needs: serviceNeeds(sink, args[sink] ?? {}),
      };
}

function* ofModels(
  { engine, model, external }: StageConfig,
  env: Environment,
): Generator<Declared> {
  if (engine === tinkerEngine.name && model.tinker.baseUrl === undefined)
    yield {
      key: ['model', 'tinker', 'base_url'],
      owner: 'hosted Tinker',
      needs: { env: env['TINKER_BASE_URL'] ? [] : ['TINKER_API_KEY'] },
    };
  if (external && external.baseUrl === undefined)
    yield {
      key: ['explorer', 'rollout_model', 'base_url'],
      owner: `the model ${external.name} behind an API`,
      needs: { urls: [external.baseUrlEnv] },
    };
}

const missingVariables = (
  { env: names = [], urls = [] }: Needs,
  env: Environment,
): readonly string[] =>
  [...urls, ...names]
    .filter((name) => !env[name] || (urls.includes(name) && !isHttpUrl(env[name])))
    .map(
      (name) =>
        `the environment variable ${shownVariable(name)}, which is not ${env[name] ? 'a URL such as https://api.openai.com/v1' : 'set'}. Set it, or choose another.`,
    );

/**
 * Files relative to which packages are resolved: `package.json` of the package `environment` and of
 * the user's project.
 */
const importers = (): readonly string[] => [
  createRequire(import.meta.url).resolve('@trinity-rft/environment/package.json'),
  path.resolve('package.json'),
];

const missingPackages = ({ packages = [] }: Needs): readonly string[] =>
  packages
    .filter((name) => !importers().some((from) => isInstalled(name, from)))
    .map((name) => `the package ${name}, which is not installed. Install it: npm install ${name}.`);

function isInstalled(name: string, from: string): boolean {
  const { resolve } = createRequire(from);
  try {
    resolve(name);
    return true;
  } catch (error) {
    // An installed package that supports only `import` fails with another code. One whose main
    // entry names a file that it does not ship, such as the SDK of MCP, has a manifest.
    return (
      (error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND' ||
      (resolve.paths(name) ?? []).some((folder) =>
        existsSync(path.join(folder, name, 'package.json')),
      )
    );
  }
}

/** Python program that prints the modules that cannot be found, without executing their code. */
const finder = `import importlib.util, json, sys
path, *names = sys.argv[1:]
sys.path.insert(0, path)
print(json.dumps([name for name in names if importlib.util.find_spec(name.split(".")[0]) is None]))`;

const python = promisify(execFile);
const pythonMs = 60_000;

async function missingModules(
  { program = 'python3', modules, path: folder }: PythonNeeds,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const listed = modules.join(', ');
  const where =
    folder === undefined
      ? `${program} does not have`
      : `neither ${program} nor the folder ${folder} has`;
  try {
    const options = { signal, timeout: pythonMs };
    const { stdout } = await python(program, ['-c', finder, folder ?? '.', ...modules], options);
    return (JSON.parse(stdout) as readonly string[]).map(
      (name) =>
        `the Python module ${name}, which ${where}. Install it with pip for that Python, or correct environment_args.python or environment_args.path.`,
    );
  } catch (error) {
    signal.throwIfAborted();
    return [
      `the Python module ${listed}, and ${program} cannot be started: ${describeError(error)}. Install Python 3, or name a Python in environment_args.python.`,
    ];
  }
}
