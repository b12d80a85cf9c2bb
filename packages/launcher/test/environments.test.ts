/** Environments that a configuration names, and the tasks that they generate. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { planConfig, renderPlan } from '@trinity-rft/config';
import { ConfigError, EnvironmentError, TaskError } from '@trinity-rft/core';
import type { EngineFactory } from '@trinity-rft/core/engine';
import {
  defineEnvironment,
  nativeEnvironment,
  type EnvironmentDefinition,
} from '@trinity-rft/environment';
import { fakeEngine } from '@trinity-rft/testing';
import { defineWorkflow, type WorkflowDefinition } from '@trinity-rft/workflow';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createModel } from '../src/create-model.js';
import { checkFiles } from '../src/run/check-files.js';
import { readConfiguration } from '../src/run/configuration.js';
import { run } from '../src/run/run.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-environments-'));
const runFolder = path.join(root, 'runs', 'Trinity-RFT', 'dice');
afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeAll(async () => {
  const tokenizer = { characters: '0123456789+=\n' };
  await createModel({ directory: path.join(root, 'model'), tokenizer, seed: 1 });
});

const bigrams: EngineFactory = {
  name: 'bigrams',
  capabilities: fakeEngine().capabilities,
  open: async ({ tokenBytes = [], maxModelLen }) =>
    fakeEngine({ vocabSize: tokenBytes.length, maxModelLen }),
};

const seeds: number[][] = [];
let isClosed = false;
let resetFails = (): boolean => false;

/** An environment whose episodes end at the first step; every third episode fails to start. */
const dice = defineEnvironment({
  name: 'dice',
  description: 'Guess.',
  tasks: ({ split, count }) => Array.from({ length: count }, (_, row) => ({ row, split })),
  open: () => {
    let episodes = 0;
    return nativeEnvironment(
      ({ row, seed }) => {
        if (resetFails()) throw new EnvironmentError('No dice.', { code: 'NO_DICE' });
        seeds.push([Number(row['row']), seed]);
        if (++episodes % 3 === 0) throw new Error('the dice fell off the table');
        return { observation: '1+1=', step: () => ({ observation: '', reward: 1, done: true }) };
      },
      () => void (isClosed = true),
    );
  },
});

/** Metrics of each explore step, below `rollout/`. */
function metricsOf(names: readonly string[]): readonly (readonly number[])[] {
  const file = path.join(runFolder, 'monitor', 'metrics.jsonl');
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.includes('rollout/runs/ok'))
    .map((line) => {
      const { metrics } = JSON.parse(line) as { metrics: Readonly<Record<string, number>> };
      return names.map((name) => metrics[`rollout/${name}`] ?? 0);
    });
}

/**
 * Counts per explore step: runs that succeeded, and runs that failed because of the environment.
 */
const runCounts = (): readonly number[] => metricsOf(['runs/ok', 'runs/environment_failed']).flat();

interface RunWithOptions {
  readonly environments?: readonly EnvironmentDefinition[];
  readonly environment_failures?: unknown;
  readonly auxiliary_models?: unknown;
  readonly evals?: unknown;
  readonly eval_on_startup?: boolean;
}

const settings = {
  name: 'dice',
  checkpoint_root_dir: 'runs',
  model: { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 4 },
  algorithm: { algorithm_type: 'grpo', repeat_times: 4 },
  trainer: { trainer_type: 'bigrams' },
};

const runWith = (
  taskset: Readonly<Record<string, unknown>>,
  { environments = [dice], evals, ...explorer }: RunWithOptions = {},
) => {
  const config = {
    ...settings,
    explorer: { max_retry_times: 0, ...explorer },
    buffer: {
      batch_size: 2,
      explorer_input: {
        default_workflow_type: 'environment_workflow',
        taskset: { storage_type: 'generated', ...taskset },
        ...(evals !== undefined && { eval_tasksets: evals }),
      },
    },
  };
  const configPath = path.join(root, 'dice.yaml');
  writeFileSync(configPath, JSON.stringify(config));
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  return run({ configPath, cwd: root, engines: [bigrams], environments, terminal });
};

it('trains on generated tasks; all runs of a task begin alike; a broken environment is no reward', async () => {
  const workflow_args = { environment: 'dice' };
  await expect(runWith({ workflow_args, task_count: 4 })).resolves.toMatchObject({ trainStep: 2 });
  expect(Map.groupBy(seeds, ([row]) => row).size).toBe(4);
  expect(new Set(seeds.map(String)).size).toBe(4);
  // Every third failed, and was tried again.
  expect(seeds).toHaveLength(23);
  expect(runCounts()).toEqual([8, 0, 8, 0]);
  expect(isClosed).toBe(true);
});

it('pauses while the environment is down, says so to trinity status, and goes on with every run', async () => {
  const statusFile = path.join(runFolder, 'status.json');
  let told: string | undefined;
  resetFails = () => {
    told ??= /environment \\"dice\\", which fails[^"]*/.exec(readFileSync(statusFile, 'utf8'))?.[0];
    return told === undefined;
  };
  const workflow_args = { environment: 'dice' };
  rmSync(path.join(root, 'runs'), { recursive: true });
  await expect(runWith({ workflow_args, task_count: 4 })).resolves.toMatchObject({ trainStep: 2 });
  expect(told).toContain('No dice.');
  expect(runCounts()).toEqual([8, 0, 8, 0]);
});

it.each([
  [
    { workflow_args: { environment: 'dyce' } },
    /task_count: is missing[^]*"dyce".*Did you mean "dice"/,
  ],
  [
    { workflow_args: { environment: 'dice' }, task_count: 4, split: 'test' },
    /split: got "test", expected train or eval/,
  ],
  [
    { task_count: 4, default_workflow_type: 'math_workflow' },
    /"generated", but math_workflow generates no tasks/,
  ],
])('refuses %o before it starts', async (taskset, message) => {
  await expect(runWith(taskset)).rejects.toThrow(message);
});

it('ends at an environment of an evaluation that its configuration does not fit', async () => {
  const wrong = defineEnvironment({
    name: 'wrong',
    description: 'Guess.',
    tasks: ({ count }) => Array.from({ length: count }, (_, row) => ({ row })),
    open: () => Promise.reject(new ConfigError('There is no such game.', { code: 'WRONG' })),
  });
  rmSync(path.join(root, 'runs'), { recursive: true, force: true });
  const evaluated = { storage_type: 'generated', task_count: 2, name: 'fresh' };
  const running = runWith(
    { workflow_args: { environment: 'dice' }, task_count: 4 },
    {
      environments: [dice, wrong],
      evals: [{ ...evaluated, workflow_args: { environment: 'wrong' } }],
      eval_on_startup: true,
    },
  );
  await expect(running).rejects.toThrow(ConfigError);
  await expect(running).rejects.toThrow(/Row \d of task set "fresh" cannot be played/);
});

it('names the tasks that it generates where they have changed since the run was started', async () => {
  const workflow_args = { environment: 'dice' };
  const tasks = ({ count }: { readonly count: number }) => Array(count).fill({ row: 'new' });
  const changed = runWith({ workflow_args, task_count: 4 }, { environments: [{ ...dice, tasks }] });
  await expect(changed).rejects.toThrow(
    /taskset\.path: the tasks that it generates have changed since the run in/,
  );
});

it('fails the runs of a row that its environment cannot play, and plays the others', async () => {
  const choosy = defineEnvironment({
    name: 'choosy',
    description: 'Guess.',
    tasks: ({ count }) => Array.from({ length: count }, (_, row) => ({ row })),
    open: () =>
      nativeEnvironment(({ row }) => {
        if (row['row'] === 1) throw new ConfigError('There is no such page.', { code: 'WRONG' });
        return { observation: '1+1=', step: () => ({ observation: '', reward: 1, done: true }) };
      }),
  });
  rmSync(path.join(root, 'runs'), { recursive: true, force: true });
  await runWith(
    { workflow_args: { environment: 'choosy' }, task_count: 4 },
    { environments: [choosy] },
  );
  const counts = metricsOf(['runs/ok', 'runs/failed']);
  expect(counts.map(([ok = 0, failed = 0]) => ok + failed)).toEqual([8, 8]);
  expect(new Set(counts.map(([, failed]) => failed))).toEqual(new Set([0, 4]));
});

/** An environment that crashes at certain answers, also in retries. */
const fragile = defineEnvironment({
  name: 'fragile',
  description: 'Guess.',
  tasks: ({ count }) => Array.from({ length: count }, (_, row) => ({ row })),
  open: () =>
    nativeEnvironment(() => ({
      observation: '1+1=',
      step: (action) => {
        const text = action.type === 'text' ? action.text : '';
        if (/^[0-4]/.test(text)) throw new Error('segmentation fault');
        return { observation: '', reward: 1, done: true };
      },
    })),
});

/** The first two of nine attempts are made at once. */
const fragileRun = { environments: [fragile], environment_failures: { max_retry_times: 2 } };

it('takes the same action in a retry, and names one that breaks its environment each time', async () => {
  rmSync(path.join(root, 'runs'), { recursive: true, force: true });
  await runWith({ workflow_args: { environment: 'fragile' }, task_count: 4 }, fragileRun);
  const counts = metricsOf(['runs/ok', 'runs/environment_crashed', 'attempts/environment_failed']);
  const crashed = counts.map(([, each = 0]) => each);
  expect(crashed.reduce((sum, each) => sum + each)).toBeGreaterThan(0);
  expect(counts).toEqual(crashed.map((each) => [8 - each, each, 3 * each]));
  expect(readFileSync(path.join(runFolder, 'log', 'trinity.log'), 'utf8')).toMatch(
    /failed and is dropped: the same action broke its environment in 3 attempts in a row: Environment "fragile" failed at step 1 \(the action "[0-4]/,
  );
});

const judged = defineEnvironment({
  name: 'judged',
  description: 'Guess.',
  judged: true,
  tasks: ({ count }) => Array.from({ length: count }, (_, row) => ({ row })),
  open: () =>
    nativeEnvironment(({ row, judge }) => ({
      observation: '1+1=',
      step: async () => {
        const messages = [{ role: 'user', content: `row ${Number(row['row'])}` }] as const;
        const expected = 'a number';
        const parse = (said: string) => (/^[\d.]+$/.test(said) ? Number(said) : undefined);
        const reward = await judge?.ask({ messages, parse, expected });
        return { observation: '', reward, done: true };
      },
    })),
});

it('pays what a judge on HTTP says, and trains nothing that it says no number about', async () => {
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const about = JSON.stringify(body);
      const message = { role: 'assistant', content: about.includes('row 1') ? 'Hm.' : '0.5' };
      const choices = [{ index: 0, finish_reason: 'stop', message }];
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ choices }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  rmSync(path.join(root, 'runs'), { recursive: true, force: true });
  await runWith(
    { workflow_args: { environment: 'judged', action_pattern: '[^]' }, task_count: 2 },
    {
      environments: [judged],
      environment_failures: { max_retry_times: 0, max_in_row: 100 },
      auxiliary_models: [{ name: 'big', model_path: 'big', base_url, api_key: 'k' }],
    },
  );
  const names = ['runs/ok', 'runs/environment_failed', 'reward/mean', 'reward/min'];
  expect(metricsOf(names)).toEqual([[4, 4, 0.5, 0.5]]);
});

/** Warnings of `trinity config check`, and lines of `trinity config plan` about the graders. */
async function checked(
  taskset: Readonly<Record<string, unknown>>,
  models: readonly string[],
  environments: readonly EnvironmentDefinition[] = [],
) {
  const services = { base_url: 'http://127.0.0.1:9/v1', api_key: 'k' };
  const config = {
    ...settings,
    explorer: { auxiliary_models: models.map((name) => ({ name, model_path: name, ...services })) },
    buffer: {
      batch_size: 2,
      explorer_input: { taskset: { storage_type: 'generated', task_count: 4, ...taskset } },
    },
  };
  const configPath = path.join(root, 'judged.yaml');
  writeFileSync(configPath, JSON.stringify(config));
  const options = { configPath, cwd: root, engines: [bigrams], environments, env: {} };
  const { loaded, ...extensions } = await readConfiguration(options);
  const { signal } = new AbortController();
  const files = await checkFiles(loaded, extensions, { signal });
  const plan = renderPlan(planConfig(loaded.config, files));
  return { warnings: files.warnings, plan: /graded by.*/.exec(plan)?.[0] };
}

it('says whether a judge or words grade, and which judge is not there', async () => {
  const email = { name: 'mail', default_workflow_type: 'email_search_workflow' };
  const { plan, warnings } = await checked(email, []);
  expect(plan).toMatch(/^graded by +words \(mail\)/);
  expect(warnings.join()).toMatch(/judged\.yaml:1:.*no judge as in Trinity-RFT.*judge: false/);
  expect(await checked(email, ['big'])).toMatchObject({
    plan: expect.stringMatching(/the judge big \(mail\)/) as string,
    warnings: [],
  });
  const named = { ...email, workflow_args: { judge: 'bug' } };
  await expect(checked(named, ['big'])).rejects.toThrow(
    /workflow_args\.judge: got "bug", but explorer\.auxiliary_models has big/,
  );
  await expect(checked({ ...email, workflow_args: { judge: 0 } }, [])).rejects.toThrow(
    /explorer\.auxiliary_models is empty/,
  );
});

it('says how many tasks an environment generated, if it was asked for another number', async () => {
  const set = {
    default_workflow_type: 'environment_workflow',
    workflow_args: { environment: 'dice' },
  };
  const one: EnvironmentDefinition = {
    ...dice,
    tasks: (...given) => dice.tasks!(...given).slice(2),
  };
  expect((await checked(set, [], [one])).warnings.join()).toMatch(
    /taskset\.task_count: got 4, but the number of generated tasks is 2\. Let `tasks` return/,
  );
  expect((await checked(set, [], [dice])).warnings).toEqual([]);
});

it('compares the first generated task with the longest prompt of the model', async () => {
  const warningsFor = async (
    max_prompt_tokens: number,
    environment: string,
    evaluated = 'dice',
  ) => {
    const generated = (name: string) => ({
      ...{ storage_type: 'generated', task_count: 4 },
      workflow_args: { environment: name },
    });
    const config = {
      ...settings,
      model: { ...settings.model, max_prompt_tokens, max_response_tokens: 4 },
      buffer: {
        batch_size: 2,
        explorer_input: {
          taskset: { name: 'dice', ...generated(environment) },
          eval_tasksets: [{ name: 'fresh', ...generated(evaluated) }],
          default_workflow_type,
        },
      },
    };
    const configPath = path.join(root, 'prompt.yaml');
    writeFileSync(configPath, JSON.stringify(config));
    const failing = (name: string, error: Error) => ({
      ...{ ...dice, name },
      open: () => Promise.reject(error),
    });
    const environments = [dice, failing('gone', gone), failing('wrong', wrong)];
    const read = { configPath, cwd: root, engines: [bigrams], environments, env: {} };
    const { loaded, ...extensions } = await readConfiguration(read);
    const { signal } = new AbortController();
    const { warnings } = await checkFiles(loaded, extensions, { measure: true, signal });
    await extensions.environments.close();
    return warnings.join();
  };
  const default_workflow_type = 'environment_workflow';
  const gone = new EnvironmentError('No table.', { code: 'GONE' });
  const wrong = new ConfigError('There is no such game.', { code: 'WRONG' });
  expect(await warningsFor(2, 'dice')).toMatch(
    /prompt\.yaml:1:\d+ model\.max_prompt_tokens: got 2, .* "dice" begins with a prompt of \d+ tokens/,
  );
  expect(await warningsFor(50, 'dice')).toBe('');
  expect(await warningsFor(50, 'gone')).toMatch(
    /workflow_args\.environment_args: .* "gone" could not be begun .*No table/,
  );
  await expect(warningsFor(50, 'wrong')).rejects.toThrow(
    /taskset\.workflow_args\.environment_args: There is no such game\./,
  );
  await expect(warningsFor(50, 'dice', 'wrong')).rejects.toThrow(
    /eval_tasksets\[0\]\.workflow_args\.environment_args: There is no such game\./,
  );
});

it('names generated tasks where the check of the first row fails, or cannot be made', async () => {
  const checked = async (checkRow: WorkflowDefinition['checkRow']) => {
    const taskset = { storage_type: 'generated', task_count: 4, name: 'dice' };
    const explorer_input = { taskset, default_workflow_type: 'rolls' };
    const config = { ...settings, name: 'rolls', buffer: { batch_size: 2, explorer_input } };
    const configPath = path.join(root, 'rolls.yaml');
    writeFileSync(configPath, JSON.stringify(config));
    const rolls = { ...defineWorkflow({ name: 'rolls', run: async () => 1 }), checkRow };
    const workflows = [{ ...rolls, tasks: () => Array(4).fill({ row: 1 }) }];
    const read = { configPath, cwd: root, engines: [bigrams], workflows, env: {} };
    const { loaded, ...extensions } = await readConfiguration(read);
    const { signal } = new AbortController();
    const { warnings } = await checkFiles(loaded, extensions, { measure: false, signal });
    return warnings.join();
  };
  const slow = checked(async (_task, _signal, _models, warn) => warn?.('It is slow.'));
  expect(await slow).toMatch(
    /taskset\.path: row 0 of the generated tasks was not checked: It is slow\./,
  );
  const wrong = checked(async () => {
    throw new TaskError('It has no side.', { code: 'TASK_ROW' });
  });
  await expect(wrong).rejects.toThrow(/row 0 of the generated tasks: It has no side\./);
});
