/**
 * Defines `AlgorithmConfig`: the algorithm, the group and batch sizes, and the intervals between
 * checkpoints and evaluations.
 */
import { z } from 'zod';
import { checkFields, count, text } from './fields.js';

const schema = z.strictObject({
  algorithmType: text.default('multi_step_grpo'),
  learningRate: z.number().gt(0).default(1e-6),
  groupSize: count.default(8),
  batchSize: count.default(32),
  saveIntervalSteps: count.default(100),
  evalIntervalSteps: count.default(100),
});

export interface AlgorithmFields {
  /** Name of the algorithm: any value of `algorithm.algorithm_type`. @default "multi_step_grpo" */
  readonly algorithmType?: string;
  /** Learning rate of the optimizer. @default 1e-6 */
  readonly learningRate?: number;
  /** Number of rollouts per task. Their rewards are compared with each other. @default 8 */
  readonly groupSize?: number;
  /** Number of tasks per explore step. @default 32 */
  readonly batchSize?: number;
  /** Number of train steps between checkpoints. @default 100 */
  readonly saveIntervalSteps?: number;
  /** Number of explore steps between evaluations. @default 100 */
  readonly evalIntervalSteps?: number;
}

export type AlgorithmConfig = z.output<typeof schema>;

/**
 * Validates the fields and adds the defaults.
 * @throws ConfigError naming each invalid field
 */
export function AlgorithmConfig(fields: AlgorithmFields = {}): AlgorithmConfig {
  return checkFields('AlgorithmConfig', schema, fields);
}
