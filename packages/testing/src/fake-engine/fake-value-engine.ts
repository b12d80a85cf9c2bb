/**
 * A small, exact critic with real gradients, AdamW and checkpoints. Its model is a float64 table
 * with one value per token id.
 */
import { createRandom } from '@trinity-rft/core';
import type { ValueEngine, TokenBatch, ValuePass } from '@trinity-rft/core/engine';
import { adamStep, createAdamState } from './adamw.js';
import { loadFolder, saveFolder } from './checkpoint.js';
import { createFailures } from './failures.js';
import { assertLength, eachResponseToken, responseOffsets } from './trainer.js';

export interface FakeValueEngineOptions {
  /** Number of token ids, V. @default 16 */
  readonly vocabSize?: number;
  /** Seed for the initial values. @default 0 */
  readonly seed?: number;
  /** Standard deviation of the initial values. @default 0.5 */
  readonly scale?: number;
}

type FakeValueVerb = Exclude<keyof ValueEngine, 'stats' | 'close'>;

export interface FakeValueEngine extends ValueEngine {
  /**
   * Returns a copy of the table of values, indexed by token id. [V] The value of a state is the
   * entry of the state's last token.
   */
  weights(): Float64Array;
  /** Makes the next call of the method `verb` reject with `error`, without any other effect. */
  failNext(verb: FakeValueVerb, error: Error): void;
}

/** Creates a critic whose model is a table with one value per token id. */
export function fakeValueEngine(options: FakeValueEngineOptions = {}): FakeValueEngine {
  const { vocabSize = 16, seed = 0, scale = 0.5 } = options;
  const random = createRandom(seed);
  const gradient = new Float64Array(vocabSize);
  const failures = createFailures<FakeValueVerb>();
  let weights = Float64Array.from({ length: vocabSize }, () => scale * random.normal());
  let optimizer = createAdamState(vocabSize);
  return {
    forward: async (batch) => {
      failures.enter('forward');
      return valuePass(weights, batch);
    },
    backward: async (pass, gradients) => {
      failures.enter('backward');
      assertLength('gradients', gradients, pass.offsets);
      eachResponseToken(
        pass.batch,
        pass.offsets,
        ({ previous, index }) => (gradient[previous]! += gradients[index]!),
      );
    },
    step: async (options) => {
      failures.enter('step');
      const stats = adamStep(weights, gradient, optimizer, options);
      gradient.fill(0);
      return stats;
    },
    save: async (directory, options) => {
      failures.enter('save');
      const model = { modelType: 'fake_values', vocabSize, weights: weights.slice() } as const;
      await saveFolder(directory, model, options.optimizer ? optimizer : undefined);
    },
    load: async (directory) => {
      failures.enter('load');
      const found = await loadFolder(directory, vocabSize);
      weights = found.weights as typeof weights;
      optimizer = found.optimizer ?? createAdamState(vocabSize);
      gradient.fill(0);
    },
    stats: async () => ({ 'perf/parameters': vocabSize }),
    close: () => Promise.resolve(failures.close()),
    weights: () => weights.slice(),
    failNext: (verb, error) => failures.failNext(verb, error),
  };
}

/**
 * Returns one value for each response token. It is the table's value for the token before the
 * response token.
 */
function valuePass(weights: Float64Array, batch: TokenBatch): ValuePass {
  const offsets = responseOffsets(weights.length, batch);
  const values = new Float32Array(offsets.at(-1)!);
  eachResponseToken(batch, offsets, ({ previous, index }) => (values[index] = weights[previous]!));
  return { batch, offsets, values };
}
