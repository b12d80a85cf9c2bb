/**
 * Configuration of each preset in the learning bench: the same data and steps, and the parts that the
 * preset needs.
 */
import { adam, supervisedFormat } from './task.ts';

type Tree = Readonly<Record<string, unknown>>;

export const steps = 60;
/** Minimum gain in the share of correct answers for every preset. */
export const margin = 0.1;

const runs = 8;

/** Training on rollouts: 60 steps of 64 tasks with 8 runs. */
const rollouts = (
  name: string,
  over: Tree = {},
  { lr = 1.5e-3, repeatTimes = runs }: { lr?: number; repeatTimes?: number } = {},
): Tree => ({
  mode: 'both',
  algorithm: {
    algorithm_type: name,
    repeat_times: repeatTimes,
    optimizer: { lr, lr_warmup_steps: 10, ...adam },
    ...over,
  },
  buffer: { total_steps: steps },
});

/** Training on rollouts and an expert's correct answers. */
const withExpert = (name: string): Tree => ({
  ...rollouts(name, { sample_strategy_args: { expert_data_ratio: 0.2 } }),
  buffer: {
    total_steps: steps,
    train_batch_size: 640,
    trainer_input: {
      auxiliary_buffers: {
        sft_dataset: {
          storage_type: 'file',
          path: 'data/right.jsonl',
          format: supervisedFormat,
          data_selector: { selector_type: 'shuffle' },
        },
      },
    },
  },
});

/** Training on the log-probabilities of a teacher instead of rewards. */
const withTeacher = (name: string): Tree => ({
  ...rollouts(name),
  buffer: {
    total_steps: steps,
    explorer_input: { default_workflow_type: 'on_policy_distill_workflow' },
  },
  explorer: {
    auxiliary_models: [
      { name: 'teacher', model_path: 'teacher', max_prompt_tokens: 16, max_response_tokens: 6 },
    ],
  },
});

/** Training on a file of correct answers, or of pairs of a correct and a wrong answer. */
const stored = (name: string, file: string, format: Tree, lr: number): Tree => ({
  mode: 'train',
  algorithm: { algorithm_type: name, optimizer: { lr, lr_warmup_steps: 10, ...adam } },
  buffer: {
    train_batch_size: 128,
    total_steps: steps,
    trainer_input: {
      experience_buffer: {
        name,
        storage_type: 'file',
        path: file,
        format,
        data_selector: { selector_type: 'shuffle' },
      },
    },
  },
});

export const presets: Readonly<Record<string, Tree>> = {
  grpo: rollouts('grpo'),
  multi_step_grpo: rollouts('multi_step_grpo'),
  gigpo: rollouts('gigpo'),
  dr_grpo: rollouts('dr_grpo'),
  dapo: rollouts('dapo'),
  grpo_tis: rollouts('grpo_tis'),
  grpo_sequence_masking: rollouts('grpo_sequence_masking'),
  grpo_verl: rollouts('grpo_verl'),
  ppo: rollouts('ppo'),
  rloo: rollouts('rloo'),
  reinforceplusplus: rollouts('reinforceplusplus'),
  opmd: rollouts('opmd'),
  asymre: rollouts('asymre'),
  cispo: rollouts('cispo'),
  gspo: rollouts('gspo'),
  sapo: rollouts('sapo'),
  topr: rollouts('topr'),
  sppo: rollouts('sppo'),
  rec: rollouts('rec'),
  m2po: rollouts('m2po'),
  raft: rollouts('raft'),
  mix: withExpert('mix'),
  mix_chord: withExpert('mix_chord'),
  on_policy_distill: withTeacher('on_policy_distill'),
  jsd: withTeacher('jsd'),
  sft: stored('sft', 'data/right.jsonl', supervisedFormat, 3e-3),
  dpo: stored(
    'dpo',
    'data/pairs.jsonl',
    { prompt_type: 'plaintext', prompt_key: 'question' },
    5e-4,
  ),
};
