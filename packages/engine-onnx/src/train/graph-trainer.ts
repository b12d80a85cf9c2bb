/**
 * The part of training that does not depend on the head of the model: micro-batches, graph
 * executions, the sum of gradients, optimizer steps and counters.
 */
import { EngineError, type Metrics, InvariantError } from '@trinity-rft/core';
import type { OptimizerOptions, StepStats } from '@trinity-rft/core/engine';
import { exactScoring, type ExactScoring } from '../model/column-parts.js';
import type { ModelConfig } from '../model/config.js';
import { RopeFeeds } from '../model/rope.js';
import type { WeightBuffers } from '../model/weights.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import type {
  ArraySet,
  Feeds,
  GraphRuntime,
  HostArray,
  LoadedGraph,
} from '../runtime/graph-runtime.js';
import { floats, freeAll, ints } from '../runtime/host-arrays.js';
import { lazyGraphs, type LazyGraphs } from '../runtime/lazy-graphs.js';
import { clipScale, type Optimizer, type OptimizerState } from './adamw.js';
import type { GradientSum } from './gradient.js';
import { LayerwiseGradients } from './layerwise.js';
import { forwardCost, trainingMemory, type TrainingMemory } from './memory.js';
import {
  gatherPicked,
  planMicroBatches,
  scatterPicked,
  toArrays,
  type MicroBatch,
  type MicroBatchArrays,
} from './micro-batch.js';
import { blankOptimizer, readOptimizer } from './optimizer-file.js';
import { planGradients } from './plan-gradients.js';
import type { Row } from './rows.js';
import { allParameters, type Trainable } from './trainable.js';

export interface TrainerOptions {
  readonly config: ModelConfig;
  readonly weights: WeightBuffers;
  /** Weights to train. @default all parameters */
  readonly trainable?: Trainable;
  /** Memory limits. @default `trainingMemory(undefined)` */
  readonly memory?: TrainingMemory;
  /**
   * Executes a graph when the thread is free for the trainer.
   * @default the graph is executed immediately
   */
  readonly turn?: <T>(run: () => Promise<T>) => Promise<T>;
  /**
   * Executes work that consists of several graph executions, and keeps the thread from being
   * terminated between them.
   * @default the work is executed directly
   */
  readonly whole?: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A head of the model and its graphs. */
export interface TrainingHead<Kind extends string> {
  /** Number of equal parts in which the head computes its positions. */
  readonly chunks: number;
  /** Builds a graph of the model with this head. @param branching see `training-graphs.ts` */
  graph(kind: Kind, exact: ExactScoring, branching: boolean): ModelRecord;
  /**
   * True if the head computes a distribution over tokens. Its gradients can be computed layer by
   * layer, from `grad_logprobs` and `grad_entropy`, and for rows that share a prompt.
   */
  readonly isLanguageModel: boolean;
  /** Returns the graph inputs other than weights, rotary tables, `ids`, `rows` and gradients. */
  inputs(arrays: MicroBatchArrays): Feeds;
}

/**
 * Values of a batch, one per response token [N], keyed by the name of the graph's output or input.
 */
export type TokenNumbers<Name extends string = string> = Readonly<Record<Name, Float32Array>>;

/**
 * Fraction of the memory budget for scoring, and for the head when gradients are computed layer by
 * layer. Scoring needs far less memory than gradients. A small fraction keeps the forward graph's
 * memory arena small compared to that of the backward graph.
 */
const forwardShare = 0.25;

/**
 * Trainer of a model with any head. Callers must make one call at a time, as `TrainEngine`
 * requires. Every call reads the current weights; {@link step} replaces them.
 */
export class GraphTrainer<Kind extends string> {
  protected readonly config: ModelConfig;
  protected readonly weights: WeightBuffers;
  readonly #head: TrainingHead<Kind>;
  readonly #trainable: Trainable;
  readonly #runtime: GraphRuntime;
  readonly #memory: TrainingMemory;
  readonly #rope: RopeFeeds;
  readonly #turn: NonNullable<TrainerOptions['turn']>;
  readonly #whole: NonNullable<TrainerOptions['whole']>;
  readonly #exact: ExactScoring;
  readonly #graphs: LazyGraphs;
  readonly #layerwise: LayerwiseGradients;
  #gradient: GradientSum | undefined;
  /** Number of backward passes whose gradients are in the accumulated gradient. */
  #passes = 0;
  /** True if a failed backward pass discarded the gradient of earlier passes. */
  #isLost = false;
  #optimizer: Optimizer | undefined;
  #counts = emptyCounts();

  constructor(options: TrainerOptions, head: TrainingHead<Kind>) {
    this.config = options.config;
    this.weights = options.weights;
    this.#head = head;
    this.#trainable = options.trainable ?? allParameters(options.config, options.weights);
    this.#runtime = options.weights.runtime;
    this.#memory = options.memory ?? trainingMemory(undefined);
    this.#rope = new RopeFeeds(this.#runtime, options.config);
    this.#turn = options.turn ?? ((run) => run());
    this.#whole = options.whole ?? ((work) => work());
    this.#exact = exactScoring(options.config, this.#runtime.threads);
    this.#graphs = lazyGraphs(this.#runtime, 'train');
    this.#layerwise = new LayerwiseGradients({
      config: options.config,
      runtime: this.#runtime,
      headBytes: this.#memory.budget * forwardShare,
      adapters: this.#trainable.adapters,
      base: this.#trainable.quantized?.base,
      turn: this.#turn,
    });
  }

  /**
   * Computes outputs of a forward graph for every response token of `rows`.
   * @param count number of response tokens in all rows
   */
  protected async read<Name extends string>(
    kind: Kind,
    feeds: Feeds,
    rows: readonly Row[],
    count: number,
    outputs: readonly Name[],
  ): Promise<TokenNumbers<Name>> {
    const score = await this.#scores(kind, feeds, outputs);
    const found = Object.fromEntries(
      outputs.map((name) => [name, new Float32Array(count)]),
    ) as Record<Name, Float32Array>;
    for (const micro of planMicroBatches(
      rows,
      forwardCost(this.config),
      this.#memory.budget * forwardShare,
    )) {
      const arrays = toArrays(micro, this.#head.chunks, this.#exact.leastRows);
      const out = await this.#whole(() => this.#turn(() => score(micro, arrays)));
      for (const name of outputs) scatterPicked(micro, out[name], found[name]);
      this.#counts.forwardTokens += micro.rows.length * micro.time;
      this.#counts.forwardRuns++;
    }
    return found;
  }

  /** Returns a function that computes the outputs of one micro-batch. [R] each */
  async #scores<Name extends string>(
    kind: Kind,
    feeds: Feeds,
    outputs: readonly Name[],
  ): Promise<(micro: MicroBatch, arrays: MicroBatchArrays) => Promise<TokenNumbers<Name>>> {
    const { quantized } = this.#trainable;
    if (quantized)
      return ({ time }, arrays) => quantized.score(feeds, { ...arrays, time }, outputs);
    const graph = await this.#graph(kind);
    return async (micro, arrays) => {
      const out = await graph.run({ ...feeds, ...this.#feeds(micro, arrays) });
      const found = outputs.map(async (name) => [name, await this.#runtime.read(out[name]!)]);
      const numbers = Object.fromEntries(await Promise.all(found)) as Record<Name, Float32Array>;
      freeAll(out);
      return numbers;
    };
  }

  /**
   * Accumulates the gradient at the current weights. Skips rows whose gradients are all 0. If the
   * pass fails, discards the whole accumulated gradient, because it may contain a part of the pass.
   * @param gradients gradients of the loss with respect to the outputs for every response token,
   * keyed by graph input
   * @param logprobs array to which log-probabilities of rows that are not skipped are written, if
   * the graph returns them. [N]
   */
  protected async accumulate(
    kind: Kind,
    rows: readonly Row[],
    gradients: TokenNumbers,
    logprobs?: Float32Array,
  ): Promise<void> {
    try {
      await this.#addGradient(kind, rows, gradients, logprobs);
      this.#passes++;
    } catch (error) {
      this.#isLost ||= this.#passes > 0;
      this.#clearGradient();
      throw error;
    }
  }

  #clearGradient(): void {
    this.#gradient?.clear();
    this.#passes = 0;
  }

  async #addGradient(
    kind: Kind,
    rows: readonly Row[],
    gradients: TokenNumbers,
    logprobs?: Float32Array,
  ): Promise<void> {
    const active = rows.filter((row) =>
      Object.values(gradients).some((numbers) => isActive(row, numbers)),
    );
    this.#counts.skippedRows += rows.length - active.length;
    if (active.length === 0) return;
    const sum = (this.#gradient ??= this.#trainable.newGradient());
    const weights = await this.trainingFeeds();
    const { plan, byLayer } = planGradients(active, {
      config: this.config,
      specs: this.#trainable.specs,
      adapters: this.#trainable.adapters !== undefined,
      memory: this.#memory,
      canShare: this.#canShare,
      canSplit: this.#head.isLanguageModel,
      mustSplit: this.#trainable.quantized !== undefined,
    });
    for (const micro of plan) {
      const arrays = toArrays(micro, byLayer ? 1 : this.#head.chunks);
      const tensors = gradientFeeds(micro, gradients, arrays.padded);
      const feeds = { ...weights, ...this.#trainable.feeds };
      const run = { micro, arrays, feeds, tensors };
      const found = await this.#whole(() =>
        byLayer ? this.#addByLayer(sum, run) : this.#addAtOnce(sum, kind, run),
      );
      if (logprobs && found) scatterPicked(micro, found, logprobs);
      this.#counts.backwardTokens += micro.groups.length * micro.time;
      this.#counts.backwardRuns++;
    }
  }

  protected async trainingFeeds(): Promise<Feeds> {
    await this.#whole(() => this.weights.settled());
    return this.weights.training.arrays;
  }

  /**
   * True for a language model in which every layer has full attention, so that rows can share a
   * prompt.
   */
  get #canShare(): boolean {
    const { config } = this;
    const apart = config.layerTraits?.some(({ mixer, window }) => mixer ?? window);
    return this.#head.isLanguageModel && apart !== true;
  }

  /**
   * Accumulates the gradient of a micro-batch, computed by one graph. Returns the log-probabilities
   * of the selected positions, if the graph returns them.
   */
  async #addAtOnce(
    sum: GradientSum,
    kind: Kind,
    { micro, arrays, feeds, tensors }: GradientRun,
  ): Promise<Float32Array | undefined> {
    const graph = await this.#graph(kind, arrays.branching !== undefined);
    const spread = ints(arrays.spread, [arrays.spread.length]);
    const inputs = { ...feeds, ...this.#feeds(micro, arrays), spread, ...tensors };
    const { logprobs, ...found } = await this.#turn(() => graph.run(inputs, sum.outputs()));
    sum.add(found, arrays.ids);
    if (!logprobs) return undefined;
    const numbers = (await this.#runtime.read(logprobs)) as Float32Array;
    logprobs.free();
    return numbers;
  }

  async #addByLayer(
    sum: GradientSum,
    { micro: { time }, arrays, feeds, tensors }: GradientRun,
  ): Promise<Float32Array> {
    const { grad_logprobs: gradLogprobs, grad_entropy: gradEntropy } = tensors;
    if (!gradLogprobs) throw new InvariantError('There are no gradients of log-probabilities.');
    return this.#layerwise.addTo(sum, {
      arrays,
      time,
      feeds: { ...feeds, ...this.#rope.feeds(time), ...branchFeeds(arrays, time) },
      gradLogprobs,
      gradEntropy,
    });
  }

  /**
   * Makes one AdamW update from the accumulated gradient, and clears the gradient. If the gradient
   * is not finite, clears it without an update.
   * @throws EngineError once, if a failed backward pass discarded the gradient of earlier passes
   */
  async step(options: OptimizerOptions): Promise<StepStats> {
    const {
      learningRate,
      betas = [0.9, 0.999],
      epsilon = 1e-8,
      weightDecay = 0.01,
      clipGradNorm = 1,
    } = options;
    const sum = (this.#gradient ??= this.#trainable.newGradient());
    if (this.#isLost) {
      this.#isLost = false;
      this.#clearGradient();
      throw gradientLost();
    }
    const state = (this.#optimizer ??= this.#newOptimizer());
    const gradNorm = await this.#runtime.norm(sum.set);
    const skipped = !Number.isFinite(gradNorm);
    if (!skipped) {
      const adam = {
        learningRate,
        betas,
        epsilon,
        weightDecay,
        gradientScale: clipScale(gradNorm, clipGradNorm),
      };
      await this.#trainable.update(sum, state, adam);
    }
    this.#clearGradient();
    return { step: state.step, gradNorm, skipped };
  }

  /**
   * The accumulated gradient in the order of the trained parameters, for inspection; undefined
   * before the first backward pass or step.
   */
  get gradient(): ArraySet | undefined {
    return this.#gradient?.set;
  }

  /**
   * Current moments and step counter, not copied, for inspection; undefined until a step or {@link
   * restore} creates them.
   */
  get optimizer(): Optimizer | undefined {
    return this.#optimizer;
  }

  /**
   * Reads the moments and the step counter in the format of checkpoints. They are zeros while
   * {@link optimizer} is undefined.
   */
  async readOptimizer(): Promise<OptimizerState> {
    return this.#optimizer
      ? readOptimizer(this.#runtime, this.#optimizer)
      : blankOptimizer(this.#trainable.specs, 0);
  }

  /**
   * Restores the optimizer state of a checkpoint without copying it, or creates a new state.
   * Discards the accumulated gradient.
   */
  restore(optimizer?: OptimizerState): void {
    this.#optimizer?.first.free();
    this.#optimizer?.second.free();
    this.#optimizer = optimizer && this.#newOptimizer(optimizer);
    this.#clearGradient();
    this.#isLost = false;
  }

  #newOptimizer({ step = 0, first, second }: Partial<OptimizerState> = {}): Optimizer {
    const set = (flat?: Float32Array): ArraySet => this.#runtime.set(this.#trainable.specs, flat);
    return { step, first: set(first), second: set(second) };
  }

  /**
   * Returns counts of the work since the last call: padded positions and micro-batches of each
   * kind, and rows that were skipped because they have no gradient.
   */
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

  /**
   * Frees the graphs. The weights and their runtime are not freed, because they belong to the
   * caller.
   */
  async close(): Promise<void> {
    await this.#graphs.close();
    await this.#layerwise.close();
  }

  #feeds(micro: MicroBatch, arrays: MicroBatchArrays): Feeds {
    return {
      ...this.#rope.feeds(micro.time),
      ids: ints(arrays.ids, [arrays.ids.length / micro.time, micro.time]),
      rows: ints(arrays.rows, [arrays.padded]),
      ...branchFeeds(arrays, micro.time),
      ...this.#head.inputs(arrays),
    };
  }

  #graph(kind: Kind, branching = false): Promise<LoadedGraph> {
    return this.#graphs.get(`${kind} ${branching}`, () =>
      this.#head.graph(kind, this.#exact, branching),
    );
  }
}

function branchFeeds({ branching }: MicroBatchArrays, time: number): Feeds {
  if (!branching) return {};
  const shape = [branching.branches.length / time, time];
  return {
    positions: { dtype: 'int64', shape, data: branching.positions },
    branches: ints(branching.branches, shape),
  };
}

/** Returns the gradients of the outputs at the selected positions, by input name. [R, 1] each */
function gradientFeeds(micro: MicroBatch, gradients: TokenNumbers, padded: number): HostArrays {
  return Object.fromEntries(
    Object.entries(gradients).map(([name, numbers]) => [
      name,
      floats(gatherPicked(micro, numbers, padded), [padded, 1]),
    ]),
  );
}

/** Input for the gradients of one micro-batch. */
interface GradientRun {
  readonly micro: MicroBatch;
  readonly arrays: MicroBatchArrays;
  readonly feeds: Feeds;
  /** Gradients of the outputs at the selected positions, by input name. */
  readonly tensors: HostArrays;
}

type HostArrays = Readonly<Record<string, HostArray>>;

const emptyCounts = () => ({
  forwardTokens: 0,
  forwardRuns: 0,
  backwardTokens: 0,
  backwardRuns: 0,
  skippedRows: 0,
});

/** Returns true if any of the row's entries in `numbers` is not 0. */
export function isActive(row: Row, numbers: Float32Array | undefined): boolean {
  return numbers?.subarray(row.offset, row.offset + row.count).some((x) => x !== 0) ?? false;
}

const gradientLost = (): EngineError =>
  new EngineError(
    'A backward pass failed and dropped the gradient of the passes before it; repeat all backward passes of this step.',
    { code: 'GRADIENT_LOST' },
  );
