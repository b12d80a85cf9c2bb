import { unsupported } from '../file/failure.js';
import type { GgufFile } from '../file/gguf-file.js';
import type { FamilyName } from './config-defaults.js';

/** Supported architectures by their GGUF name, with Hugging Face's `model_type` and class. */
export const ggufArchitectures = {
  llama: { modelType: 'llama', className: 'LlamaForCausalLM' },
  qwen2: { modelType: 'qwen2', className: 'Qwen2ForCausalLM' },
  qwen3: { modelType: 'qwen3', className: 'Qwen3ForCausalLM' },
  qwen3moe: { modelType: 'qwen3_moe', className: 'Qwen3MoeForCausalLM' },
  phi3: { modelType: 'phi3', className: 'Phi3ForCausalLM' },
  mistral3: { modelType: 'ministral3', className: 'Ministral3ForCausalLM' },
  lfm2: { modelType: 'lfm2', className: 'Lfm2ForCausalLM' },
  qwen35: { modelType: 'qwen3_5_text', className: 'Qwen3_5ForCausalLM' },
  smollm3: { modelType: 'smollm3', className: 'SmolLM3ForCausalLM' },
  olmo2: { modelType: 'olmo2', className: 'Olmo2ForCausalLM' },
  gemma2: { modelType: 'gemma2', className: 'Gemma2ForCausalLM' },
  gemma3: { modelType: 'gemma3_text', className: 'Gemma3ForCausalLM' },
  gemma4: { modelType: 'gemma4_text', className: 'Gemma4ForCausalLM' },
  granite: { modelType: 'granite', className: 'GraniteForCausalLM' },
} as const;

export type GgufArchitecture = keyof typeof ggufArchitectures;

/** Values of `model_type` in config.json for the supported architectures. */
export const ggufFamilies: readonly FamilyName[] = [
  ...Object.values(ggufArchitectures).map(({ modelType }) => modelType),
  // Its files have the architecture of OLMo 2.
  'olmo3',
];

/**
 * Returns the architecture of a GGUF file.
 * @throws CheckpointError that names an unsupported architecture
 */
export function architectureOf({ path, metadata }: GgufFile): GgufArchitecture {
  const name = metadata.get('general.architecture');
  const known = Object.keys(ggufArchitectures).find((key) => key === name);
  if (known !== undefined) return known as GgufArchitecture;
  if (name === 'clip')
    throw unsupported(
      path,
      'general.architecture',
      "it holds the encoder of images or sounds of a model. Give the model's own file, which lies beside it.",
    );
  throw unsupported(
    path,
    'general.architecture',
    `its architecture is ${String(name)}; expected one of ${Object.keys(ggufArchitectures).join(', ')}. Use a model of one of these.`,
  );
}
