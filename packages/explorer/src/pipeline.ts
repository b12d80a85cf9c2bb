/** From scored experiences to what is stored: operators, advantages, shape. */
import {
  mergeCalls,
  prefixMetrics,
  type AdvantageFn,
  type Experience,
  type ExperienceOperator,
  type ExperienceShape,
  type Metrics,
} from '@trinity-rft/core';

export interface PipelineOptions {
  /** Applied before the advantages, in order. @default none */
  readonly operators?: readonly ExperienceOperator[];
  /** @default none: the experiences are stored as they are */
  readonly advantage?: AdvantageFn;
  /** What is stored; advantages are computed per model call either way. @default "step" */
  readonly experienceShape?: ExperienceShape;
}

export interface PipelineResult {
  /** May be empty. */
  readonly experiences: readonly Experience[];
  /**
   * Under `experience_pipeline/`: those of operators under their names, those of the advantage
   * function and the shape as they are, `filtered_count` (dropped, by all of them) and
   * `experience_count` (stored).
   */
  readonly metrics: Metrics;
}

export function runPipeline(
  experiences: readonly Experience[],
  { operators = [], advantage, experienceShape }: PipelineOptions,
): PipelineResult {
  const operated = applyOperators(experiences, operators);
  const scored =
    advantage && (operated.experiences.length > 0 || experiences.length === 0)
      ? advantage(operated.experiences)
      : { experiences: operated.experiences, metrics: {} };
  const { experiences: shaped, metrics } =
    experienceShape === 'trajectory'
      ? mergeCalls(scored.experiences)
      : { experiences: scored.experiences, metrics: {} };
  const dropped = operated.filtered + (scored.metrics['filtered_count'] ?? 0);
  const counts: Metrics =
    operators.length > 0 || 'filtered_count' in scored.metrics ? { filtered_count: dropped } : {};
  const all = {
    ...operated.metrics,
    ...scored.metrics,
    ...metrics,
    ...counts,
    experience_count: shaped.length,
  };
  return { experiences: shaped, metrics: prefixMetrics('experience_pipeline', all) };
}

function applyOperators(
  experiences: readonly Experience[],
  operators: readonly ExperienceOperator[],
): PipelineResult & { readonly filtered: number } {
  let current = experiences;
  let filtered = 0;
  let all: Metrics = {};
  for (const [index, operator] of operators.entries()) {
    const { name } = operator;
    const { experiences: next, metrics } = operator.apply(current);
    const before = operators.slice(0, index).filter((other) => other.name === name).length;
    filtered += metrics['filtered_count'] ?? 0;
    all = { ...all, ...prefixMetrics(before === 0 ? name : `${name}_${before + 1}`, metrics) };
    current = next;
  }
  return { experiences: current, metrics: all, filtered };
}
