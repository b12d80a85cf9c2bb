/** From scored experiences to what is stored. */
import { mergeCalls, prefixMetrics, type AdvantageFn, type Experience, type ExperienceShape, type Metrics } from '@trinity-rft/core';

export interface PipelineOptions {
  /** @default none: the experiences are stored as they are */
  readonly advantage?: AdvantageFn;
  /** What is stored; advantages are computed per model call either way. @default "step" */
  readonly experienceShape?: ExperienceShape;
}

/** Advantages, then the shape. Metrics are under `experience_pipeline/`. */
export function applyAdvantage(
  experiences: readonly Experience[],
  { advantage, experienceShape }: PipelineOptions,
): { readonly experiences: readonly Experience[]; readonly metrics: Metrics } {
  const scored = advantage ? advantage(experiences) : { experiences, metrics: {} };
  const { experiences: shaped, metrics } =
    experienceShape === 'trajectory' ? mergeCalls(scored.experiences) : { experiences: scored.experiences, metrics: {} };
  return {
    experiences: shaped,
    metrics: {
      ...prefixMetrics('experience_pipeline', { ...scored.metrics, ...metrics }),
      'experience_pipeline/experience_count': shaped.length,
    },
  };
}
