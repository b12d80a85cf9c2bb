/**
 * Settings in PEFT's `adapter_config.json` for adapters that are more than two matrices per weight
 * of the base.
 */

/**
 * Values of `init_lora_weights` that leave the base unchanged. Other initialisations (PiSSA, OLoRA,
 * CorDA, LoftQ, LoRA-GA) subtract the initial adapter from the base, so that the adapter does not
 * fit the model that it was made from. PEFT's `path_initial_model_for_weight_conversion` makes
 * ordinary adapters of all but LoftQ.
 */
export const plainInitialisations = [
  ...[true, false, undefined, null],
  ...(['gaussian', 'eva', 'orthogonal', 'mica'] as const),
] as const;

/**
 * Keys of exceptions, such as other ranks for some layers, and of variants with another forward
 * pass. Their values must be unset.
 */
export const variantKeys = [
  'alora_invocation_tokens',
  'arrow_config',
  'kasa_config',
  'monteclora_config',
  'use_bdlora',
  'trainable_token_indices',
  'rank_pattern',
  'alpha_pattern',
  'modules_to_save',
  'layer_replication',
  'target_parameters',
] as const;

/** Returns true for a value that counts as unset: null, false, or an empty list or section. */
export const isUnset = (value: unknown): boolean =>
  value == null ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);
