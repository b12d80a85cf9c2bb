/** Tables of rotary angles, computed in JavaScript and fed to the graphs. */
import { Tensor } from 'onnxruntime-node';
import type { ModelConfig } from './config.js';
import type { Feeds } from './weights.js';

export interface RopeTables {
  /** Positions that the tables hold. */
  readonly length: number;
  /** [length, headDim / 2] */
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/** Cosines and sines of position * frequency, in float64 and rounded once. */
export function ropeTables(config: ModelConfig, length: number): RopeTables {
  const frequencies = ropeFrequencies(config);
  const half = frequencies.length;
  const cos = new Float32Array(length * half);
  const sin = new Float32Array(length * half);
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position * frequencies[i]!;
      cos[position * half + i] = Math.cos(angle);
      sin[position * half + i] = Math.sin(angle);
    }
  }
  return { length, cos, sin };
}

/**
 * Angle per position of each pair of dimensions: theta^(-2i / D), scaled as the config says.
 * [headDim / 2]
 * @see Su et al., arXiv:2104.09864; for `llama3`, the Llama 3.1 model card's `rope_scaling`
 */
export function ropeFrequencies(config: ModelConfig): Float64Array {
  const half = config.headDim / 2;
  return Float64Array.from({ length: half }, (_, i) =>
    scaled(config.ropeTheta ** (-i / half), config.ropeScaling),
  );
}

/** `llama3` keeps fast rotations, divides slow ones by the factor, and blends between the two. */
function scaled(frequency: number, scaling: ModelConfig['ropeScaling']): number {
  if (!scaling) return frequency;
  if (scaling.kind === 'linear') return frequency / scaling.factor;
  const { factor, lowFreqFactor, highFreqFactor, originalMaxPositions } = scaling;
  const turns = (originalMaxPositions * frequency) / (2 * Math.PI);
  if (turns > highFreqFactor) return frequency;
  if (turns < lowFreqFactor) return frequency / factor;
  const blend = (turns - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
  return ((1 - blend) * frequency) / factor + blend * frequency;
}

/** Inputs for the graphs. Tables grow by doubling, so a run computes them only a few times. */
export class RopeFeeds {
  readonly #config: ModelConfig;
  #length = 0;
  #feeds: Feeds = {};

  constructor(config: ModelConfig) {
    this.#config = config;
  }

  /** `rope_cos` and `rope_sin` for positions below `length`. */
  feeds(length: number): Feeds {
    if (length > this.#length) {
      const tables = ropeTables(this.#config, 2 ** Math.ceil(Math.log2(Math.max(64, length))));
      const shape = [tables.length, this.#config.headDim / 2];
      this.#length = tables.length;
      this.#feeds = {
        rope_cos: new Tensor('float32', tables.cos, shape),
        rope_sin: new Tensor('float32', tables.sin, shape),
      };
    }
    return this.#feeds;
  }
}
