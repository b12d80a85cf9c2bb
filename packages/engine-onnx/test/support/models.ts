/** Tiny models of every family for tests. */
import { createRandom } from '@trinity-rft/core';
import type { TokenBatch } from '@trinity-rft/core/engine';
import type { ModelConfig } from '../../src/model/config.js';
import { initialWeights, parameterSpecs } from '../../src/model/parameters.js';

const base = {
  vocabSize: 23,
  hiddenSize: 16,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  intermediateSize: 24,
  normEpsilon: 1e-6,
  ropeTheta: 10_000,
  qkNorm: false,
  qkvBias: false,
  outputBias: false,
  mlpBias: false,
  tieEmbeddings: true,
  maxPositions: 512,
  eosTokenIds: [],
} as const;

/** Models that cover grouped heads, tied and untied heads, all biases, and both kinds of position scaling. */
export const tinyModels = {
  qwen3: { ...base, family: 'qwen3', qkNorm: true },
  'qwen3 untied': { ...base, family: 'qwen3', qkNorm: true, tieEmbeddings: false, kvHeads: 4 },
  qwen2: { ...base, family: 'qwen2', qkvBias: true },
  llama: {
    ...base,
    family: 'llama',
    tieEmbeddings: false,
    ropeScaling: { kind: 'linear', factor: 2 },
  },
  'llama with biases': {
    ...base,
    family: 'llama',
    kvHeads: 1,
    qkvBias: true,
    outputBias: true,
    mlpBias: true,
    ropeScaling: {
      kind: 'llama3',
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalMaxPositions: 32,
    },
  },
  'llama with convolutions': {
    ...base,
    family: 'llama',
    layers: 4,
    convTaps: 4,
    layerTraits: [{ mixer: 'conv' }, {}, { mixer: 'conv' }, { mixer: 'conv' }],
  },
  'llama with the gated delta rule': {
    ...base,
    family: 'llama',
    layers: 4,
    convTaps: 4,
    // Heads that read little have a large curvature otherwise.
    normEpsilon: 0.1,
    gatedAttention: true,
    delta: { keyHeads: 2, keyDim: 8, valueHeads: 4, valueDim: 4 },
    layerTraits: [{ mixer: 'delta' }, {}, { mixer: 'delta' }, { mixer: 'delta' }],
  },
} satisfies Record<string, ModelConfig>;

/** Weights far from initial weights: large matrices, norms around 1, biases that matter. */
export function livelyWeights(config: ModelConfig, seed = 1, std = 0.3): Float32Array {
  const flat = initialWeights(config, seed, { std });
  const random = createRandom(seed);
  for (const { shape, offset, size } of parameterSpecs(config)) {
    if (shape.length === 1)
      for (let i = 0; i < size; i++) flat[offset + i] = flat[offset + i]! + 0.3 * random.normal();
  }
  return flat;
}

/** Rows of random tokens with the given lengths; prompts take about a third. */
export function randomBatch(
  config: ModelConfig,
  lengths: readonly number[],
  seed = 1,
  temperature = 1,
): TokenBatch {
  const random = createRandom(seed);
  return {
    rows: lengths.map((length) => ({
      tokens: Int32Array.from({ length }, () => random.integer(config.vocabSize)),
      promptLength: Math.max(1, Math.floor(length / 3)),
      temperature,
    })),
  };
}
