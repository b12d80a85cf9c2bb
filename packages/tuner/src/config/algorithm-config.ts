/** `AlgorithmConfig`: how is learned. */
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
  /** Any name that `algorithm.algorithm_type` takes. @default "multi_step_grpo" */
  readonly algorithmType?: string | undefined;
  /** @default 1e-6 */
  readonly learningRate?: number | undefined;
  /** Runs of each task, compared with each other. @default 8 */
  readonly groupSize?: number | undefined;
  /** Tasks per explore step. @default 32 */
  readonly batchSize?: number | undefined;
  /** Train steps between checkpoints. @default 100 */
  readonly saveIntervalSteps?: number | undefined;
  /** Explore steps between evaluations. @default 100 */
  readonly evalIntervalSteps?: number | undefined;
}

export type AlgorithmConfig = z.output<typeof schema>;

/** @throws ConfigError naming each wrong field */
export function AlgorithmConfig(fields: AlgorithmFields = {}): AlgorithmConfig {
  return checkFields('AlgorithmConfig', schema, fields);
}
