/**
 * Rules for writing the models of each family: the architecture's name in llama.cpp, and
 * llama.cpp's assumptions about the model.
 */
import type { FamilyName } from '../model/config-defaults.js';
import { gemmas } from '../model/gemma.js';
import { graniteDivided, graniteShared, type layerParts } from '../model/names.js';

export interface SavedFamily {
  /** Value of `general.architecture`. */
  readonly architecture: keyof typeof layerParts;
  /** GGUF names of a layer's parts. @default those of the architecture */
  readonly parts?: Readonly<Record<string, string>>;
  /** Matrices whose rows become several tensors. @default none */
  readonly divided?: Readonly<Record<string, readonly string[]>>;
  /** Names in config.json of the activation that llama.cpp computes. */
  readonly activations: readonly string[];
  /** Values of `rope_type` that llama.cpp supports for this architecture. */
  readonly ropeTypes: readonly RopeType[];
  /**
   * True if llama.cpp reads biases of all four attention projections; otherwise llama.cpp reads at
   * most the biases of q, k and v.
   */
  readonly outputBias?: true;
  /** True if llama.cpp can rotate only the first part of a head. */
  readonly partialRotary?: true;
  readonly mlpBias?: true;
  /**
   * Layers for which llama.cpp supports windows: all but every n-th for the given n or for each n,
   * or any. Otherwise a window must cover the whole context.
   */
  readonly windows?: number | 'regular' | 'any';
  /** True if the hidden size must equal the total width of the heads. */
  readonly squareAttention?: true;
  /** True if `output.weight` must exist even if the head is tied. */
  readonly ownHead?: true;
  /**
   * Number of layers of the family's 27B model, the only one whose attention is scaled by hidden
   * size / heads.
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
