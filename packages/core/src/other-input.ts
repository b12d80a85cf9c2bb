/** Models that take more than text. */

/** Keys of `config.json` in which such models describe what reads their images or sounds. */
const keys = ['vision_config', 'audio_config', 'visual', 'mm_vision_tower', 'img_processor'];

/** The key by which the model of a `config.json` takes more than text; undefined if it does not. */
export function otherInput(config: unknown): string | undefined {
  const found = (config ?? {}) as Readonly<Record<string, unknown>>;
  return keys.find((key) => found[key] !== undefined && found[key] !== null);
}
