/** Tables of rotary angles, computed in JavaScript as inputs of the graphs. */
import type { ModelConfig, RopeScaling } from './config.js';
import type { DeviceArrays, GraphRuntime } from '../runtime/graph-runtime.js';

export interface RopeTables {
  /** Number of positions in the tables. */
  readonly length: number;
  /** Cosine of each angle. [length, rotary dimension / 2] */
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/** Parameters that determine the angles. */
export interface RopeShape {
  /** Width of one head; even. */
  readonly headDim: number;
  /** Rotary dimension: number of dimensions of a head that are rotated. @default {@link headDim} */
  readonly rotaryDim?: number;
  readonly ropeTheta: number;
  readonly ropeScaling?: RopeScaling;
}

/**
 * Returns cosines and sines of position * frequency, computed in float64 and rounded once, for
 * positions below `length`.
 */
export function ropeTables(shape: RopeShape, length: number): RopeTables {
  const frequencies = ropeFrequencies(shape);
  const { ropeScaling: scaling } = shape;
  const factor = scaling && 'attentionFactor' in scaling ? scaling.attentionFactor : 1;
  const half = frequencies.length;
  const cos = new Float32Array(length * half);
  const sin = new Float32Array(length * half);
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position * frequencies[i]!;
      cos[position * half + i] = factor * Math.cos(angle);
      sin[position * half + i] = factor * Math.sin(angle);
    }
  }
  return { length, cos, sin };
}

/** Returns the rotary dimension, which is the width of a head by default. */
export const rotatedWidth = ({
  headDim,
  rotaryDim = headDim,
}: Omit<RopeShape, 'ropeTheta'>): number => rotaryDim;

/**
 * Returns the parameters of the rotary tables for layers with `rope: 'local'`, or undefined if
 * there are no such layers.
 */
export function localRopeShape(config: ModelConfig): RopeShape | undefined {
  const { headDim, rotaryDim, localRope: local } = config;
  return (
    local && {
      headDim: local.headDim ?? headDim,
      rotaryDim,
      ropeTheta: local.theta,
      ropeScaling: local.scaling,
    }
  );
}

/**
 * Returns the angle per position of each pair of dimensions: theta^(-2i / r), scaled according to
 * the config, with r = {@link rotatedWidth}. [r / 2] @see Su et al., arXiv:2104.09864; for
 * `llama3`, the Llama 3.1 model card's `rope_scaling`
 */
export function ropeFrequencies(shape: RopeShape): Float64Array {
  const half = rotatedWidth(shape) / 2;
  const scale = scaleOf(shape);
  return Float64Array.from({ length: half }, (_, i) => scale(shape.ropeTheta ** (-i / half), i));
}

/** Scales a frequency; `i` is the index of its pair of dimensions. */
type Scale = (frequency: number, i: number) => number;

function scaleOf(shape: RopeShape): Scale {
  const { ropeScaling: scaling } = shape;
  if (!scaling) return (frequency) => frequency;
  if (scaling.kind === 'linear') return (frequency) => frequency / scaling.factor;
  if (scaling.kind === 'longrope') return (frequency, i) => frequency / scaling.divisors[i]!;
  if (scaling.kind === 'proportional') {
    const used = Math.floor((scaling.part * rotatedWidth(shape)) / 2);
    return (frequency, i) => (i < used ? frequency / scaling.factor : 0);
  }
  return scaling.kind === 'llama3' ? llama3(scaling) : yarn(shape, scaling);
}

/** Keeps high frequencies, divides low frequencies by the factor, and blends between them. */
function llama3({
  factor,
  lowFreqFactor,
  highFreqFactor,
  originalMaxPositions,
}: Extract<RopeScaling, { kind: 'llama3' }>): Scale {
  return (frequency) => {
    const turns = (originalMaxPositions * frequency) / (2 * Math.PI);
    if (turns > highFreqFactor) return frequency;
    if (turns < lowFreqFactor) return frequency / factor;
    const blend = (turns - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
    return ((1 - blend) * frequency) / factor + blend * frequency;
  };
}

/**
 * Scales frequencies as {@link llama3} does, but the blend depends on the index of the dimension.
 * @see Peng et al., arXiv:2309.00071, section 3.2, as transformers computes it
 */
function yarn(shape: RopeShape, scaling: Extract<RopeScaling, { kind: 'yarn' }>): Scale {
  const width = rotatedWidth(shape);
  /**
   * Returns the index of the dimension whose frequency makes this number of rotations over the
   * original context length.
   */
  const dimension = (rotations: number): number =>
    (width * Math.log(scaling.originalMaxPositions / (rotations * 2 * Math.PI))) /
    (2 * Math.log(shape.ropeTheta));
  const [fast, slow] = [dimension(scaling.betaFast), dimension(scaling.betaSlow)];
  const low = Math.max(scaling.truncate ? Math.floor(fast) : fast, 0);
  const high = Math.min(scaling.truncate ? Math.ceil(slow) : slow, width - 1);
  const span = low === high ? 0.001 : high - low;
  return (frequency, i) => {
    const blend = Math.min(1, Math.max(0, (i - low) / span));
    return (frequency / scaling.factor) * blend + frequency * (1 - blend);
  };
}

/**
 * Feeds rotary tables to the graphs. The length of the tables grows by doubling, so they are
 * computed only a few times.
 */
export class RopeFeeds {
  readonly #runtime: GraphRuntime;
  readonly #config: ModelConfig;
  #length = 0;
  #feeds: DeviceArrays = {};

  constructor(runtime: GraphRuntime, config: ModelConfig) {
    this.#runtime = runtime;
    this.#config = config;
  }

  /**
   * Returns the rotary tables for at least `length` positions: `rope_cos` and `rope_sin`, and, if
   * some layers use other tables, these with the suffix `_local`.
   */
  feeds(length: number): DeviceArrays {
    if (length > this.#length) {
      for (const table of Object.values(this.#feeds)) table.free();
      const local = localRopeShape(this.#config);
      this.#length = 2 ** Math.ceil(Math.log2(Math.max(64, length)));
      this.#feeds = this.#tables(this.#config, '');
      if (local) this.#feeds = { ...this.#feeds, ...this.#tables(local, '_local') };
    }
    return this.#feeds;
  }

  #tables(shape: RopeShape, suffix: string): DeviceArrays {
    const { length, cos, sin } = ropeTables(shape, this.#length);
    const dims = [length, rotatedWidth(shape) / 2];
    const table = (data: Float32Array) =>
      this.#runtime.array({ dtype: 'float32', shape: dims, data });
    return { [`rope_cos${suffix}`]: table(cos), [`rope_sin${suffix}`]: table(sin) };
  }
}
