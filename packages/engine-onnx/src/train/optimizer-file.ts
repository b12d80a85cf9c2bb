/** Optimizer state as named tensors, as checkpoints store it. */
import type { ParameterSpec } from '../model/parameters.js';
import type { GraphRuntime } from '../runtime/graph-runtime.js';
import { sharedNumbers } from '../runtime/shared-numbers.js';
import type { Optimizer, OptimizerState } from './adamw.js';

/** A tensor of the optimizer state: a view of a part of the moments. */
export interface MomentTensor {
  /** `exp_avg.<parameter>` or `exp_avg_sq.<parameter>`, which are torch's names for the moments. */
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** Returns views of the moments by name. Writing to a view changes the state. */
export function momentTensors(
  specs: readonly ParameterSpec[],
  state: OptimizerState,
): readonly MomentTensor[] {
  return specs.flatMap(({ name, shape, offset, size }) => [
    { name: `exp_avg.${name}`, shape, data: state.first.subarray(offset, offset + size) },
    { name: `exp_avg_sq.${name}`, shape, data: state.second.subarray(offset, offset + size) },
  ]);
}

/**
 * Creates an optimizer state with zero moments, which can be written through the views of {@link
 * momentTensors}.
 */
export function blankOptimizer(specs: readonly ParameterSpec[], step: number): OptimizerState {
  const size = specs.reduce((sum, spec) => sum + spec.size, 0);
  return { step, first: sharedNumbers(size), second: sharedNumbers(size) };
}

/** Reads the moments into arrays for {@link momentTensors}. */
export const readOptimizer = async (
  runtime: GraphRuntime,
  { step, first, second }: Optimizer,
): Promise<OptimizerState> => ({
  step,
  first: await runtime.readSet(first),
  second: await runtime.readSet(second),
});
