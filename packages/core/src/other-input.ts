/** Detects models that accept images or audio, and finds the text model that they contain. */

/** Keys of `config.json` that describe an encoder of images or audio. */
const keys = ['vision_config', 'audio_config', 'visual', 'mm_vision_tower', 'img_processor'];

type Config = Readonly<Record<string, unknown>>;

/**
 * Returns the key of `config.json` that describes an encoder of images or audio, or undefined if
 * there is none.
 */
export function otherInput(config: unknown): string | undefined {
  const found = (config ?? {}) as Config;
  return keys.find((key) => found[key] !== undefined && found[key] !== null);
}

/** Top-level keys of `config.json` that also apply to the text model inside. */
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
 * Returns the `config.json` of the text model inside a model that accepts images or audio. Returns
 * undefined for other models, and if `text_config` or its `model_type` is missing.
 */
export function textPart(config: unknown): Config | undefined {
  const whole = (config ?? {}) as Config;
  const text = whole['text_config'] as Config | null | undefined;
  if (otherInput(config) === undefined || typeof text?.['model_type'] !== 'string')
    return undefined;
  const shared = sharedKeys.filter((key) => Object.hasOwn(whole, key));
  return { ...Object.fromEntries(shared.map((key) => [key, whole[key]])), ...text };
}
