/**
 * Converts scored experiences to the experiences that are stored: applies operators, computes
 * advantages and sets the shape.
 */
import type { AdvantageFn, Experience, ExperienceOperator, Metrics } from '@trinity-rft/core';
import { mergeCalls, prefixMetrics, type ExperienceShape } from '@trinity-rft/core/internal';
import type { RowFeedback } from '@trinity-rft/core/store';
import { isPending } from './late-groups.js';
import { isOk } from './runs/outcome.js';
import type { UsableOutcome } from './runs/wait-for-enough.js';

export interface PipelineOptions {
  /** Operators that are applied before advantages are computed, in order. @default no operators */
  readonly operators?: readonly ExperienceOperator[];
  /** Computes advantages. @default no advantages */
  readonly advantage?: AdvantageFn;
  /**
   * Shape in which experiences are stored. Advantages are computed per model call, regardless of
   * the shape.
   * @default "step"
   */
  readonly experienceShape?: ExperienceShape;
}

export interface PipelineResult {
  /** Experiences to store; may be empty. */
  readonly experiences: readonly Experience[];
  /**
   * Metrics under `experience_pipeline/`: those of operators, prefixed with the operator's name;
   * those of the advantage function and of the shape, without a prefix; `filtered_count` (number of
   * experiences that operators and the advantage function dropped); and `experience_count` (number
   * of stored experiences).
   */
  readonly metrics: Metrics;
  /** Feedback of all operators, for task selectors. */
  readonly feedback: readonly RowFeedback[];
}

/** Result of an explore step. */
export interface Explored extends PipelineResult {
  readonly outcomes: readonly UsableOutcome[];
  /**
   * Input of the pipeline: experiences of tasks that wait for no reward, and late experiences of
   * earlier steps.
   */
  readonly collected: readonly Experience[];
}

export interface ExploredOptions extends Omit<PipelineOptions, 'experienceShape'> {
  readonly settings: Pick<PipelineOptions, 'experienceShape'>;
  /** Experiences of earlier steps whose rewards have arrived since. @default empty */
  readonly late?: readonly Experience[];
}

export function exploredOf(
  outcomes: readonly UsableOutcome[],
  { operators, advantage, settings: { experienceShape }, late = [] }: ExploredOptions,
): Explored {
  const scored = outcomes.filter((outcome) => !isPending(outcome));
  const own = scored.flatMap(({ runs }) => runs.filter(isOk).flatMap((run) => run.experiences));
  const collected = [...late, ...own];
  const result = runPipeline(collected, { operators, advantage, experienceShape });
  return { ...result, outcomes, collected };
}

export function runPipeline(
  experiences: readonly Experience[],
  { operators = [], advantage, experienceShape }: PipelineOptions,
): PipelineResult {
  const operated = applyOperators(experiences, operators);
  const droppedAll = operated.experiences.length === 0 && experiences.length > 0;
  const scored =
    advantage && !droppedAll
      ? advantage(operated.experiences)
      : { experiences: operated.experiences, metrics: {} };
  const shaped =
    experienceShape === 'trajectory'
      ? mergeCalls(scored.experiences)
      : { experiences: scored.experiences, metrics: {} };

  const dropped = operated.filtered + (scored.metrics['filtered_count'] ?? 0);
  const mayDrop = operators.length > 0 || 'filtered_count' in scored.metrics;
  const metrics = {
    ...operated.metrics,
    ...scored.metrics,
    ...shaped.metrics,
    ...(mayDrop && { filtered_count: dropped }),
    experience_count: shaped.experiences.length,
  };
  return {
    experiences: shaped.experiences,
    metrics: prefixMetrics('experience_pipeline', metrics),
    feedback: operated.feedback,
  };
}

function applyOperators(
  experiences: readonly Experience[],
  operators: readonly ExperienceOperator[],
): PipelineResult & { readonly filtered: number } {
  let current = experiences;
  let filtered = 0;
  let all: Metrics = {};
  const feedback: RowFeedback[] = [];
  for (const [index, operator] of operators.entries()) {
    const { name } = operator;
    const { experiences: next, metrics, feedback: own = [] } = operator.apply(current);
    feedback.push(...own);
    const before = operators.slice(0, index).filter((other) => other.name === name).length;
    filtered += metrics['filtered_count'] ?? 0;
    all = { ...all, ...prefixMetrics(before === 0 ? name : `${name}_${before + 1}`, metrics) };
    current = next;
  }
  return { experiences: current, metrics: all, feedback, filtered };
}
