// Maps each key of a vector file to the function that makes its test cases.
import * as advantages from './advantages.ts';
import * as experiences from './experiences.ts';
import * as losses from './losses.ts';
import * as metrics from './metrics.ts';
import * as rewards from './rewards.ts';
import type { Suite, VectorCase, VectorFile } from './suite.ts';
import { workflows } from './workflows.ts';

const suites = {
  policy_loss: losses.policyLoss,
  chord_mu_schedule: losses.chordSchedule,
  kl: losses.kl,
  kl_penalty_in_reward: losses.klPenalty,
  entropy_loss: losses.entropyLoss,
  aggregate_loss: losses.aggregate,
  critic_value_loss: losses.criticValueLoss,
  advantage_group: advantages.groupAdvantages,
  advantage_trainer: advantages.batchAdvantages,
  eid: experiences.eid,
  experience_construction: experiences.construction,
  collate: experiences.collation,
  tinker_datum: experiences.tinkerDatum,
  group_by: experiences.groups,
  eval_metrics: metrics.evaluation,
  gather_metrics: metrics.gathering,
  scheduler_metrics: metrics.scheduler,
  rewards: rewards.rewards,
  reward_shaping_mapper: metrics.rewardShaping,
  workflows,
  tinker_lr_factor: metrics.learningRate,
  'newer_upstream.m2po_mask': losses.m2poMask,
  'newer_upstream.m2po_loss': losses.m2poLoss,
  'newer_upstream.prefix_merge': experiences.merging,
  'newer_upstream.collate_logprob_check': experiences.logprobCheck,
  'newer_upstream.rlcr': rewards.rlcr,
  'newer_upstream.dapo_dynamic_sampling': metrics.dynamicSampling,
  'newer_upstream.gigpo': advantages.gigpo,
  'newer_upstream.tinker_server_loss_alignment': experiences.tinkerAlignment,
} satisfies Readonly<Record<string, Suite>>;

/** Keys that no function of ours can be compared with, and the reasons. */
const notRun: Readonly<Record<string, string>> = {
  about: 'says what the file is',
  inputs: 'is read by the others',
  checkpoint_layout: 'names the files of FSDP and Megatron; ours are in docs/reference/config.md',
  prompt_truncation_run:
    'is an end-to-end run of the original; ours gives prompts that are too long no experience at all (docs/reference/differences.md)',
  action_mask_counts: 'needs the tokenizer of a model that is not in this repository',
  'newer_upstream.collate_routed_experts': 'is about mixture-of-experts models',
};

export interface KeyCases {
  readonly key: string;
  readonly cases: readonly VectorCase[];
  /** Reason why there are no cases. */
  readonly skipped?: string;
}

/** Cases of a file by key, in the order of the file; keys of `newer_upstream` are listed one by one. */
export function casesOf(file: VectorFile): readonly KeyCases[] {
  return Object.entries(file).flatMap(([key, value]) => {
    if (key !== 'newer_upstream') return [casesOfKey(key, value, file)];
    return Object.entries(value as object).map(([part, inner]) =>
      casesOfKey(`${key}.${part}`, inner, file),
    );
  });
}

function casesOfKey(key: string, value: unknown, file: VectorFile): KeyCases {
  const suite = (suites as Readonly<Record<string, Suite>>)[key];
  try {
    if (suite) return { key, cases: suite(value as never, file) };
  } catch (cause) {
    // A key with an unexpected shape becomes one failing case, and the other keys still run.
    const run = (): never => {
      throw cause;
    };
    return { key, cases: [{ id: key, run }] };
  }
  return { key, cases: [], skipped: notRun[key] ?? 'nothing is known about this key' };
}
