import { configDefaults } from '@trinity-rft/chat/internal';
import { CheckpointError } from '@trinity-rft/core';
import { commonKeys, otherInput } from '@trinity-rft/core/support';

import { activations, invalid, readConfigKeys, type ConfigKeys } from './config-keys.js';
import { modelFamilies, type Activation, type ModelConfig } from './config.js';
import { families } from './families.js';
import { assertDense, parseExperts, parseLayers } from './parse-layers.js';
import { parseRecurrence } from './parse-recurrence.js';
import { parseRope, type ParsedRope } from './parse-rope.js';
import { parseGlobalHeadDim, parsePerLayerInputs } from './parse-shared-keys.js';

/**
 * Converts a parsed `config.json` of Hugging Face, in the format of transformers 4 or 5, to a
 * {@link ModelConfig}.
 * @param file path for messages
 * @throws CheckpointError that names the key, its value and the supported values
 */
export function parseModelConfig(json: unknown, file: string): ModelConfig {
  assertText(json, file);
  const hf = readConfigKeys(withDefaults(commonKeys(json)), file);
  const family = families[hf.model_type];
  if (family.hybrid) assertDense(hf, file);
  const sizes = headSizes(hf, file);
  const headDim = family.sharedKeys ? parseGlobalHeadDim(hf, file) : sizes.headDim;
  const maxPositions = hf.max_position_embeddings ?? 2_048;
  const rope = parseRope(hf, { file, headDim, maxPositions });
  const layerTraits = parseLayers(hf, { file, maxPositions });
  const bias = family.attentionBias === 'key' && (hf.attention_bias ?? false);
  return {
    family: hf.model_type,
    vocabSize: hf.vocab_size,
    hiddenSize: hf.hidden_size,
    layers: hf.num_hidden_layers,
    ...sizes,
    headDim,
    rotaryDim: rope.rotaryDim,
    intermediateSize: hf.intermediate_size,
    normEpsilon: hf.rms_norm_eps ?? 1e-6,
    ropeTheta: rope.theta,
    ropeScaling: rope.scaling,
    localRope: layerTraits?.some((layer) => layer.rope === 'local')
      ? { ...rope.local, headDim: family.sharedKeys && sizes.headDim }
      : undefined,
    qkNorm: false,
    ...family.traits,
    qkvBias: bias || family.attentionBias === 'qkv',
    outputBias: bias,
    mlpBias: family.mlpBias === true && (hf.mlp_bias ?? false),
    activation: activationOf(hf),
    attentionScale: attentionScaleOf(hf, headDim),
    ...(family.multipliers && multipliersOf(hf)),
    attentionCap: capOf(hf, 'attn_logit_softcapping'),
    logitCap: capOf(hf, 'final_logit_softcapping'),
    ...(family.scaledEmbeddings && { embeddingScale: Math.sqrt(hf.hidden_size) }),
    perLayerInputs: parsePerLayerInputs(hf, file),
    experts: parseExperts(hf, file),
    ...parseRecurrence(hf, file),
    layerTraits,
    tieEmbeddings: hf.tie_word_embeddings ?? false,
    ...positionsOf(rope, maxPositions),
    bosTokenId: hf.bos_token_id ?? undefined,
    eosTokenIds: [hf.eos_token_id ?? []].flat(),
    padTokenId: padTokenId(hf),
  };
}

/**
 * Checks that a model takes only text as input.
 * @throws CheckpointError when it takes other input
 */
function assertText(json: unknown, file: string): void {
  const other = otherInput(json);
  if (other === undefined) return;
  throw new CheckpointError(
    `${file}: the model takes more than text (it has ${other}), which no engine supports. Use a ` +
      `model of text alone, of one of these: ${modelFamilies.join(', ')}.`,
    { code: 'MODEL_NOT_TEXT', details: { file, key: other } },
  );
}

function withDefaults(json: unknown): unknown {
  const known = modelFamilies.find(
    (family) => family === (json as { model_type?: unknown } | null)?.model_type,
  );
  return known ? { ...configDefaults[known], ...(json as object) } : json;
}

/**
 * Returns true if the model's family uses a key of config.json. Every key that the family uses has
 * a default in `configDefaults`.
 */
const reads = (hf: ConfigKeys, key: string): boolean =>
  Object.hasOwn(configDefaults[hf.model_type], key);

function headSizes(
  hf: ConfigKeys,
  file: string,
): Pick<ModelConfig, 'heads' | 'kvHeads' | 'headDim'> {
  const heads = hf.num_attention_heads;
  const kvHeads = hf.num_key_value_heads ?? heads;
  const headDim = hf.head_dim ?? hf.hidden_size / heads;
  if (heads % kvHeads !== 0)
    throw invalid(
      file,
      'num_key_value_heads',
      kvHeads,
      `a divisor of num_attention_heads (${heads})`,
    );
  if (!Number.isInteger(headDim) || headDim % 2 !== 0)
    throw invalid(file, 'head_dim', headDim, 'an even whole number');
  return { heads, kvHeads, headDim };
}

/**
 * Returns the maximum context length and the key that limits it. If rotary angles or queries change
 * from a position on, sequences must end before this position.
 */
function positionsOf(
  { end }: ParsedRope,
  maxPositions: number,
): Pick<ModelConfig, 'maxPositions' | 'positionsKey'> {
  return end !== undefined && end < maxPositions
    ? { maxPositions: end, positionsKey: 'original_max_position_embeddings' }
    : { maxPositions };
}

/** Returns Granite's multipliers, which default to 1 in transformers. */
const multipliersOf = (hf: ConfigKeys) =>
  ({
    embeddingScale: hf.embedding_multiplier ?? 1,
    attentionScale: hf.attention_multiplier ?? 1,
    residualScale: hf.residual_multiplier ?? 1,
    logitScale: 1 / (hf.logits_scaling ?? 1),
  }) satisfies Partial<ModelConfig>;

function attentionScaleOf(hf: ConfigKeys, headDim: number): number | undefined {
  if (families[hf.model_type].unscaledScores) return 1;
  return reads(hf, 'query_pre_attn_scalar')
    ? (hf.query_pre_attn_scalar ?? headDim) ** -0.5
    : undefined;
}

function activationOf(hf: ConfigKeys): Activation | undefined {
  const name = reads(hf, 'hidden_activation') ? hf.hidden_activation : hf.hidden_act;
  const found = activations[name ?? 'silu'];
  return found === 'silu' ? undefined : found;
}

const capOf = (
  hf: ConfigKeys,
  key: 'attn_logit_softcapping' | 'final_logit_softcapping',
): number | undefined => (reads(hf, key) ? (hf[key] ?? undefined) : undefined);

/**
 * Returns the id of the padding token, or undefined if there is none. Some checkpoints use -1 to
 * state that there is none.
 */
const padTokenId = ({ pad_token_id: id }: ConfigKeys): number | undefined =>
  id != null && id >= 0 ? id : undefined;
