/** Evaluates the weights in use on every task of the evaluation sets. */
import type { Metrics, Runtime, Task } from '@trinity-rft/core';
import { prefixMetrics } from '@trinity-rft/core/internal';
import type { ExplorerOptions } from './explorer-options.js';
import { evalMetrics } from './metrics/eval-metrics.js';
import type { FailureKind } from './runs/classify-failure.js';
import type { TaskOutcome } from './runs/outcome.js';

export interface EvaluationParts extends Pick<
  ExplorerOptions,
  'evalSets' | 'detailedStats' | 'runtime' | 'policyVersion' | 'onEvaluated'
> {
  readonly runTasks: (tasks: readonly Task[], what: string) => Promise<readonly TaskOutcome[]>;
}

/**
 * Evaluates every set with the weights in use. Returns the metrics of each set under
 * `<prefix>/<set>/` (see {@link evalMetrics}), the policy version under `<prefix>/model_version`,
 * and the duration in seconds as `time/eval`.
 */
export async function evaluate(
  { evalSets, detailedStats, runtime, policyVersion, runTasks, onEvaluated }: EvaluationParts,
  step: number,
  prefix = 'eval',
): Promise<Metrics> {
  const start = runtime.clock.now();
  let metrics: Metrics = { [`${prefix}/model_version`]: policyVersion() };
  for (const set of evalSets) {
    const outcomes = await runTasks(await set.tasks(step), `evaluation of ${set.name}`);
    warnOfBroken(set.name, outcomes, runtime);
    onEvaluated?.({ set: set.name, policyVersion: policyVersion(), outcomes });
    const ofSet = evalMetrics(outcomes, { detailed: detailedStats });
    metrics = { ...metrics, ...prefixMetrics(`${prefix}/${set.name}`, ofSet) };
  }
  return { ...metrics, 'time/eval': (runtime.clock.now() - start) / 1000 };
}

/**
 * Warns if rollouts failed because of their environment. Such failures lower the score, although
 * the policy is not the cause.
 */
function warnOfBroken(
  set: string,
  outcomes: readonly TaskOutcome[],
  { logger }: Pick<Runtime, 'logger'>,
): void {
  const runs = outcomes.flatMap((outcome) => outcome.runs);
  const broken = runs.filter((run) => run.status === 'failed' && isOfEnvironment(run.kind));
  if (broken.length === 0) return;
  logger.warn(
    `${broken.length} of ${runs.length} runs of the evaluation "${set}" were broken by their environment, and count as 0.`,
  );
}

const isOfEnvironment = (kind: FailureKind): boolean =>
  kind === 'environment_failed' || kind === 'environment_crashed';

/** Returns true if an evaluation is due after explore step `step`. */
export function isEvalStep(
  { evalSets, settings: { evalInterval } }: Pick<ExplorerOptions, 'evalSets' | 'settings'>,
  step: number,
): boolean {
  return evalSets.length > 0 && evalInterval !== undefined && step % evalInterval === 0;
}
