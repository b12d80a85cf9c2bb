/** Options of a critic's thread, and the calls that it handles. */
import type { TrainingMemory } from '../train/memory.js';
import type { Metrics } from '@trinity-rft/core';
import type { OptimizerOptions, StepStats } from '@trinity-rft/core/engine';

import type { PackedBatch } from './packing.js';

export interface CriticOptions {
  readonly modelPath: string;
  readonly threads: number;
  readonly memory: TrainingMemory;
}

export interface CriticMethods {
  open(): { readonly parameters: number };
  forward(call: { readonly batch: PackedBatch }): {
    readonly offsets: Int32Array;
    readonly values: Float32Array;
  };
  backward(call: {
    readonly batch: PackedBatch;
    readonly offsets: Int32Array;
    readonly gradients: Float32Array;
  }): void;
  step(options: OptimizerOptions): StepStats;
  save(call: { readonly directory: string; readonly optimizer: boolean }): void;
  load(call: { readonly directory: string }): void;
  stats(): Metrics;
}
