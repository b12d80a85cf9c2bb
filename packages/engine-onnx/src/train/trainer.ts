/**
 * The trainer of the embedded engine, which computes scores and gradients and makes optimizer
 * steps. It runs in a worker thread, because executing a graph blocks the thread.
 */
import type {
  ForwardOptions,
  ForwardPass,
  TokenBatch,
  TokenGradients,
} from '@trinity-rft/core/engine';
import type { ModelConfig } from '../model/config.js';
import { forwardGraph } from '../model/training-graphs.js';
import type { ArraySet } from '../runtime/graph-runtime.js';
import { floats, ints } from '../runtime/host-arrays.js';
import { GraphTrainer, isActive, type TrainerOptions, type TrainingHead } from './graph-trainer.js';
import { headChunks } from './memory.js';
import { assertFinite, assertPerToken, checkedRows, responseOffsets, tokenCount } from './rows.js';
import { allParameters, type Trainable } from './trainable.js';

type GraphKind =
  | 'forward'
  | 'forward+entropy'
  | 'forward+entropy+necs'
  | 'backward'
  | 'backward+logprobs'
  | 'backward+entropy';

/** Trainer of a language model. Callers must make one call at a time, as `TrainEngine` requires. */
export class OnnxTrainer extends GraphTrainer<GraphKind> {
  /** True if the gradient graphs return the same log-probabilities as the scoring graph. */
  readonly #hasOneForward: boolean;

  constructor(options: TrainerOptions) {
    const trainable = options.trainable ?? allParameters(options.config, options.weights);
    super({ ...options, trainable }, languageHead(options.config, trainable));
    this.#hasOneForward = trainable.quantized === undefined;
  }

  /**
   * Computes the log-probability, and if requested the entropy and `necs`, of every response token.
   * The log-probabilities equal those that the sampler reports bit for bit.
   * @throws EngineError naming the row when a row cannot be scored or its result is not finite
   */
  async forward(batch: TokenBatch, options: ForwardOptions = {}): Promise<ForwardPass> {
    const offsets = responseOffsets(batch);
    const rows = checkedRows(batch, offsets, this.config);
    const feeds =
      options.weights === 'reference' ? this.weights.reference.arrays : await this.trainingFeeds();
    const { kind, outputs } = forwardKind(options);
    const found: Pick<ForwardPass, 'logprobs' | 'entropy' | 'necs'> = await this.read(
      kind,
      feeds,
      rows,
      tokenCount(offsets),
      outputs,
    );
    for (const name of outputs) {
      const numbers = found[name];
      if (numbers) assertFinite(`The ${forwardNames[name]}`, numbers, offsets);
    }
    return { batch, offsets, ...found };
  }

  /**
   * Combines {@link forward} and {@link backward} in one pass, for gradients that do not depend on
   * the log-probabilities. Rows without a gradient are only scored. With quantised weights, all
   * rows are scored separately as well.
   * @throws EngineError like both methods; a gradient may already have been added
   */
  async forwardBackward(batch: TokenBatch, gradients: Float32Array): Promise<ForwardPass> {
    const offsets = responseOffsets(batch);
    assertPerToken('The gradients of logprobs', gradients, offsets);
    assertFinite('The gradient of the log-probability', gradients, offsets);
    const rows = checkedRows(batch, offsets, this.config);
    const still = rows.filter((row) => !this.#hasOneForward || !isActive(row, gradients));
    const feeds = await this.trainingFeeds();
    const { logprobs } = await this.read('forward', feeds, still, gradients.length, ['logprobs']);
    const into = this.#hasOneForward ? logprobs : undefined;
    await this.accumulate('backward+logprobs', rows, { grad_logprobs: gradients }, into);
    assertFinite('The log-probability', logprobs, offsets);
    return { batch, offsets, logprobs };
  }

  /**
   * Computes log-probabilities with the given weights. The caller must check that they are finite.
   */
  async score(
    batch: TokenBatch,
    { arrays }: ArraySet,
  ): Promise<Pick<ForwardPass, 'offsets' | 'logprobs'>> {
    const offsets = responseOffsets(batch);
    const rows = checkedRows(batch, offsets, this.config);
    return {
      offsets,
      ...(await this.read('forward', arrays, rows, tokenCount(offsets), ['logprobs'])),
    };
  }

  /**
   * Accumulates the gradient of sum(gradients * outputs) with respect to the current weights. Skips
   * rows whose gradients are all 0.
   * @throws EngineError naming the row when a gradient is not finite; in this case nothing is added
   */
  async backward(pass: ForwardPass, gradients: TokenGradients): Promise<void> {
    const { logprobs, entropy } = gradients;
    assertPerToken('The gradients of logprobs', logprobs, pass.offsets);
    if (entropy) assertPerToken('The gradients of entropy', entropy, pass.offsets);
    assertFinite('The gradient of the log-probability', logprobs, pass.offsets);
    if (entropy) assertFinite('The gradient of the entropy', entropy, pass.offsets);
    const rows = checkedRows(pass.batch, pass.offsets, this.config);
    if (entropy && rows.some((row) => isActive(row, entropy))) {
      await this.accumulate('backward+entropy', rows, {
        grad_logprobs: logprobs,
        grad_entropy: entropy,
      });
    } else {
      await this.accumulate('backward', rows, { grad_logprobs: logprobs });
    }
  }
}

const forwardNames = {
  logprobs: 'log-probability',
  entropy: 'entropy',
  necs: 'expectation over the vocabulary',
} as const;

/**
 * Selects the smallest graph that computes the requested outputs. Returns its kind and the names of
 * these outputs.
 */
function forwardKind({ entropy = false, necs = false }: ForwardOptions) {
  const kind: GraphKind = necs ? 'forward+entropy+necs' : entropy ? 'forward+entropy' : 'forward';
  const asked = { logprobs: true, entropy, necs };
  const outputs = (['logprobs', 'entropy', 'necs'] as const).filter((name) => asked[name]);
  return { kind, outputs };
}

function languageHead(config: ModelConfig, trainable: Trainable): TrainingHead<GraphKind> {
  const chunks = headChunks(config);
  return {
    chunks,
    isLanguageModel: true,
    graph: (kind, { parts }, branching) => {
      const options = { entropy: kind.includes('+entropy'), chunks, branching };
      if (!kind.startsWith('forward'))
        return trainable.backwardGraph({ ...options, logprobs: kind.endsWith('+logprobs') });
      return forwardGraph(config, { ...options, necs: kind.endsWith('+necs'), parts });
    },
    inputs: ({ targets, inverseTemperature, padded }) => ({
      targets: ints(targets, [padded, 1]),
      inverse_temperature: floats(inverseTemperature, [padded, 1]),
    }),
  };
}
