/**
 * Table of the model families that can be written: the name of each architecture in llama.cpp, and
 * what llama.cpp assumes about its models.
 */
import type { FamilyName } from '../model/config-defaults.js';
import { gemmas } from '../model/gemma.js';
import { graniteDivided, graniteShared, type layerParts } from '../model/names.js';

export interface SavedFamily {
  /** Value of `general.architecture`. */
  readonly architecture: keyof typeof layerParts;
  /**
   * GGUF names of a layer's parts by their Hugging Face names.
   * @default those of the architecture
   */
  readonly parts?: Readonly<Record<string, string>>;
  /**
   * Hugging Face matrices whose rows are divided among several GGUF tensors, with the names of
   * these tensors.
   * @default none
   */
  readonly divided?: Readonly<Record<string, readonly string[]>>;
  /**
   * Supported activation: the names that config.json may have for the activation that llama.cpp
   * uses.
   */
  readonly activations: readonly string[];
  /** Values of `rope_type` that llama.cpp supports for this architecture. */
  readonly ropeTypes: readonly RopeType[];
  /**
   * True if llama.cpp reads biases of all four attention projections. Otherwise it reads no bias of
   * the output projection.
   */
  readonly outputBias?: true;
  /** True if llama.cpp supports a rotary dimension below the width of the heads. */
  readonly partialRotary?: true;
  readonly mlpBias?: true;
  /**
   * Layers that may have a sliding window in llama.cpp: with a number n, all but every n-th layer;
   * with `regular`, all but every n-th layer for any n; with `any`, any layers.
   * @default none: a window must be as long as the context
   */
  readonly windows?: number | 'regular' | 'any';
  /** True if `hidden_size` must equal the number of heads times their width. */
  readonly squareAttention?: true;
  /**
   * True if the file must contain `output.weight` even if the output head is tied to the
   * embeddings.
   */
  readonly ownHead?: true;
  /**
   * Number of layers of the family's 27B model. Only this model scales attention by `hidden_size /
   * heads`.
   */
  readonly layersOf27B?: number;
}

export type RopeType = 'default' | 'linear' | 'llama3' | 'yarn' | 'longrope' | 'proportional';

const silu = ['silu', 'swish'] as const;
const tanhGelu = ['gelu_pytorch_tanh', 'gelu_new'] as const;
const scaled = ['default', 'linear', 'yarn'] as const;

const olmo = {
  architecture: 'olmo2',
  activations: silu,
  ropeTypes: scaled,
  squareAttention: true,
  ownHead: true,
} as const satisfies SavedFamily;

const granite = {
  architecture: 'granite',
  activations: silu,
  ropeTypes: [...scaled, 'llama3'],
  outputBias: true,
} as const satisfies Partial<SavedFamily>;

/** Families by `model_type` of config.json. */
export const savedFamilies: Readonly<Partial<Record<FamilyName, SavedFamily>>> = {
  llama: {
    architecture: 'llama',
    activations: silu,
    ropeTypes: [...scaled, 'llama3'],
    outputBias: true,
    mlpBias: true,
  },
  mistral: {
    architecture: 'llama',
    activations: silu,
    ropeTypes: [...scaled, 'llama3'],
  },
  ministral3: {
    architecture: 'mistral3',
    activations: silu,
    ropeTypes: ['default', 'yarn'],
  },
  smollm3: {
    architecture: 'smollm3',
    activations: silu,
    ropeTypes: scaled,
  },
  qwen2: {
    architecture: 'qwen2',
    activations: silu,
    ropeTypes: scaled,
  },
  qwen3: {
    architecture: 'qwen3',
    activations: silu,
    ropeTypes: scaled,
  },
  qwen3_moe: {
    architecture: 'qwen3moe',
    activations: silu,
    ropeTypes: scaled,
  },
  lfm2: {
    architecture: 'lfm2',
    activations: silu,
    ropeTypes: ['default'],
  },
  qwen3_5_text: {
    architecture: 'qwen35',
    activations: silu,
    ropeTypes: ['default'],
    partialRotary: true,
  },
  phi3: {
    architecture: 'phi3',
    activations: silu,
    ropeTypes: ['default', 'linear', 'longrope'],
    partialRotary: true,
    squareAttention: true,
  },
  olmo2: olmo,
  // Some releases of llama.cpp do not read the key that names the layers.
  olmo3: { ...olmo, windows: 4 },
  gemma2: {
    architecture: 'gemma2',
    activations: tanhGelu,
    ropeTypes: ['default', 'linear'],
    windows: 'regular',
    layersOf27B: gemmas.gemma2.layersOf27B,
  },
  gemma3_text: {
    architecture: 'gemma3',
    activations: tanhGelu,
    ropeTypes: ['default', 'linear'],
    windows: 'regular',
    layersOf27B: gemmas.gemma3.layersOf27B,
  },
  gemma4_text: {
    architecture: 'gemma4',
    activations: tanhGelu,
    ropeTypes: ['proportional'],
    windows: 'any',
  },
  granite: { ...granite, mlpBias: true },
  granitemoehybrid: {
    ...granite,
    parts: graniteShared,
    divided: graniteDivided,
  },
};
