/** Trains every algorithm of the tables for two steps, end to end. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { builtInTables, type AlgorithmPreset } from '@trinity-rft/algorithm';
import { defineWorkflow } from '@trinity-rft/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { checkpointSteps, metricLines } from './support/run-record.js';
import { createWideModel } from './support/wide-model.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  await createWideModel(workspace, 'teacher');
  const pair = (a: number): Tree => ({
    question: `${a}+1=`,
    right: String(a + 1),
    wrong: String(a),
  });
  workspace.write(
    'pairs.jsonl',
    Array.from({ length: 8 }, (_, a) => `${JSON.stringify(pair(a))}\n`).join(''),
  );
});

const presets = Object.entries<AlgorithmPreset>(builtInTables.presets);

/** Two explore steps of two tasks with four runs each, or two steps on stored data. */
const base: Tree = {
  algorithm: { repeat_times: 4, kl_loss_fn: null },
  buffer: { batch_size: 2, total_steps: 2 },
  trainer: { save_interval: 1 },
};

/** Task rows with answers to imitate, and pairs of a right and a wrong answer. */
const answers = {
  path: 'tasks.jsonl',
  format: { prompt_key: 'question', response_key: 'answer', prompt_type: 'plaintext' },
};
const pairs = {
  path: 'pairs.jsonl',
  format: {
    prompt_key: 'question',
    chosen_key: 'right',
    rejected_key: 'wrong',
    prompt_type: 'plaintext',
  },
};
const stored = (data: Tree): Tree => ({
  mode: 'train',
  algorithm: { repeat_times: null },
  buffer: {
    train_batch_size: 4,
    trainer_input: { experience_buffer: { name: 'stored', storage_type: 'file', ...data } },
  },
});

/** Training data by the schema of an algorithm. */
const dataOf: Readonly<Record<AlgorithmPreset['schema'], Tree>> = {
  experience: {},
  sft: stored(answers),
  dpo: stored(pairs),
  cpt: stored({ path: 'tasks.jsonl', format: { prompt_key: 'question' } }),
};

const experts: Tree = {
  buffer: {
    trainer_input: {
      auxiliary_buffers: { sft_dataset: { storage_type: 'file', schema_type: 'sft', ...answers } },
    },
  },
};
const distillation: Tree = {
  buffer: { explorer_input: { default_workflow_type: 'on_policy_distill_workflow' } },
  explorer: { auxiliary_models: [{ name: 'teacher', model_path: 'teacher' }] },
};
const digits = Array.from({ length: 10 }, (_, digit) => String(digit));
/**
 * Workflow that stops each answer at its first digit and rewards answers with a digit, because
 * truncated answers are not trained on.
 */
const brief = defineWorkflow({
  name: 'brief',
  run: async ({ task, model }) => {
    const [answer] = await model.chat(
      [{ role: 'user', content: String(task.rawTask?.['question']) }],
      { stop: digits },
    );
    return answer!.finishReason === 'stop' ? 1 : 0;
  },
});

/**
 * Further settings that some algorithms need: smaller batches if runs are filtered, demonstrations, a teacher, or
 * answers that end.
 */
const more: Readonly<Record<string, Tree>> = {
  raft: { buffer: { train_batch_size: 2 } },
  mix: experts,
  mix_chord: experts,
  on_policy_distill: distillation,
  jsd: distillation,
  dapo: {
    buffer: {
      total_steps: 8,
      train_batch_size: 4,
      explorer_input: { default_workflow_type: 'brief' },
    },
    trainer: { total_steps: 2 },
  },
};

describe.each(presets)('%s', (name, preset) => {
  it(
    'makes two train steps that move the weights, from its name alone',
    { timeout: 240_000 },
    async () => {
      const config = workspace.config(
        `${name}.yaml`,
        base,
        dataOf[preset.schema],
        more[name] ?? {},
        {
          name,
          algorithm: { algorithm_type: name },
        },
      );
      expect((await runHere(workspace, config, { workflows: [brief] })).error).toBeUndefined();
      const job = path.join(workspace.root, 'runs/tests', name);
      const trained = metricLines(job).filter(({ role }) => role === 'trainer');
      expect(trained.map(({ step }) => step)).toEqual([1, 2]);
      for (const { metrics } of trained) {
        for (const [key, value] of Object.entries(metrics))
          expect([key, Number.isFinite(value)]).toEqual([key, true]);
        expect(metrics).toMatchObject({
          'actor/update_skipped': 0,
          'actor/grad_norm': expect.any(Number) as unknown,
        });
      }
      expect(trained.some(({ metrics }) => metrics['actor/grad_norm']! > 0)).toBe(true);
      expect(checkpointSteps(job)).toEqual([1, 2]);
      const [first, second] = [1, 2].map((step) =>
        readFileSync(path.join(job, `global_step_${step}`, 'model.safetensors')),
      );
      expect(second!.equals(first!)).toBe(false);
      expect(readdirSync(path.join(job, 'global_step_2')).includes('critic')).toBe(
        'critic/vf_loss' in trained[1]!.metrics,
      );
    },
  );
});

/** Parts of a table that no preset uses; each is tried as a part of grpo. */
const unused = (
  table: object,
  key: string,
  used: (preset: AlgorithmPreset) => string | undefined,
) =>
  Object.keys(table)
    .filter((name) => !presets.some(([, preset]) => used(preset) === name))
    .map((name) => [key, name] as const);

/** Workflow that reports a baseline reward, as if from the greedy answer. */
const compared = defineWorkflow({
  name: 'compared',
  run: async ({ task, model }) => {
    const [answer] = await model.chat([
      { role: 'user', content: String(task.rawTask?.['question']) },
    ]);
    return { reward: answer!.responseText.length / 4, info: { reward_baseline: 0.5 } };
  },
});

describe.each([
  ...unused(builtInTables.advantageFns, 'advantage_fn', (preset) => preset.advantageFn?.name),
  ...unused(builtInTables.policyLossFns, 'policy_loss_fn', (preset) => preset.policyLossFn.name),
])('grpo with %s: %s', (key, name) => {
  it('makes two train steps that move the weights', { timeout: 240_000 }, async () => {
    const config = workspace.config(`${key}-${name}.yaml`, base, {
      name: `${key}-${name}`,
      algorithm: { algorithm_type: 'grpo', [key]: name },
      buffer: { explorer_input: { default_workflow_type: 'compared' } },
    });
    expect((await runHere(workspace, config, { workflows: [compared] })).error).toBeUndefined();
    const trained = metricLines(path.join(workspace.root, 'runs/tests', `${key}-${name}`)).filter(
      ({ role }) => role === 'trainer',
    );
    expect(trained.map(({ metrics }) => metrics['actor/grad_norm']! > 0)).toEqual([true, true]);
  });
});
