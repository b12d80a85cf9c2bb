/** Models and batches of `pnpm bench sizes`. */
import type { LoraOptions, NewModelConfig } from '../../packages/engine-onnx/src/index.ts';

export interface Size {
  readonly name: string;
  readonly config: NewModelConfig;
  /** Adapter settings. @default all weights are trained */
  readonly lora?: LoraOptions;
  readonly rows: number;
  readonly prompt: number;
  readonly response: number;
}

const grpo = { rows: 512, prompt: 6, response: 5 };
const chat = { rows: 64, prompt: 44, response: 14 };
const long = { rows: 8, prompt: 128, response: 128 };
const lora = { rank: 16, alpha: 16, seed: 1 };

const quickstart: NewModelConfig = {
  vocabSize: 16,
  hiddenSize: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  maxPositions: 64,
};
const smollm2: NewModelConfig = {
  family: 'llama',
  vocabSize: 49_152,
  hiddenSize: 576,
  layers: 30,
  heads: 9,
  kvHeads: 3,
  headDim: 64,
  intermediateSize: 1536,
  maxPositions: 8192,
};
const qwen25: NewModelConfig = {
  family: 'qwen2',
  vocabSize: 151_936,
  hiddenSize: 896,
  layers: 24,
  heads: 14,
  kvHeads: 2,
  headDim: 64,
  intermediateSize: 4864,
  maxPositions: 4096,
};

/** Sizes, smallest first. */
export const sizes: readonly Size[] = [
  { name: 'quickstart', config: quickstart, ...grpo },
  { name: '4 layers', config: { ...quickstart, hiddenSize: 128, layers: 4 }, ...grpo },
  { name: '8 layers', config: { ...quickstart, hiddenSize: 256, layers: 8 }, ...grpo },
  { name: 'SmolLM2-135M, adapter', config: smollm2, lora, ...chat },
  { name: 'SmolLM2-135M', config: smollm2, ...chat },
  { name: 'Qwen2.5-0.5B, adapter', config: qwen25, lora, ...long },
  { name: 'Qwen2.5-0.5B', config: qwen25, ...long },
];
