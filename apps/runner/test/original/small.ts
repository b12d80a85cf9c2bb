/** Shrinks the examples of Trinity-RFT: two steps, a tiny model, few and short turns. */
import { chmodSync } from 'node:fs';
import path from 'node:path';
import { createModel } from '@trinity-rft/launcher';
import { onTestFinished, vi } from 'vitest';
import { createWorkspace, type Tree, type Workspace } from '../support/workspace.js';

/** Task row with every column that the examples read. */
const row = {
  question: '1+1=',
  problem: '1+1=',
  query: '1+1=',
  answer: '#### 2',
  prompt: [{ role: 'user', content: '1+1=' }],
  solution: '2',
  reward_model: { ground_truth: '2' },
  'qwen2.5_7b_pass_rate': 0.5,
  qwen3_30b_pass_rate: 0.5,
  game_file: 'game.tw-pddl',
  task_desc: 'Put a cup on the table.',
  messages: [{ role: 'user', content: 'I have a headache.' }],
  action_truth: 'continue',
  gt_answer: '2',
  ground_truth: '2',
  reference_answer: '2',
  rubric: [{ description: 'Says two.', title: 'Two', weight: 1 }],
};

/** Rows of each kind of data, by file name. */
const kinds: Readonly<Record<string, object>> = {
  'answers.jsonl': {
    messages: [
      { role: 'user', content: '1+1=' },
      { role: 'assistant', content: '2' },
    ],
  },
  'pairs.jsonl': { prompt: '1+1=', chosen: '2', rejected: '3' },
  'lakes.jsonl': { size: 3, p: 0.9, seed: 1, index: 0, uid: '1_3_0.9' },
  'experiments.jsonl': {
    task_desc: JSON.stringify({ task_name: 'boil', var_num: 0 }),
    game_file: JSON.stringify({ task_name: 'boil', var_num: 0 }),
  },
  'sessions.jsonl': { game_file: 3 },
  'tool-calls.jsonl': {
    raw_system: 'Call a tool.',
    tools: [{ name: 'add', description: 'Adds.', parameters: {} }],
    conversations: [{ from: 'human', value: '1+1=' }],
    answer: [{ name: 'add', arguments: {} }],
  },
};

/** Creates a workspace with the rows, and `long`, a model for long prompts. */
export async function createOriginalWorkspace(): Promise<Workspace> {
  const workspace = await createWorkspace();
  workspace.write('rows.jsonl', `${JSON.stringify(row)}\n`.repeat(100));
  for (const [file, kind] of Object.entries(kinds))
    workspace.write(file, `${JSON.stringify(kind)}\n`.repeat(200));
  const target = JSON.stringify({ target: 3, numbers: [1, 2] });
  workspace.write('countdown.jsonl', `${JSON.stringify({ ...row, answer: target })}\n`.repeat(100));
  const printable = Array.from({ length: 95 }, (_, i) => String.fromCodePoint(32 + i)).join('');
  await createModel({
    directory: path.join(workspace.root, 'long'),
    tokenizer: { characters: `${printable}\n` },
    config: { hiddenSize: 16, layers: 1, heads: 1, kvHeads: 1, headDim: 16, maxPositions: 81_920 },
    seed: 1,
  });
  return workspace;
}

/** Replaces `python3` for the current test by a program that acts as if it had every package. */
export function stubPython(workspace: Workspace): void {
  const program = workspace.write('bin/python3', "#!/bin/sh\necho '[]'\n");
  chmodSync(program, 0o755);
  const before = process.env['PATH'];
  vi.stubEnv('PATH', `${path.dirname(program)}${path.delimiter}${before}`);
  onTestFinished(() => void vi.stubEnv('PATH', before));
}

/**
 * Task files of the examples that read questions; for the other examples, the environment generates
 * the tasks.
 */
const questions: Readonly<Record<string, string>> = {
  'bots/bots.yaml': 'rows.jsonl',
  'bots/random.yaml': 'rows.jsonl',
  'agentscope_tool_react/agentscope_tool_react_gsm8k.yaml': 'rows.jsonl',
  'agentscope_tool_react/agentscope_tool_react_dapo.yaml': 'rows.jsonl',
  'agentscope_react/gsm8k.yaml': 'rows.jsonl',
  'ppo_countdown/countdown.yaml': 'countdown.jsonl',
};
/** Arguments that limit the turns of a workflow whose own limit is too high for a test. */
const brief: readonly (readonly [workflow: RegExp, args: Tree])[] = [
  [/alfworld/, { max_env_steps: 2 }],
  [/frozen_lake/, { agent_max_steps: 2 }],
  [/bcp/, { max_iterations: 2 }],
  [/agentscope|as_react/, { max_turns: 2 }],
];

interface Buffer {
  readonly explorer_input: Tree & {
    readonly taskset: Tree;
    readonly default_workflow_type?: string;
  };
  readonly trainer_input?: Tree;
}

/** Further settings of an example in a test. */
interface Given {
  readonly file?: string;
  readonly args?: Tree;
}

/**
 * Settings of an example with the sizes, data and model of the tests. Without a judge, answers are compared by words.
 */
export function small(
  name: string,
  example: Tree,
  { file = questions[name], args }: Given = {},
): Tree {
  const { project, algorithm, explorer, synchronizer, data_processor, trainer } = example;
  const { explorer_input: input, trainer_input } = example['buffer'] as Buffer;
  const { path: _path, split: _split, subset_name: _subset, format, ...taskset } = input.taskset;
  const hasColumns = file !== undefined || name.includes('email');
  const data = {
    ...(file === undefined
      ? { storage_type: 'generated', task_count: 4 }
      : { storage_type: 'file', path: file }),
    format: hasColumns ? format : {},
  };
  const workflow = input.default_workflow_type ?? '';
  const workflow_args = {
    ...(taskset['workflow_args'] as Tree | undefined),
    ...brief.find(([pattern]) => pattern.test(workflow))?.[1],
    ...args,
  };
  return {
    project,
    name: 'small',
    checkpoint_root_dir: `runs/${name}`,
    mode: 'both',
    // An untrained model has groups with equal rewards, which must not be filtered out.
    algorithm: { ...(algorithm as Tree), repeat_times: 2, advantage_fn_args: {} },
    model: { model_path: 'long', max_prompt_tokens: 8000, max_response_tokens: 4, threads: 1 },
    buffer: {
      batch_size: 2,
      train_batch_size: 4,
      total_steps: 2,
      explorer_input: {
        ...input,
        taskset: { ...taskset, ...data, workflow_args },
        eval_tasksets: [],
      },
      trainer_input,
    },
    data_processor,
    explorer: {
      ...(explorer as Tree),
      auxiliary_models: [],
      eval_on_startup: false,
      eval_interval: 0,
    },
    synchronizer: { ...(synchronizer as Tree), sync_interval: 1 },
    trainer,
    monitor: { monitor_type: [] },
  };
}
