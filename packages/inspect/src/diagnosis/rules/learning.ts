/** Rules for failing or ineffective train steps. */
import { mean } from '@trinity-rft/core';
import { percent, short, stepsOf } from '../evidence/format.js';
import type { Point, RunRecord } from '../evidence/record.js';
import type { Evidence, Rule } from '../evidence/rule.js';
import {
  isSolved,
  leastSteps,
  medianOf,
  most,
  recent,
  recently,
  valuesOf,
  zerosIn,
  type Measured,
} from '../evidence/series.js';
import { shareRule } from './counts.js';

const [entropyShare, clippedShare, klNats, driftNats] = [0.1, 0.3, 0.5, 5];
const [ratioLow, ratioHigh] = [0.5, 2];
const [spikeFactor, leastSpike] = [20, 10];
/**
 * Minimum effective sample size of a working setup, as a share of the tokens; bfloat16 engines
 * reach 0.998 or more.
 */
const leastShare = 0.9;
const [skippedShare, zeroShare, mismatchNats, criticSteps] = [0.2, 0.8, 0.03, 20];

const entropyCollapse: Rule = {
  name: 'entropy-collapse',
  title: 'The model has stopped trying anything',
  when: `the recent mean of actor/entropy is at most ${percent(entropyShare)} of that of the first ${leastSteps} steps, while the reward is not near its highest`,
  advice:
    'Set temperature to 1, use a smaller learning rate or an entropy_loss_fn with a coefficient, or clip higher (clip_range_high). Resume from a checkpoint before it fell.',
  look: (run) => {
    const points = run.points('trainer', 'actor/entropy');
    const first = valuesOf(points.slice(0, leastSteps));
    const seen = recently(run, 'trainer', 'actor/entropy');
    if (!seen || points.length < 2 * leastSteps || isSolved(run)) return undefined;
    const before = mean(first);
    if (before <= 0 || seen.value > entropyShare * before) return undefined;
    return {
      text: `The entropy was ${short(before)} nats per token in the first steps and is ${short(seen.value)} in ${stepsOf(seen)}.`,
      numbers: [seen],
      rollouts: { sort: 'id', descending: true },
    };
  },
};

const ratioMetrics = ['actor/ratio/mean', 'actor/avg_ratio', 'actor/is_weight/mean'];

const ratioExplodes: Rule = {
  name: 'ratio-explodes',
  title: 'Answers have become much more or less likely than when they were sampled',
  when: `the recent mean of an importance ratio (${ratioMetrics.join(', ')}) is below ${ratioLow} or above ${ratioHigh}, or at least ${percent(clippedShare)} of the tokens are clipped (actor/pg_clipfrac)`,
  advice:
    'Train what the newest weights sampled (sync_interval: 1, less staleness), and use a smaller learning rate. If trainer and sampler compute differently, set algorithm.rollout_correction.',
  look: (run) => {
    const seen = firstOf(run, ratioMetrics, (value) => value < ratioLow || value > ratioHigh);
    if (seen) return saying(seen, `The importance ratio is ${short(seen.value)}`);
    const clipped = recently(run, 'trainer', 'actor/pg_clipfrac');
    if (!clipped || clipped.value < clippedShare) return undefined;
    return saying(clipped, `${percent(clipped.value)} of the tokens are clipped`);
  },
};

/** Returns the recent mean of the first metric for whose recent mean `isBad` is true. */
const firstOf = (
  run: RunRecord,
  metrics: readonly string[],
  isBad: (value: number) => boolean,
): Measured | undefined =>
  metrics
    .map((metric) => recently(run, 'trainer', metric))
    .find((seen) => seen && isBad(seen.value));

const saying = (seen: Measured, text: string): Evidence => ({
  text: `${text} in ${stepsOf(seen)}.`,
  numbers: [seen],
  rollouts: { sort: 'staleness', descending: true },
});

const klExplodes: Rule = {
  name: 'kl-explodes',
  title: 'The model moves too far in each step',
  when: `the recent mean of actor/ppo_kl or actor/approx_kl is above ${klNats} nats per token, either way`,
  advice:
    'Take a third of the learning rate, or a smaller clip_range; look at the staleness, because old data is far from the weights.',
  look: (run) => {
    const metrics = ['actor/ppo_kl', 'actor/approx_kl'];
    const seen = firstOf(run, metrics, (value) => Math.abs(value) > klNats);
    return seen && saying(seen, `The divergence is ${short(seen.value)} nats per token`);
  },
};

const referenceDrift: Rule = {
  name: 'reference-drift',
  title: 'The model is far from its reference',
  when: `the recent mean of actor/kl_loss or critic/kl is above ${driftNats} nats`,
  advice:
    'Raise the coefficient of kl_loss_fn or kl_penalty_fn, or use a smaller learning rate; read some answers: they are usually no longer language.',
  look: (run) => {
    const seen = firstOf(run, ['actor/kl_loss', 'critic/kl'], (value) => value > driftNats);
    return seen && saying(seen, `The divergence from the reference is ${short(seen.value)} nats`);
  },
};

const norms = ['actor/grad_norm', 'critic/grad_norm'];

const gradientExplodes: Rule = {
  name: 'gradient-explodes',
  title: 'The gradient explodes',
  when: `a recent gradient norm is at least ${spikeFactor} times the median of the run, and at least ${leastSpike}`,
  advice:
    'Set clip_grad (1.0) and use a smaller learning rate. Look at the batch of that step: one reward or advantage is often far larger than the others.',
  look: (run) => {
    for (const metric of norms) {
      const points = run.points('trainer', metric);
      const usual = medianOf(valuesOf(points));
      const seen = recently(run, 'trainer', metric, most);
      if (!seen || seen.value < leastSpike || seen.value < spikeFactor * usual) continue;
      return {
        text: `${metric} reached ${short(seen.value)} in ${stepsOf(seen)}; its median is ${short(usual)}.`,
        numbers: [{ ...seen, statistic: 'largest' }],
      };
    }
    return undefined;
  },
};

const notFinite: Rule = {
  name: 'not-finite',
  title: 'Numbers are no longer finite',
  when: 'a recent loss or gradient norm is not finite (written as null, or -1)',
  advice:
    'Use a smaller learning rate, clip gradients, and look at the rewards of that step for a huge number. Resume from the checkpoint before.',
  explains: ['gradient-explodes', 'updates-skipped'],
  look: (run) => {
    for (const metric of [...norms, 'actor/final_loss', 'critic/vf_loss']) {
      const isBad = ({ value }: Point): boolean =>
        !Number.isFinite(value) || (value === -1 && norms.includes(metric));
      const bad = recent(run.points('trainer', metric)).filter(isBad);
      const [first] = bad;
      if (!first) continue;
      const to = bad.at(-1)?.step ?? first.step;
      return {
        text: `${metric} was not finite in ${bad.length} recent steps, the first of them train step ${first.step}.`,
        numbers: [
          {
            ...{ role: 'trainer', metric, from: first.step, to, value: bad.length },
            statistic: 'steps that are not finite',
          },
        ],
      };
    }
    return undefined;
  },
};

const skipped = shareRule({
  name: 'updates-skipped',
  title: 'Train steps change nothing',
  when: `at least ${percent(skippedShare)} of the recent steps are marked as actor/update_skipped`,
  advice:
    'Such a batch has no trained token, or its gradient was not finite. Look at the operators that mask or drop answers, and at the log.',
  role: 'trainer',
  counted: ['actor/update_skipped'],
  atLeast: skippedShare,
  says: (steps) => `of ${steps} updated nothing`,
});

const noGradient: Rule = {
  name: 'no-gradient',
  title: 'The gradient is 0',
  when: `actor/grad_norm is 0 in at least ${percent(zeroShare)} of the recent steps`,
  advice:
    'All advantages are 0, all tokens are masked, or the policy loss of a plugin sets no gradient. Look at sample/zero_advantage_ratio, at experience_pipeline/... and at the weights of the reward.',
  look: (run) => {
    const seen = recently(run, 'trainer', 'actor/grad_norm', zerosIn);
    if (!seen || seen.value < zeroShare || isSolved(run)) return undefined;
    return {
      text: `actor/grad_norm was 0 in ${percent(seen.value)} of ${stepsOf(seen)}.`,
      numbers: [{ ...seen, statistic: 'share of steps with 0' }],
    };
  },
};

const zeroRate: Rule = {
  name: 'zero-learning-rate',
  title: 'The learning rate is 0',
  when: 'actor/lr is 0 in all recent steps',
  advice:
    'Look at optimizer.lr and its schedule: lr_scheduler_type: cosine leaves nothing at the end of total_steps.',
  look: (run) => {
    const seen = recently(run, 'trainer', 'actor/lr', most);
    if (!seen || seen.value > 0) return undefined;
    return { text: `actor/lr was 0 in ${stepsOf(seen)}.`, numbers: [seen] };
  },
};

const mismatch: Rule = {
  name: 'sampler-mismatch',
  title: 'Trainer and sampler disagree about the same weights',
  when: `the recent mean of training/rollout_logprobs_diff_mean is above ${mismatchNats} nats, or that of training/rollout_ess below ${leastShare}, although no data is stale (sample/staleness/max is 0)`,
  advice:
    'Compare number formats and temperatures of both engines, and whether the sampler has the newest weights ("trinity verify"); algorithm.rollout_correction limits the harm.',
  look: (run) => {
    const seen = recently(run, 'trainer', 'training/rollout_logprobs_diff_mean');
    const staleness = recently(run, 'trainer', 'sample/staleness/max', most);
    if (!seen || !staleness || staleness.value > 0) return undefined;
    const share = recently(run, 'trainer', 'training/rollout_ess');
    if (share && share.value < leastShare)
      return {
        text: `The effective sample size of fresh tokens is ${short(share.value)} on average in ${stepsOf(share)}; engines with the same weights have 0.99 or more.`,
        numbers: [share, seen, staleness],
      };
    if (seen.value <= mismatchNats) return undefined;
    return {
      text: `Log-probabilities of the same tokens differ by ${short(seen.value)} nats on average in ${stepsOf(seen)}.`,
      numbers: [seen, staleness],
    };
  },
};

const criticBlind: Rule = {
  name: 'critic-blind',
  title: 'The critic predicts nothing',
  when: `after ${criticSteps} steps, the recent mean of critic/vf_explained_var is 0 or less`,
  advice:
    'Give the critic a larger learning rate or more steps alone (critic_warmup), or take an algorithm without one (grpo, rloo).',
  look: (run) => {
    if (run.points('trainer', 'critic/vf_explained_var').length < criticSteps) return undefined;
    const seen = recently(run, 'trainer', 'critic/vf_explained_var');
    if (!seen || seen.value > 0 || isSolved(run)) return undefined;
    return {
      text: `The critic explains ${percent(seen.value)} of the variance of the returns in ${stepsOf(seen)}.`,
      numbers: [seen],
    };
  },
};

export const learningRules: readonly Rule[] = [
  entropyCollapse,
  ratioExplodes,
  klExplodes,
  referenceDrift,
  gradientExplodes,
  notFinite,
  skipped,
  zeroRate,
  noGradient,
  mismatch,
  criticBlind,
];
