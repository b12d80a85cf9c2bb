import type { TokenBatch, ValuePass } from '@trinity-rft/core/engine';
import type { ModelConfig } from '../model/config.js';
import { GraphTrainer, type TrainerOptions, type TrainingHead } from '../train/graph-trainer.js';
import {
  assertFinite,
  assertPerToken,
  checkedRows,
  responseOffsets,
  tokenCount,
} from '../train/rows.js';
import { valueGradientGraph, valueGraph } from './value-graphs.js';

type GraphKind = 'values' | 'gradients';

/**
 * Trains a critic, whose config has `head: 'value'`. Callers must make one call at a time, as
 * `ValueEngine` requires.
 */
export class ValueTrainer extends GraphTrainer<GraphKind> {
  constructor(options: TrainerOptions) {
    super(options, valueHead(options.config));
  }

  /**
   * Computes the value of the position before each response token. This position is the state from
   * which the token was sampled. Temperatures have no effect.
   * @throws EngineError naming the row when it cannot be read or its value is not finite
   */
  async forward(batch: TokenBatch): Promise<ValuePass> {
    const offsets = responseOffsets(batch);
    const rows = checkedRows(batch, offsets, this.config);
    const { values } = await this.read(
      'values',
      this.weights.training.arrays,
      rows,
      tokenCount(offsets),
      ['values'],
    );
    assertFinite('The value', values, offsets);
    return { batch, offsets, values };
  }

  /**
   * Accumulates the gradient of sum(gradients * values) with respect to the current weights. Skips
   * rows whose gradients are all 0.
   * @throws EngineError naming the row when a gradient is not finite; in this case nothing is added
   */
  async backward(
    { batch, offsets }: Pick<ValuePass, 'batch' | 'offsets'>,
    gradients: Float32Array,
  ): Promise<void> {
    assertPerToken('The gradients of values', gradients, offsets);
    assertFinite('The gradient of the value', gradients, offsets);
    await this.accumulate('gradients', checkedRows(batch, offsets, this.config), {
      grad_values: gradients,
    });
  }
}

function valueHead(config: ModelConfig): TrainingHead<GraphKind> {
  return {
    chunks: 1,
    isLanguageModel: false,
    graph: (kind, { parts }) =>
      kind === 'values' ? valueGraph(config, parts) : valueGradientGraph(config),
    inputs: () => ({}),
  };
}
