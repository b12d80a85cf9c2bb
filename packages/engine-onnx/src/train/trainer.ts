/** The training half of the embedded engine: scores, gradients and steps. Runs where its sessions block nobody: in a worker. */
import {
  EngineError,
  type ForwardOptions,
  type ForwardPass,
  type Metrics,
  type OptimizerOptions,
  type StepStats,
  type TokenBatch,
  type TokenGradients,
} from '@trinity-rft/core';
import { Tensor, type InferenceSession } from 'onnxruntime-node';
import { samplerAgreement, type Agreement } from '../model/column-parts.js';
import type { ModelConfig } from '../model/config.js';
import { RopeFeeds } from '../model/rope.js';
import { forwardGraph } from '../model/training-graphs.js';
import type { Feeds, WeightBuffers } from '../model/weights.js';
import { createSession } from '../runtime/session.js';
import { clipScale, globalNorm, type OptimizerState } from './adamw.js';
import type { GradientSum } from './gradient.js';
import { backwardCost, defaultMemoryBudget, forwardCost, headChunks } from './memory.js';
import { gatherPicked, planMicroBatches, scatterPicked, toArrays, type MicroBatch, type MicroBatchArrays } from './micro-batch.js';
import { blankOptimizer } from './optimizer-file.js';
import { assertFinite, checkedRows, responseOffsets, type Row } from './rows.js';
import { allParameters, type Trainable } from './trainable.js';

export interface OnnxTrainerOptions {
  readonly config: ModelConfig;
  readonly weights: WeightBuffers;
  /** @default all parameters */
  readonly trainable?: Trainable;
  /** Threads inside one operator. */
  readonly threads: number;
  /** Those of the sampler, whose bits the scores shall have. @default the same */
  readonly samplerThreads?: number;
  /** What activations of one micro-batch may take. @default 384 MiB */
  readonly memoryBudgetBytes?: number;
  /** Waits with a run until it is the trainer's turn. @default runs at once */
  readonly turn?: <T>(run: () => Promise<T>) => Promise<T>;
}

type SessionKind = 'forward' | 'forward+entropy' | 'backward' | 'backward+entropy';

/** Scoring needs far less than gradients; a smaller share keeps its arena small beside that of the backward graph. */
const forwardShare = 0.25;

/** Calls are made one at a time, as `TrainEngine` says. Weights are read at every call and replaced by {@link step}. */
export class OnnxTrainer {
  readonly #config: ModelConfig;
  readonly #weights: WeightBuffers;
  readonly #trainable: Trainable;
  readonly #threads: number;
  readonly #budget: number;
  readonly #chunks: number;
  readonly #rope: RopeFeeds;
  readonly #turn: NonNullable<OnnxTrainerOptions['turn']>;
  readonly #agreement: Agreement;
  readonly #sessions = new Map<SessionKind, InferenceSession>();
  #gradient: GradientSum | undefined;
  #optimizer: OptimizerState | undefined;
  #counts = emptyCounts();

  constructor(options: OnnxTrainerOptions) {
    this.#config = options.config;
    this.#weights = options.weights;
    this.#trainable = options.trainable ?? allParameters(options.config, options.weights);
    this.#threads = options.threads;
    this.#budget = options.memoryBudgetBytes ?? defaultMemoryBudget;
    this.#chunks = headChunks(options.config);
    this.#rope = new RopeFeeds(options.config);
    this.#turn = options.turn ?? ((run) => run());
    this.#agreement = samplerAgreement(options.config, options.threads, options.samplerThreads);
  }

  /**
   * Log-probability (and entropy) of every response token, with the bits that the sampler reports.
   * @throws EngineError naming the row when a row cannot be scored or its result is not finite
   */
  async forward(batch: TokenBatch, options: ForwardOptions = {}): Promise<ForwardPass> {
    const offsets = responseOffsets(batch);
    const rows = checkedRows(batch, offsets, this.#config);
    const set = options.weights === 'reference' ? this.#weights.reference : this.#weights.training;
    const wanted = options.entropy ?? false;
    const session = await this.#session(wanted ? 'forward+entropy' : 'forward');
    const logprobs = new Float32Array(offsets.at(-1)!);
    const entropy = wanted ? new Float32Array(logprobs.length) : undefined;
    for (const micro of planMicroBatches(rows, forwardCost(this.#config), this.#budget * forwardShare)) {
      const arrays = toArrays(micro, this.#chunks, this.#agreement.leastRows);
      const out = await this.#turn(() => session.run({ ...set.feeds, ...this.#feeds(micro, arrays) }));
      scatterPicked(micro, out['logprobs']!.data as Float32Array, logprobs);
      if (entropy) scatterPicked(micro, out['entropy']!.data as Float32Array, entropy);
      this.#counts.forwardTokens += micro.rows.length * micro.time;
      this.#counts.forwardRuns++;
    }
    assertFinite('The log-probability', logprobs, offsets);
    if (entropy) assertFinite('The entropy', entropy, offsets);
    return { batch, offsets, logprobs, ...(entropy && { entropy }) };
  }

  /**
   * Adds the gradient of sum(gradients * outputs) at the current weights. Rows whose gradients are all 0 are left out.
   * @throws EngineError naming the row when a gradient is not finite; nothing has been added then
   */
  async backward(pass: ForwardPass, gradients: TokenGradients): Promise<void> {
    assertShapes(pass, gradients);
    assertFinite('The gradient of the log-probability', gradients.logprobs, pass.offsets);
    if (gradients.entropy) assertFinite('The gradient of the entropy', gradients.entropy, pass.offsets);
    const rows = checkedRows(pass.batch, pass.offsets, this.#config);
    const active = rows.filter((row) => isActive(row, gradients.logprobs) || isActive(row, gradients.entropy));
    this.#counts.skippedRows += rows.length - active.length;
    if (active.length === 0) return;
    const entropy = active.some((row) => isActive(row, gradients.entropy)) ? gradients.entropy : undefined;
    const session = await this.#session(entropy ? 'backward+entropy' : 'backward');
    const sum = (this.#gradient ??= this.#trainable.newGradient());
    for (const micro of planMicroBatches(active, backwardCost(this.#config), this.#budget)) {
      const arrays = toArrays(micro, this.#chunks);
      const column = (numbers: Float32Array) => new Tensor('float32', gatherPicked(micro, numbers, arrays.padded), [arrays.padded, 1]);
      const feeds = {
        ...this.#weights.training.feeds,
        ...this.#trainable.feeds,
        ...this.#feeds(micro, arrays),
        spread: new Tensor('int32', arrays.spread, [arrays.spread.length]),
        grad_logprobs: column(gradients.logprobs),
        ...(entropy && { grad_entropy: column(entropy) }),
      };
      const out = await this.#turn(() => session.run(feeds));
      sum.add(out, arrays.ids);
      this.#counts.backwardTokens += micro.rows.length * micro.time;
      this.#counts.backwardRuns++;
    }
  }

  /** One AdamW update from the accumulated gradient, which is cleared. A gradient that is not finite changes nothing else. */
  async step(options: OptimizerOptions): Promise<StepStats> {
    const { learningRate, betas = [0.9, 0.999], epsilon = 1e-8, weightDecay = 0.01, clipGradNorm = 1 } = options;
    const sum = (this.#gradient ??= this.#trainable.newGradient());
    const gradient = sum.flat;
    const state = (this.#optimizer ??= blankOptimizer(this.#trainable.specs, 0));
    const gradNorm = globalNorm(gradient);
    const skipped = !Number.isFinite(gradNorm);
    if (!skipped) {
      const adam = { learningRate, betas, epsilon, weightDecay, gradientScale: clipScale(gradNorm, clipGradNorm) };
      await this.#trainable.update(gradient, state, adam);
    }
    sum.clear();
    return { step: state.step, gradNorm, skipped };
  }

  /** The accumulated gradient in the order of what is trained; a view, for inspection. `undefined` before the first backward. [P] */
  get gradient(): Float32Array | undefined {
    return this.#gradient?.flat;
  }

  /** Moments and counter, live: for writing a checkpoint between two calls. `undefined` before the first step. */
  get optimizer(): OptimizerState | undefined {
    return this.#optimizer;
  }

  /** Goes on from a checkpoint: `optimizer` as it was saved (not copied), or fresh moments. The accumulated gradient is dropped. */
  restore(optimizer?: OptimizerState): void {
    this.#optimizer = optimizer;
    this.#gradient?.clear();
  }

  /** Work done since the last call: padded positions and runs of each kind, and rows left out for having no gradient. */
  takeStats(): Metrics {
    const { forwardTokens, forwardRuns, backwardTokens, backwardRuns, skippedRows } = this.#counts;
    this.#counts = emptyCounts();
    return {
      'perf/forward_tokens': forwardTokens,
      'perf/forward_micro_batches': forwardRuns,
      'perf/backward_tokens': backwardTokens,
      'perf/backward_micro_batches': backwardRuns,
      'perf/rows_without_gradient': skippedRows,
    };
  }

  /** Frees the sessions. The weights belong to whoever made them. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of sessions) await session.release();
  }

  #feeds(micro: MicroBatch, arrays: MicroBatchArrays): Feeds {
    return {
      ...this.#rope.feeds(micro.time),
      ids: new Tensor('int32', arrays.ids, [arrays.ids.length / micro.time, micro.time]),
      rows: new Tensor('int32', arrays.rows, [arrays.padded]),
      targets: new Tensor('int32', arrays.targets, [arrays.padded, 1]),
      inverse_temperature: new Tensor('float32', arrays.inverseTemperature, [arrays.padded, 1]),
    };
  }

  async #session(kind: SessionKind): Promise<InferenceSession> {
    const known = this.#sessions.get(kind);
    if (known) return known;
    const options = { entropy: kind.endsWith('+entropy'), chunks: this.#chunks };
    const bytes = kind.startsWith('forward')
      ? forwardGraph(this.#config, { ...options, parts: this.#agreement.parts })
      : this.#trainable.backwardGraph(options);
    const session = await createSession(bytes, { threads: this.#threads, kind: 'train' });
    this.#sessions.set(kind, session);
    return session;
  }
}

const emptyCounts = () => ({ forwardTokens: 0, forwardRuns: 0, backwardTokens: 0, backwardRuns: 0, skippedRows: 0 });

function isActive(row: Row, numbers: Float32Array | undefined): boolean {
  return numbers?.subarray(row.offset, row.offset + row.count).some((x) => x !== 0) ?? false;
}

function assertShapes(pass: ForwardPass, gradients: TokenGradients): void {
  const expected = pass.offsets.at(-1)!;
  for (const [name, numbers] of Object.entries(gradients) as [string, Float32Array | undefined][]) {
    if (numbers && numbers.length !== expected) {
      throw new EngineError(
        `The gradients of ${name} have ${numbers.length} numbers; expected ${expected}, one per response token of the batch.`,
        { code: 'ENGINE_GRADIENT_SHAPE' },
      );
    }
  }
}
