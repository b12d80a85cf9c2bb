/** Lists the parts of a stage's algorithm with all arguments, including defaults. */
import type { PartConfig, StageConfig } from '../resolve/base/resolved.js';
import { toYaml } from '../schema/args.js';

/** A part of an algorithm, or an operator of a pipeline. Names are those of the YAML file. */
export interface PlannedPart {
  /**
   * Key in YAML, such as `policy_loss_fn`; `task_operator` or `operator` for operators of a
   * pipeline.
   */
  readonly key: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * Returns the parts of a stage in the order in which they are applied. Omits parts that are `none`.
 */
export function planParts({ algorithm, dataProcessor }: StageConfig): readonly PlannedPart[] {
  const { advantageFn, policyLossFn, klLossFn, klPenaltyFn, entropyLossFn, sampleStrategy } =
    algorithm;
  const { taskPipeline, experiencePipeline } = dataProcessor;
  const parts: readonly (readonly [string, PartConfig | undefined])[] = [
    ...(taskPipeline?.operators ?? []).map((operator) => ['task_operator', operator] as const),
    ...experiencePipeline.operators.map((operator) => ['operator', operator] as const),
    ['sample_strategy', sampleStrategy],
    ['kl_penalty_fn', klPenaltyFn],
    ['advantage_fn', advantageFn],
    ['policy_loss_fn', policyLossFn],
    ['kl_loss_fn', klLossFn],
    ['entropy_loss_fn', entropyLossFn],
  ];
  return parts.flatMap(([key, part]) =>
    part === undefined || part.name === 'none'
      ? []
      : [{ key, name: part.name, args: toYaml(part.args) }],
  );
}
