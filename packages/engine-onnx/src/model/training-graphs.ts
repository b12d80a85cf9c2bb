/**
 * Graphs of the trainer: log-probabilities of whole sequences, and their gradients.
 *
 * B rows, T padded length (at least 2), N = B * T, R selected positions, P table length, d hidden
 * size, V vocabulary
 *
 * | name                  | type         | forward | backward | meaning                                                            |
 * | --------------------- | ------------ | ------- | -------- | ------------------------------------------------------------------ |
 * | every parameter       | f32          | in      | in       | `WeightBuffers` feeds                                              |
 * | `rope_cos` `rope_sin` | f32 [P, D/2] | in      | in       | `ropeTables(config, P)`, P >= T                                    |
 * | `rope_.._local`       | f32 [P, D/2] | in      | in       | tables of the layers that do not use `rope_cos` and `rope_sin`     |
 * | `ids`                 | i32 [B, T]   | in      | in       | tokens without the last, right padded with any valid id            |
 * | `rows`                | i32 [R]      | in      | in       | flat b * T + t of positions that predict a response token          |
 * | `targets`             | i32 [R, 1]   | in      | in       | the token each of them predicts                                    |
 * | `inverse_temperature` | f32 [R, 1]   | in      | in       | 1 / temperature                                                    |
 * | `positions`           | i64 [B, T]   |         | in       | with `branching`: the position of each token within its own row    |
 * | `branches`            | i32 [B, T]   |         | in       | with `branching`: 0 for a prompt that rows share, else one number for each row |
 * | `spread`              | i32 [N]      |         | in       | for every flat position its index in `rows`, or that of a padding row |
 * | `grad_logprobs`       | f32 [R, 1]   |         | in       | dL/dlogprob; 0 in padding rows                                     |
 * | `grad_entropy`        | f32 [R, 1]   |         | in       | with `entropy`: dL/dentropy                                        |
 * | `logprobs`            | f32 [R, 1]   | out     | out      | natural logarithm; backward: with `logprobs`                       |
 * | `entropy`             | f32 [R, 1]   | out     |          | with `entropy`: nats                                               |
 * | `necs`                | f32 [R, 1]   | out     |          | with `necs`: H sum(p^2) + sum(p^2 log p)                           |
 * | `grad.<parameter>`    | f32          |         | out      | dL/dparameter; of a tied embedding only the head's part, of an untied one none |
 * | `grad.embedded`       | f32 [N, d]   |         | out      | dL/d(embedding row of each id), which the caller sums by id        |
 * | `grad.per_layer`      | f32 [N, L P] |         | out      | likewise for the table of the layers' inputs, if the model has them |
 *
 * The head computes the R positions in `chunks` equal parts, one after another, so that arrays of
 * width V stay small. R is a multiple of `chunks`. Where `spread` is an input, the last of the R
 * positions is padding (gradient 0) unless every position is selected.
 */
import { gradients, type Seed } from '../onnx/autodiff.js';
import { dimAt, Graph, type Value } from '../onnx/graph/graph.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import { causalAttention } from '../onnx/ops/attention.js';
import { reshape, takeRows } from '../onnx/ops/shape.js';
import { attentionOptions } from './attend.js';
import { decoder } from './block.js';
import type { ExactScoring } from './column-parts.js';
import type { ModelConfig } from './config.js';
import { headStates } from './head.js';
import { chunkedHead, chunkedHeadGradients } from './head-chunks.js';
import { headName, isLookup } from './parameters.js';
import {
  embed,
  parameterInputs,
  tableInputs,
  wholeSequences,
  type Embedded,
  type Trunk,
} from './trunk.js';

export interface TrainingGraphOptions {
  /**
   * True if the forward graph returns entropies, or the backward graph takes gradients of
   * entropies.
   */
  readonly entropy: boolean;
  /** Number of equal parts in which the head computes the R positions. */
  readonly chunks: number;
  /** True if the backward graph also returns log-probabilities. @default false */
  readonly logprobs?: boolean;
  /** True for graphs with the inputs `positions` and `branches`. @default false */
  readonly branching?: boolean;
}

export interface ForwardGraphOptions extends TrainingGraphOptions {
  /** True if the forward graph returns `necs`. @default false */
  readonly necs?: boolean;
  /**
   * Column parts in which layers are computed, so that scores equal sampled log-probabilities bit
   * for bit: see {@link ExactScoring}.
   */
  readonly parts: ExactScoring['parts'];
}

/** Builds the graph that scores sequences. */
export function forwardGraph(config: ModelConfig, options: ForwardGraphOptions): ModelRecord {
  const graph = new Graph();
  const { trunk, x } = trainingBody(graph, config, { parts: options.parts });
  const inputs = headInputs(graph);
  const states = headStates(trunk, takeRows(x, inputs.rows), inputs.inverseTemperature);
  const scores = chunkedHead(trunk, { ...inputs, states }, options);
  graph.output('logprobs', scores.logprobs);
  if (scores.entropy) graph.output('entropy', scores.entropy);
  if (scores.necs) graph.output('necs', scores.necs);
  return graph.record();
}

/** Builds the graph that returns the gradient of every parameter. */
export function backwardGraph(config: ModelConfig, options: TrainingGraphOptions): ModelRecord {
  const graph = new Graph();
  const { body, seed, headGradient } = differentiated(graph, config, options);
  if (headGradient) graph.output(`grad.${headName(config)}`, headGradient);
  outputGradients(body, seed, [headName(config)]);
  return graph.record();
}

/** Returns the low-rank factors of linear layers, keyed by weight, given the model's parameters. */
type AdapterInputs = (parameters: ReadonlyMap<string, Value>) => NonNullable<Trunk['adapters']>;

/**
 * Builds a gradient graph up to the gradient of the head: adds the inputs and, if requested, the
 * output `logprobs`. The returned seed holds the gradient of the hidden states of the selected
 * positions. With adapters, the head is frozen and has no gradient.
 */
export function differentiated(
  graph: Graph,
  config: ModelConfig,
  options: TrainingGraphOptions,
  adapters?: AdapterInputs,
): { readonly body: TrainingBody; readonly seed: Seed; readonly headGradient?: Value } {
  const body = trainingBody(graph, config, { adapters, branching: options.branching });
  const inputs = headInputs(graph);
  const spread = graph.input('spread', 'int32', ['N']);
  const states = headStates(
    body.trunk,
    takeRows(body.x, inputs.rows, spread),
    inputs.inverseTemperature,
  );
  const head = chunkedHeadGradients(
    body.trunk,
    { ...inputs, states },
    {
      chunks: options.chunks,
      frozen: adapters !== undefined,
      logprobs: options.logprobs,
      gradLogprobs: graph.input('grad_logprobs', 'float32', ['R', 1]),
      gradEntropy: options.entropy ? graph.input('grad_entropy', 'float32', ['R', 1]) : undefined,
    },
  );
  if (head.logprobs) graph.output('logprobs', head.logprobs);
  return {
    body,
    seed: { value: states, gradient: head.states },
    headGradient: head.weight,
  };
}

/** The body of a training graph: everything before the head. */
export interface TrainingBody {
  readonly trunk: Trunk;
  /** Hidden states of all positions, before the final norm. [N, d] */
  readonly x: Value;
  readonly embedded: Embedded;
}

/**
 * Adds the gradient outputs: `grad.embedded`, `grad.per_layer` and `grad.<parameter>` for every
 * parameter. Omits `grad.<parameter>` for embedding tables and the parameters in `existing`.
 */
export function outputGradients(
  { trunk, embedded }: TrainingBody,
  seed: Seed,
  existing: readonly string[] = [],
): void {
  const { x, perLayer } = embedded;
  const targets = [
    ['embedded', x] as const,
    ...(perLayer ? [['per_layer', perLayer] as const] : []),
    ...[...trunk.parameters].filter(([name]) => !isLookup(name) && !existing.includes(name)),
  ];
  const found = gradients(
    [seed],
    targets.map(([, value]) => value),
  );
  for (const [i, [name, value]] of targets.entries()) {
    const isRows = value === x || value === perLayer;
    const gradient = found[i]!;
    x.graph.output(`grad.${name}`, isRows ? reshape(gradient, ['N', dimAt(value, -1)]) : gradient);
  }
}

/** Builds the embedding and the blocks. Adds the inputs `ids`, parameters and rotary tables. */
export function trainingBody(
  graph: Graph,
  config: ModelConfig,
  {
    parts,
    adapters,
    branching,
  }: {
    readonly parts?: ExactScoring['parts'];
    readonly adapters?: AdapterInputs | undefined;
    readonly branching?: boolean | undefined;
  } = {},
): TrainingBody {
  const ids = graph.input('ids', 'int32', ['B', 'T']);
  const parameters = parameterInputs(graph, config);
  const trunk = trainingTrunk(graph, config, parameters, {
    parts,
    adapters: adapters?.(parameters),
    branching,
  });
  const embedded = embed(trunk, ids);
  return { trunk, embedded, x: reshape(decoder(trunk, embedded), ['N', config.hiddenSize]) };
}

/**
 * Returns the trunk of graphs over whole sequences. Adds the rotary tables as inputs and, with
 * `branching`, `positions` and `branches`.
 */
export function trainingTrunk(
  graph: Graph,
  config: ModelConfig,
  parameters: Trunk['parameters'],
  {
    branching = false,
    ...options
  }: Pick<Trunk, 'parts' | 'adapters' | 'products'> & { readonly branching?: boolean | undefined },
): Trunk {
  const branches = branching ? graph.input('branches', 'int32', ['B', 'T']) : undefined;
  return {
    config,
    parameters,
    positions: branching ? graph.input('positions', 'int64', ['B', 'T']) : graph.integers([0]),
    tables: tableInputs(graph, config),
    attention: (layer, q, k, v) =>
      causalAttention(q, k, v, { ...attentionOptions(config, layer), branches }),
    recurrence: wholeSequences,
    ...options,
  };
}

function headInputs(graph: Graph): {
  readonly rows: Value;
  readonly targets: Value;
  readonly inverseTemperature: Value;
} {
  return {
    rows: graph.input('rows', 'int32', ['R']),
    targets: graph.input('targets', 'int32', ['R', 1]),
    inverseTemperature: graph.input('inverse_temperature', 'float32', ['R', 1]),
  };
}
