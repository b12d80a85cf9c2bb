/**
 * Settings in PEFT's `adapter_config.json` that show whether an adapter is plain LoRA: two matrices
 * per adapted weight, and nothing else.
 */

/**
 * Values of `init_lora_weights` with which PEFT does not change the base model. Other
 * initialisations (PiSSA, OLoRA, CorDA, LoftQ, LoRA-GA) subtract the initial adapter from the
 * weights of the base model, so that the adapter does not fit the unchanged base model. Except for
 * LoftQ, PEFT's `path_initial_model_for_weight_conversion` can convert such an adapter to an
 * ordinary one.
 */
export const plainInitialisations = [
  ...[true, false, undefined, null],
  ...(['gaussian', 'eva', 'orthogonal', 'mica'] as const),
] as const;

/**
 * Keys that must be unset in a plain LoRA adapter: exceptions for some layers, such as other ranks,
 * and variants with another forward pass.
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
