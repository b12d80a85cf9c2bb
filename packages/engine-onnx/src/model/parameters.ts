/**
 * Parameters of a model: Hugging Face names and shapes, their positions in one flat array, and
 * seeded initial values.
 */
import { createRandom, deriveSeed } from '@trinity-rft/core';
import type { LinearShape } from '../runtime/gemm-blocks.js';
import {
  deltaChannels,
  deltaShape,
  headDimOf,
  keysOf,
  layerTraits,
  type Mixer,
  type ModelConfig,
  type NormPlacement,
} from './config.js';
import { families } from './families.js';

/** One tensor inside the flat array. */
export interface ParameterSpec {
  /** Name, as in Hugging Face checkpoints. */
  readonly name: string;
  /** Shape; matrices are [out, in]. */
  readonly shape: readonly number[];
  /** Index of the first element in the flat array. */
  readonly offset: number;
  /** Number of elements. */
  readonly size: number;
}

export const embeddingName = 'model.embed_tokens.weight';

/** Names of the parameters that compute the per-layer inputs of every layer. */
export const perLayerNames = {
  table: 'model.embed_tokens_per_layer.weight',
  projection: 'model.per_layer_model_projection',
  norm: 'model.per_layer_projection_norm.weight',
} as const;

/** Returns true for embedding tables, of which only the rows of the input tokens are read. */
export const isLookup = (name: string): boolean =>
  name === embeddingName || name === perLayerNames.table;

/** Hugging Face's names of a head with one label: `*ForTokenClassification`. */
export const valueHeadNames = { weight: 'score.weight', bias: 'score.bias' } as const;

/**
 * Returns the name of the head's matrix, which projects hidden states to logits or, in a critic, to
 * values.
 */
export function headName(config: ModelConfig): string {
  if (config.head === 'value') return valueHeadNames.weight;
  return config.tieEmbeddings ? embeddingName : 'lm_head.weight';
}

/**
 * Returns the parameters that every execution of a graph reads as a whole: all but embedding tables
 * that are not the head.
 */
export const wholeParameters = (config: ModelConfig): readonly ParameterSpec[] =>
  parameterSpecs(config).filter(({ name }) => !isLookup(name) || name === headName(config));

export const finalNormName = (config: ModelConfig): string =>
  parameterName(config, 'model.norm.weight');

/**
 * Returns the name of a parameter in checkpoints of the family. `name` is the parameter's name in
 * most families.
 */
export function parameterName({ family }: Pick<ModelConfig, 'family'>, name: string): string {
  const [, layer = '', module = '', kind = ''] =
    /^(model\.layers\.\d+\.)?(.+)(\.\w+)$/.exec(name) ?? [];
  const own = families[family].names?.[module];
  return own === undefined ? name : layer + own + kind;
}

export const layerPrefix = (layer: number): string => `model.layers.${layer}.`;

/**
 * Returns every parameter, in the order of the flat array. Tied heads are listed once, as the
 * embedding.
 */
export function parameterSpecs(config: ModelConfig): readonly ParameterSpec[] {
  const shapes: NamedShape[] = [
    [embeddingName, [config.vocabSize, config.hiddenSize]],
    ...perLayerShapes(config),
  ];
  for (let layer = 0; layer < config.layers; layer++) {
    for (const [name, shape] of layerShapes(config, layer))
      shapes.push([layerPrefix(layer) + name, shape]);
  }
  shapes.push(['model.norm.weight', [config.hiddenSize]]);
  shapes.push(...headShapes(config));
  let offset = 0;
  return shapes.map(([common, shape]) => {
    const size = shape.reduce((a, b) => a * b, 1);
    const spec = { name: parameterName(config, common), shape, offset, size };
    offset += size;
    return spec;
  });
}

/** Returns the parameters of one layer. */
export function layerSpecs(config: ModelConfig, layer: number): readonly ParameterSpec[] {
  return parameterSpecs(config).filter(({ name }) => name.startsWith(layerPrefix(layer)));
}

/**
 * Returns the parameters that compute the per-layer inputs from embeddings and rows of the
 * per-layer embedding table.
 */
export function layerInputSpecs(config: ModelConfig): readonly ParameterSpec[] {
  const { projection, norm } = perLayerNames;
  const names = [`${projection}.weight`, norm];
  return parameterSpecs(config).filter(({ name }) => names.includes(name));
}

type NamedShape = readonly [name: string, shape: readonly number[]];

function perLayerShapes({ perLayerInputs, layers, hiddenSize }: ModelConfig): NamedShape[] {
  if (!perLayerInputs) return [];
  const { size, vocabSize } = perLayerInputs;
  return [
    [perLayerNames.table, [vocabSize, layers * size]],
    [`${perLayerNames.projection}.weight`, [layers * size, hiddenSize]],
    [perLayerNames.norm, [size]],
  ];
}

function headShapes(config: ModelConfig): readonly NamedShape[] {
  if (config.head === 'value') {
    return [
      [valueHeadNames.weight, [1, config.hiddenSize]],
      [valueHeadNames.bias, [1]],
    ];
  }
  return config.tieEmbeddings ? [] : [['lm_head.weight', [config.vocabSize, config.hiddenSize]]];
}

/** Names of the norms before and after one branch of a block. */
export interface BranchNorms {
  readonly before?: string;
  readonly after?: string;
}

/** Names that Hugging Face gives the norms of a layer. */
export const normNames: Readonly<
  Record<NormPlacement, { readonly attention: BranchNorms; readonly feedForward: BranchNorms }>
> = {
  before: {
    attention: { before: 'input_layernorm' },
    feedForward: { before: 'post_attention_layernorm' },
  },
  after: {
    attention: { after: 'post_attention_layernorm' },
    feedForward: { after: 'post_feedforward_layernorm' },
  },
  around: {
    attention: { before: 'input_layernorm', after: 'post_attention_layernorm' },
    feedForward: { before: 'pre_feedforward_layernorm', after: 'post_feedforward_layernorm' },
  },
};

/** Returns the prefix of the names of an expert's parameters. */
export const expertName = (expert: number): string => `experts.${expert}.`;

/**
 * Returns true for routers. They are never quantised, because a rounded router would select other
 * experts.
 */
export const isRouter = ({ name }: Pick<ParameterSpec, 'name'>): boolean =>
  name.endsWith('.mlp.gate.weight');

function layerShapes(config: ModelConfig, layer: number): readonly NamedShape[] {
  const { attention, feedForward } = normNames[config.norms ?? 'before'];
  const norm = (name: string | undefined): readonly NamedShape[] =>
    name === undefined ? [] : [[`${name}.weight`, [config.hiddenSize]]];
  return [
    ...norm(attention.before),
    ...mixerShapes[layerTraits(config, layer).mixer ?? 'attention'](config, layer),
    ...norm(attention.after),
    ...norm(feedForward.before),
    ...feedForwardShapes(config, layer),
    ...norm(feedForward.after),
    ...layerInputShapes(config),
  ];
}

/** Returns the parameters that add a per-layer input to a layer, and the scalar of the layer. */
function layerInputShapes({
  hiddenSize,
  perLayerInputs,
  layerScalar,
}: ModelConfig): readonly NamedShape[] {
  const scalar: readonly NamedShape[] = layerScalar ? [['layer_scalar', [1]]] : [];
  if (!perLayerInputs) return scalar;
  return [
    ...linear('per_layer_input_gate', perLayerInputs.size, hiddenSize, false),
    ...linear('per_layer_projection', hiddenSize, perLayerInputs.size, false),
    ['post_per_layer_input_norm.weight', [hiddenSize]],
    ...scalar,
  ];
}

function attentionShapes(config: ModelConfig, layer: number): readonly NamedShape[] {
  const { hiddenSize, qkvBias, outputBias } = config;
  const headDim = headDimOf(config, layer);
  const queries = config.heads * headDim;
  const keys = config.kvHeads * headDim;
  const gates = config.gatedAttention ? 2 : 1;
  const output = linear('self_attn.o_proj', hiddenSize, queries, outputBias);
  if (keysOf(config, layer) !== layer)
    return [
      ...linear('self_attn.q_proj', gates * queries, hiddenSize, qkvBias),
      ...(config.qkNorm ? qkNormShapes(headDim, headDim).slice(0, 1) : []),
      ...output,
    ];
  const inputs = config.fusedAttention
    ? linear('self_attn.qkv_proj', queries + 2 * keys, hiddenSize, qkvBias)
    : [
        ...linear('self_attn.q_proj', gates * queries, hiddenSize, qkvBias),
        ...linear('self_attn.k_proj', keys, hiddenSize, qkvBias),
        ...linear('self_attn.v_proj', keys, hiddenSize, qkvBias),
      ];
  const wide = config.qkNormScope === 'projection';
  return [
    ...inputs,
    ...(config.qkNorm ? qkNormShapes(wide ? queries : headDim, wide ? keys : headDim) : []),
    ...output,
  ];
}

const mixerShapes: Readonly<
  Record<Mixer, (config: ModelConfig, layer: number) => readonly NamedShape[]>
> = {
  attention: attentionShapes,
  conv: ({ hiddenSize, convTaps = 1 }) => [
    ...linear('conv.in_proj', 3 * hiddenSize, hiddenSize, false),
    ['conv.conv.weight', [hiddenSize, 1, convTaps]],
    ...linear('conv.out_proj', hiddenSize, hiddenSize, false),
  ],
  delta: deltaShapes,
};

function deltaShapes(config: ModelConfig): readonly NamedShape[] {
  const { hiddenSize, convTaps = 1 } = config;
  const { valueHeads, valueDim } = deltaShape(config);
  const channels = deltaChannels(config);
  const values = valueHeads * valueDim;
  return [
    ['linear_attn.dt_bias', [valueHeads]],
    ['linear_attn.A_log', [valueHeads]],
    ['linear_attn.conv1d.weight', [channels, 1, convTaps]],
    ...linear('linear_attn.in_proj_qkv', channels, hiddenSize, false),
    ...linear('linear_attn.in_proj_z', values, hiddenSize, false),
    ...linear('linear_attn.in_proj_b', valueHeads, hiddenSize, false),
    ...linear('linear_attn.in_proj_a', valueHeads, hiddenSize, false),
    ['linear_attn.norm.weight', [valueDim]],
    ...linear('linear_attn.out_proj', hiddenSize, values, false),
  ];
}

function feedForwardShapes(config: ModelConfig, layer: number): readonly NamedShape[] {
  const { experts, hiddenSize } = config;
  const { dense, intermediateSize = config.intermediateSize } = layerTraits(config, layer);
  if (!experts || dense) return unitShapes(config, 'mlp.', intermediateSize);
  return [
    ['mlp.gate.weight', [experts.count, hiddenSize]],
    ...Array.from({ length: experts.count }, (_, expert) =>
      unitShapes(config, `mlp.${expertName(expert)}`, experts.size),
    ).flat(),
  ];
}

/** Returns the parameters of one gated unit. */
function unitShapes(config: ModelConfig, prefix: string, width: number): readonly NamedShape[] {
  const { hiddenSize, mlpBias } = config;
  const inputs = config.fusedFeedForward
    ? linear(`${prefix}gate_up_proj`, 2 * width, hiddenSize, mlpBias)
    : [
        ...linear(`${prefix}gate_proj`, width, hiddenSize, mlpBias),
        ...linear(`${prefix}up_proj`, width, hiddenSize, mlpBias),
      ];
  return [...inputs, ...linear(`${prefix}down_proj`, hiddenSize, width, mlpBias)];
}

const linear = (name: string, out: number, input: number, bias: boolean): readonly NamedShape[] => {
  const weight: NamedShape = [`${name}.weight`, [out, input]];
  return bias ? [weight, [`${name}.bias`, [out]]] : [weight];
};

const qkNormShapes = (queries: number, keys: number): readonly NamedShape[] => [
  ['self_attn.q_norm.weight', [queries]],
  ['self_attn.k_norm.weight', [keys]],
];

/** Returns the total number of elements of all parameters. */
export function parameterCount(config: ModelConfig): number {
  return parameterSpecs(config).reduce((sum, spec) => sum + spec.size, 0);
}

export interface InitialWeightsOptions {
  /** Standard deviation of the initial values of matrices. @default 0.02 */
  readonly std?: number;
}

/**
 * Creates the weights of a new model. Matrices are drawn from N(0, std), or from N(0, std / sqrt(2
 * layers)) if they end a residual branch. Norms scale by 1, and biases are 0. Each tensor has its
 * own random stream, which depends only on the seed and the tensor's name.
 * @see Radford et al., Language Models are Unsupervised Multitask Learners, section 2.3
 */
export function initialWeights(
  config: ModelConfig,
  seed: number,
  options: InitialWeightsOptions = {},
): Float32Array {
  const { std = 0.02 } = options;
  const specs = parameterSpecs(config);
  const flat = new Float32Array(parameterCount(config));
  for (const spec of specs) {
    const tensor = flat.subarray(spec.offset, spec.offset + spec.size);
    if (spec.shape.length === 1) {
      tensor.fill(spec.name.endsWith('.bias') ? 0 : 1 - (config.normOffset ?? 0));
      continue;
    }
    const endsBranch = /\.(o_proj|down_proj|output_linear)\.weight$/.test(spec.name);
    const scale = endsBranch ? std / Math.sqrt(2 * config.layers) : std;
    const random = createRandom(deriveSeed(seed, 'weights', spec.name));
    for (let i = 0; i < tensor.length; i++) tensor[i] = scale * random.normal();
  }
  return flat;
}

/**
 * Returns the shapes of the linear layers of a model, including the head. Each shape is listed
 * once.
 */
export function linearShapes(config: ModelConfig): readonly LinearShape[] {
  const layers = Array.from({ length: config.layers }, (_, layer) => layerShapes(config, layer));
  // The table of inputs is looked up, not multiplied.
  layers.push(perLayerShapes(config).slice(1));
  const head: LinearShape = [config.head === 'value' ? 1 : config.vocabSize, config.hiddenSize];
  const matrices = layers.flat().flatMap(([, shape]) => {
    const [out, input, ...more] = shape;
    return out === undefined || input === undefined || more.length > 0
      ? []
      : [[out, input] as const];
  });
  const distinct = new Map([...matrices, head].map((shape) => [shape.join(), shape]));
  return [...distinct.values()];
}
