/** Whether there is somebody to learn from, where the algorithm learns from a teacher. */
import type { AlgorithmConfig, AuxiliaryModelConfig } from './base/resolved.js';
import type { StageContext } from './base/context.js';

/** A warning only: a workflow may know a teacher of its own. */
export function checkTeacher(
  context: StageContext,
  { needs, algorithmType }: AlgorithmConfig,
  models: readonly AuxiliaryModelConfig[],
): void {
  const { mode } = context.input;
  if (!needs.teacherLogprobs || models.length > 0 || (mode !== 'both' && mode !== 'colocate'))
    return;
  const key = context.isSet('algorithm', 'advantage_fn') ? 'advantage_fn' : 'algorithm_type';
  context.warn(
    ['algorithm', key],
    `${algorithmType} learns from what a teacher thinks of every token, and explorer.auxiliary_models is empty. Add the teacher there, and take a workflow that asks it, such as on_policy_distill_workflow.`,
  );
}
