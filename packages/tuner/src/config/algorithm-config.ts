/** `AlgorithmConfig`: the algorithm, its group and batch sizes, and its intervals. */
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
  /** Any value of `algorithm.algorithm_type`. @default "multi_step_grpo" */
  readonly algorithmType?: string;
  /** Learning rate of the optimizer. @default 1e-6 */
  readonly learningRate?: number;
  /** Rollouts per task, whose rewards are compared with each other. @default 8 */
  readonly groupSize?: number;
  /** Tasks per explore step. @default 32 */
  readonly batchSize?: number;
  /** Train steps between checkpoints. @default 100 */
  readonly saveIntervalSteps?: number;
  /** Explore steps between evaluations. @default 100 */
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
