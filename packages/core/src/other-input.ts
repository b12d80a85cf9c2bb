/** Detects models that take more than text, and finds the text model inside. */

/** Keys of `config.json` that describe the encoder of images or sounds. */
const keys = ['vision_config', 'audio_config', 'visual', 'mm_vision_tower', 'img_processor'];

type Config = Readonly<Record<string, unknown>>;

/** Key of `config.json` that shows that the model takes more than text; undefined if none does. */
export function otherInput(config: unknown): string | undefined {
  const found = (config ?? {}) as Config;
  return keys.find((key) => found[key] !== undefined && found[key] !== null);
}

/** Keys that the parts of a model share. */
const sharedKeys = [
  'tie_word_embeddings',
  'bos_token_id',
  'eos_token_id',
  'pad_token_id',
  'dtype',
  'torch_dtype',
  'quantization_config',
];

/**
 * `config.json` of the text model inside a model that takes more than text; undefined for other
 * models, and if `text_config` or its `model_type` is missing.
 */
export function textPart(config: unknown): Config | undefined {
  const whole = (config ?? {}) as Config;
  const text = whole['text_config'] as Config | null | undefined;
  if (otherInput(config) === undefined || typeof text?.['model_type'] !== 'string')
    return undefined;
  const shared = sharedKeys.filter((key) => Object.hasOwn(whole, key));
  return { ...Object.fromEntries(shared.map((key) => [key, whole[key]])), ...text };
}
