/** Tests the declared needs of parts of a run, and the checks that find what is missing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { EngineFactory } from '@trinity-rft/core/engine';
import { fakeEngine } from '@trinity-rft/testing';
import { defineReward, defineWorkflow } from '@trinity-rft/workflow';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkFiles, createModel, readConfiguration, run } from '@trinity-rft/launcher';
import { debugWorkflow } from '../src/debug/workflow.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-needs-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
beforeAll(async () => {
  const tokenizer = { characters: '0123456789+=\n' };
  await createModel({ directory: path.join(root, 'model'), tokenizer, seed: 1 });
});

const bigrams: EngineFactory = {
  name: 'bigrams',
  capabilities: fakeEngine().capabilities,
  open: async ({ tokenBytes = [] }) => fakeEngine({ vocabSize: tokenBytes.length }),
};

const greedy = defineWorkflow({
  name: 'greedy',
  needs: {
    columns: ['hint', ['gold', 'answer']],
    env: ['GREEDY_KEY'],
    packages: ['no-such-package'],
  },
  run: () => 1,
});
const strict = defineReward({ name: 'strict', score: () => 1, needs: { columns: ['rubric'] } });

interface Given {
  readonly taskset?: object;
  readonly monitor?: object;
  readonly rows?: readonly object[];
  readonly env?: Readonly<Record<string, string>>;
  /** Sections in place of those of the configuration. */
  readonly sections?: object;
}

function fileOf({ taskset = {}, monitor = {}, rows, sections }: Given): string {
  const configPath = path.join(root, 'needs.yaml');
  writeFileSync(
    path.join(root, 'tasks.jsonl'),
    (rows ?? [{ prompt: '1+1=', response: '2' }]).map((row) => JSON.stringify(row)).join('\n'),
  );
  const config = {
    name: 'needs',
    checkpoint_root_dir: 'runs',
    model: { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 4 },
    algorithm: { algorithm_type: 'grpo', repeat_times: 2 },
    trainer: { trainer_type: 'bigrams' },
    monitor,
    buffer: {
      batch_size: 1,
      explorer_input: { taskset: { name: 'tasks', path: 'tasks.jsonl', ...taskset } },
    },
    ...sections,
  };
  writeFileSync(configPath, JSON.stringify(config));
  return configPath;
}

const more = { cwd: root, engines: [bigrams], workflows: [greedy], rewardFns: [strict] };

/** Errors and warnings of a check. */
async function check(given: Given): Promise<string> {
  const { env = {} } = given;
  const { loaded, ...extensions } = await readConfiguration({
    configPath: fileOf(given),
    ...more,
    env,
  });
  const { signal } = new AbortController();
  try {
    return (await checkFiles(loaded, extensions, { env, signal })).warnings.join('\n');
  } catch (error) {
    return (error as Error).message;
  } finally {
    await extensions.environments.close();
  }
}

const math = { default_workflow_type: 'math_workflow' };

it('names the key of a tracking service that is not set', async () => {
  const monitor = { monitor_type: 'wandb' };
  expect(await check({ taskset: math, monitor })).toMatch(
    /needs\.yaml:1:.*monitor\.monitor_type: wandb needs the environment variable WANDB_API_KEY/,
  );
  expect(await check({ taskset: math, monitor, env: { WANDB_API_KEY: 'k' } })).toBe('');
  expect(await check({ taskset: math, monitor: { monitor_type: 'swanlab' } })).toMatch(
    /SWANLAB_API_KEY/,
  );
});

it('names the address of a judge that is no URL', async () => {
  const taskset = {
    default_workflow_type: 'rubric_judge_openai_workflow',
    workflow_args: { judge_model_name: 'big' },
  };
  const rows = [{ prompt: '1+1=', rubric: [{ description: 'right' }] }];
  const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'api.openai.com/v1' };
  expect(await check({ taskset, rows, env })).toContain(
    'needs the environment variable OPENAI_BASE_URL, which is not a URL',
  );
  const right = { ...env, OPENAI_BASE_URL: 'https://api.openai.com/v1' };
  expect(await check({ taskset, rows, env: right })).toBe('');
});

it('names the key of hosted Tinker, unless the environment has the address of another server', async () => {
  const lengths = { max_prompt_tokens: 16, max_response_tokens: 4 };
  const model = { model_path: 'model', tinker: { enable: true }, ...lengths };
  const given = { taskset: math, sections: { model, trainer: {} } };
  expect(await check(given)).toMatch(
    /tinker\.base_url: hosted Tinker needs the environment variable TINKER_API_KEY/,
  );
  expect(await check({ ...given, env: { TINKER_BASE_URL: 'http://127.0.0.1:9' } })).toBe('');
});

it('reads data sets of the hub with the variables that it was given', async () => {
  const env = { HF_HUB_OFFLINE: '1', HF_HUB_CACHE: root };
  expect(await check({ taskset: { ...math, path: 'owner/tasks' }, env })).toMatch(
    /explorer_input\.taskset.*HF_HUB_OFFLINE is set/,
  );
});

it('names rows without what the workflow or the reward function reads, with their columns', async () => {
  const tools = { default_workflow_type: 'tool_call_workflow' };
  expect(await check({ taskset: tools, rows: [{ tools: [], answer: [] }] })).toMatch(
    /No row .* can be used: row 0 has no "conversations", which tool_call_workflow needs; its columns are tools, answer/,
  );
  const turns = [{ from: 'human', value: 'a' }];
  const good = { tools: [], conversations: turns, answer: [] };
  expect(await check({ taskset: tools, rows: [good] })).toBe('');
  const robot = { ...good, conversations: [{ from: 'robot', value: 'a' }] };
  expect(await check({ taskset: tools, rows: [good, robot] })).toMatch(
    /1 of 2 rows .*Row 1 of task set "tasks" has a turn of "conversations" from "robot"/,
  );
  const rubric = { ...math, default_reward_fn_type: 'strict' };
  expect(await check({ taskset: rubric })).toMatch(
    /row 0 has no "rubric", which strict needs; its columns are prompt, response/,
  );
  const lake = { default_workflow_type: 'sudoku_workflow' };
  expect(await check({ taskset: lake })).toMatch(/does not fit the environment sudoku: puzzle/);
});

it('finds the installed SDK of MCP, which has no file for require', async () => {
  const workflow_args = {
    environment: 'mcp',
    environment_args: { command: 'node', args: ['server.js'] },
  };
  const taskset = { default_workflow_type: 'environment_workflow', workflow_args };
  expect(await check({ taskset, rows: [{ prompt: 'Go.', expected_answer: 'Gone.' }] })).toBe('');
});

it('verifies variables, packages and Python modules before a run, a check and a debug run', async () => {
  const plugin = { default_workflow_type: 'greedy' };
  const rows = [{ prompt: '1', hint: 'h', answer: '2' }];
  const message = await check({ taskset: plugin, rows });
  expect(message).toMatch(/GREEDY_KEY, which is not set/);
  expect(message).toMatch(/package no-such-package, which is not installed/);
  expect(await check({ taskset: plugin, rows: [{ hint: 'h' }] })).toMatch(/no "gold" or "answer"/);

  const configPath = fileOf({ taskset: plugin, rows });
  await expect(debugWorkflow({ configPath, ...more, env: {} })).rejects.toThrow(/GREEDY_KEY/);
  await expect(debugWorkflow({ configPath, ...more, newestCheckpoint: true })).rejects.toThrow(
    /no checkpoint in .*needs yet.* leave --newest-checkpoint out/,
  );
  const terminal = { isTTY: false, columns: () => 80, write: () => undefined };
  await expect(run({ configPath, ...more, terminal, env: {} })).rejects.toThrow(/GREEDY_KEY/);

  const environment_args = {
    kind: 'no_such_module:make',
    python: path.join(root, 'python'),
    path: 'worlds',
  };
  const played = { environment: 'python', environment_args };
  const generated = { storage_type: 'generated', task_count: 2, path: undefined };
  const taskset = {
    ...generated,
    default_workflow_type: 'environment_workflow',
    workflow_args: played,
  };
  expect(await check({ taskset })).toMatch(
    /environment_workflow needs the Python module no_such_module, and .*python cannot be started/,
  );
  // A stand-in for a Python that finds none of the modules.
  writeFileSync(path.join(root, 'python'), '#!/bin/sh\necho "[\\"no_such_module\\"]"\n', {
    mode: 0o755,
  });
  expect(await check({ taskset })).toMatch(
    /needs the Python module no_such_module, which neither .*python nor the folder .*worlds has\. Install it with pip for that Python, or correct environment_args/,
  );
});
