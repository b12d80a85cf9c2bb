/** Detects models that take more than text. */

/** Keys of `config.json` that describe the encoder of images or sounds. */
const keys = ['vision_config', 'audio_config', 'visual', 'mm_vision_tower', 'img_processor'];

/** Key of `config.json` that shows that the model takes more than text; undefined if none does. */
export function otherInput(config: unknown): string | undefined {
  const found = (config ?? {}) as Readonly<Record<string, unknown>>;
  return keys.find((key) => found[key] !== undefined && found[key] !== null);
}
