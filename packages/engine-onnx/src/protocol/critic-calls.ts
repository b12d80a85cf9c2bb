/** Messages between a critic and its worker thread. */
import type { Metrics, OptimizerOptions, StepStats } from '@trinity-rft/core';

import type { PackedBatch } from './engine-calls.js';

/** What the worker of a critic is started with. */
export interface CriticOptions {
  readonly modelPath: string;
  readonly threads: number;
  readonly memoryBudgetBytes: number;
}

/** Every call of a critic: its arguments and its answer. */
export interface CriticCalls {
  open: { args: Record<string, never>; result: { readonly parameters: number } };
  forward: {
    args: { batch: PackedBatch };
    result: { readonly offsets: Int32Array; readonly values: Float32Array };
  };
  backward: {
    args: { batch: PackedBatch; offsets: Int32Array; gradients: Float32Array };
    result: undefined;
  };
  step: { args: OptimizerOptions; result: StepStats };
  save: { args: { directory: string; optimizer: boolean }; result: undefined };
  load: { args: { directory: string }; result: undefined };
  stats: { args: Record<string, never>; result: Metrics };
}
