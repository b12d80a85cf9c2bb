/** Compares the results of two variants for the same recorded rollouts. */
import {
  runKey,
  type Eid,
  type Experience,
  type Metrics,
  groupBy,
  mean,
  meanMetrics,
  taskKey,
} from '@trinity-rft/core';
import { cosine, rankAgreement, ranksOf } from './agreement.js';
import { evaluateBatch, type BatchSignal, type RunSignal } from './evaluate.js';
import { withoutAdvantages, withRewards, type TaskOf } from './rewards.js';
import { partsOf, type PartsContext, type Variant } from './variant.js';

export interface WhatIfOptions extends PartsContext {
  /** Variant to compare with. @default grpo with the recorded rewards */
  readonly before?: Variant | undefined;
  readonly after: Variant;
  /**
   * Finds the task of an experience, for reward functions that compare with an expected answer.
   * @default no tasks
   */
  readonly taskOf?: TaskOf | undefined;
  /**
   * Assumed policy drift since the responses were sampled: standard deviation of the change of
   * log-probabilities, in nats. With 0 all importance ratios are 1, and losses that differ only in
   * clipping are equal.
   * @default 0
   */
  readonly drift?: number | undefined;
}

export interface RankedRun extends RunSignal {
  /** Rank by advantage, where 1 is the largest; equal advantages have equal ranks. */
  readonly rank: number;
}

export interface ComparedRun {
  readonly run: number;
  readonly before: RankedRun;
  readonly after: RankedRun;
}

export interface ComparedGroup {
  /** Number of the explore step. */
  readonly batch: Eid['batch'];
  /** Id of the task within the explore step. */
  readonly task: Eid['task'];
  /** Rollouts ordered by their advantages in `after`, the best first. */
  readonly runs: readonly ComparedRun[];
  /**
   * Kendall's tau-b of the two rankings of the rollouts; undefined if one of the variants gives all
   * rollouts equal advantages.
   */
  readonly agreement: number | undefined;
}

/** Results of one variant for all groups. */
export interface VariantSummary {
  /** Number of groups in which a rollout has an advantage other than 0. */
  readonly groupsWithSignal: number;
  readonly runsWithSignal: number;
  readonly meanReward: number | undefined;
  /** Mean absolute advantage of all rollouts. */
  readonly meanAbsAdvantage: number;
  /**
   * L2 norm of the loss's derivatives with respect to the log-probabilities of all trained tokens
   * of an explore step, averaged over steps. The norm measures the size of the signal, not the size
   * of the weight change.
   */
  readonly gradientNorm: number;
  /** Mean loss over explore steps. */
  readonly loss: number;
  readonly metrics: Metrics;
}

export interface WhatIf {
  readonly groups: readonly ComparedGroup[];
  readonly before: VariantSummary;
  readonly after: VariantSummary;
  /** Mean of `agreement` over the groups in which it is defined; undefined if there are none. */
  readonly agreement: number | undefined;
  /** Share of rollouts whose advantages have opposite signs in the two variants. */
  readonly signChanges: number;
  /** Cosine of the two gradients over all tokens; undefined if one of them is 0. */
  readonly gradientCosine: number | undefined;
}

/**
 * Compares two variants. Each explore step is one batch of the loss.
 * @throws ConfigError for parts that need a model, RewardError for answers that cannot be scored
 */
export async function whatIf(
  experiences: readonly Experience[],
  { before = {}, after, taskOf = () => undefined, drift = 0, ...context }: WhatIfOptions,
): Promise<WhatIf> {
  const [first, second] = [partsOf(before, context), partsOf(after, context)];
  const recorded = experiences.map(withoutAdvantages);
  const rewarded = ({ reward }: Variant): Promise<readonly Experience[]> | readonly Experience[] =>
    reward ? withRewards(recorded, reward, taskOf) : recorded;
  const evaluate = (all: readonly Experience[], parts: typeof first): readonly BatchSignal[] =>
    [...groupBy(all, ({ eid }) => String(eid.batch)).values()].map((batch, i) =>
      evaluateBatch(batch, parts, { nats: drift, seed: i }),
    );
  return compare(
    recorded,
    evaluate(await rewarded(before), first),
    evaluate(await rewarded(after), second),
  );
}

function compare(
  experiences: readonly Experience[],
  before: readonly BatchSignal[],
  after: readonly BatchSignal[],
): WhatIf {
  const runs = { before: merged(before), after: merged(after) };
  const groups = [...groupBy(experiences, ({ eid }) => taskKey(eid)).values()].flatMap((calls) =>
    compareGroup(calls, runs),
  );
  const agreements = groups.flatMap(({ agreement }) => agreement ?? []);
  const all = groups.flatMap((group) => group.runs);
  const opposite = all.filter((run) => run.before.advantage * run.after.advantage < 0);
  return {
    groups,
    before: summaryOf(groups, before, 'before'),
    after: summaryOf(groups, after, 'after'),
    agreement: agreements.length === 0 ? undefined : mean(agreements),
    signChanges: all.length === 0 ? 0 : opposite.length / all.length,
    gradientCosine: cosine(gradients(before), gradients(after)),
  };
}

type Runs = ReadonlyMap<string, RunSignal>;

const merged = (batches: readonly BatchSignal[]): Runs =>
  new Map(batches.flatMap(({ runs }) => [...runs]));
const gradients = (batches: readonly BatchSignal[]): ReadonlyMap<string, Float32Array> =>
  new Map(batches.flatMap((batch) => [...batch.gradients]));

function compareGroup(
  calls: readonly Experience[],
  { before, after }: { readonly before: Runs; readonly after: Runs },
): readonly ComparedGroup[] {
  const [first] = calls;
  if (!first) return [];
  const members = [...new Map(calls.map(({ eid }) => [runKey(eid), eid.run]))].flatMap(
    ([key, run]) => {
      const [own, other] = [before.get(key), after.get(key)];
      return own && other ? [{ run, before: own, after: other }] : [];
    },
  );
  const advantages = {
    before: members.map((member) => member.before.advantage),
    after: members.map((member) => member.after.advantage),
  };
  const [ranksBefore, ranksAfter] = [ranksOf(advantages.before), ranksOf(advantages.after)];
  const runs = members.map((member, i) => ({
    run: member.run,
    before: { ...member.before, rank: ranksBefore[i] ?? 0 },
    after: { ...member.after, rank: ranksAfter[i] ?? 0 },
  }));
  const { batch, task } = first.eid;
  return [
    {
      batch,
      task,
      runs: runs.toSorted((a, b) => a.after.rank - b.after.rank || a.run - b.run),
      agreement: rankAgreement(advantages.before, advantages.after),
    },
  ];
}

function summaryOf(
  groups: readonly ComparedGroup[],
  batches: readonly BatchSignal[],
  side: 'before' | 'after',
): VariantSummary {
  const runs = groups.flatMap((group) => group.runs.map((run) => run[side]));
  const rewards = runs.flatMap(({ reward }) => reward ?? []);
  const hasSignal = ({ advantage }: RunSignal): boolean => advantage !== 0;
  return {
    groupsWithSignal: groups.filter((group) => group.runs.some((run) => hasSignal(run[side])))
      .length,
    runsWithSignal: runs.filter(hasSignal).length,
    meanReward: rewards.length === 0 ? undefined : mean(rewards),
    meanAbsAdvantage: meanOr0(runs.map(({ advantage }) => Math.abs(advantage))),
    gradientNorm: meanOr0(batches.map(normOf)),
    loss: meanOr0(batches.map(({ loss }) => loss)),
    metrics: meanMetrics(batches.map(({ metrics }) => metrics)),
  };
}

const normOf = ({ runs }: BatchSignal): number =>
  Math.sqrt([...runs.values()].reduce((sum, { gradientNorm }) => sum + gradientNorm ** 2, 0));
const meanOr0 = (values: readonly number[]): number => (values.length === 0 ? 0 : mean(values));
