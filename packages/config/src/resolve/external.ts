/**
 * Resolves an external model behind an OpenAI-compatible API, which generates responses instead of
 * the trained model.
 */
import type { KeyPath } from '../source/node.js';
import type { StageContext } from './base/context.js';
import { apiAddress } from './base/paths.js';
import type { AlgorithmConfig, ExternalModelConfig } from './base/resolved.js';
import { imitates } from './sampling-distribution.js';

const modelSection: KeyPath = ['model', 'external_model'];
const rolloutModel: KeyPath = ['explorer', 'rollout_model'];
const rolloutSection: KeyPath = [...rolloutModel, 'external_model_config'];
const engineKey: KeyPath = [...rolloutModel, 'engine_type'];

/** Returns the settings of the external model, or undefined if it is not enabled. */
export function deriveExternal(
  context: StageContext,
  algorithm: AlgorithmConfig,
): ExternalModelConfig | undefined {
  const enable = enabledBy(context);
  if (enable === undefined) return undefined;
  if (context.input.mode === 'train' && context.part === undefined) {
    context.warn(enable, 'ignored. Mode train samples nothing.');
    return undefined;
  }
  checkUse(context, enable, algorithm);
  checkRivals(context, enable);
  const section = context.isSet(...rolloutSection) ? rolloutSection : modelSection;
  if (section === rolloutSection && context.isSet(...modelSection))
    context.warn(modelSection, `ignored. ${rolloutSection.join('.')} is set.`);
  const { explorer, model } = context.input;
  const input =
    section === rolloutSection
      ? explorer.rollout_model.external_model_config
      : model.external_model;
  const { base_url_env: baseUrlEnv, api_key_env: apiKeyEnv, model_name: name } = input;
  if (name === null || name === '')
    context.report(
      [...section, 'model_name'],
      'is not set. Give the name of the model at the API.',
    );
  const { api_key: apiKey } = explorer.rollout_model;
  return {
    name: name ?? '',
    baseUrl: addressOf(context),
    baseUrlEnv,
    apiKey: apiKey === 'EMPTY' ? undefined : apiKey,
    apiKeyEnv,
  };
}

/** Returns the key that enables the external model, or undefined if none does. */
export function enabledBy({ input: { explorer, model } }: StageContext): KeyPath | undefined {
  const { engine_type: engine, external_model_config: own } = explorer.rollout_model;
  if (engine === 'external') return engineKey;
  if (own.enable) return [...rolloutSection, 'enable'];
  return model.external_model.enable ? [...modelSection, 'enable'] : undefined;
}

/**
 * Reports uses that need token ids and log-probabilities, which an external API does not return.
 */
function checkUse(context: StageContext, enable: KeyPath, algorithm: AlgorithmConfig): void {
  if (context.mode === 'bench') return;
  if (context.mode === 'serve')
    return context.report(
      enable,
      'asks for a model behind an API, but mode serve serves the model that learns. Remove it, or use mode: bench.',
      [['mode']],
    );
  if (imitates(algorithm)) return;
  const { algorithmType, policyLossFn, klPenaltyFn } = algorithm;
  const part =
    klPenaltyFn.name === 'none'
      ? `the policy loss "${policyLossFn.name}"`
      : `the KL penalty "${klPenaltyFn.name}"`;
  context.report(
    enable,
    `asks for a model behind an API, whose texts come without the log-probabilities of their tokens, and ${part} of ${algorithmType} learns from those of the sampler. Use algorithm_type: raft, which imitates the best texts, or mode: bench; to train on what a server samples, use engine_type: vllm.`,
    [['algorithm']],
  );
}

function checkRivals(context: StageContext, enable: KeyPath): void {
  const { explorer } = context.input;
  const { engine_type: engine, base_url: urls } = explorer.rollout_model;
  if (engine !== 'external' && urls !== null && context.isSet(...engineKey))
    context.report(
      engineKey,
      `got "${engine}" with base_url, but ${enable.join('.')} is true. Remove one of the two.`,
    );
  if (explorer.constrained_decoding)
    context.report(
      ['explorer', 'constrained_decoding'],
      'got true, but answers of a model behind an API cannot be restricted here. Set it to false.',
    );
}

/**
 * Returns the configured base URL of the API, or undefined if an environment variable supplies it.
 */
function addressOf(context: StageContext): string | undefined {
  const [address, ...others] = context.input.explorer.rollout_model.base_url ?? [];
  if (address === undefined) return undefined;
  const at: KeyPath = [...rolloutModel, 'base_url'];
  if (others.length > 0) context.report(at, 'has several addresses; one API answers. Give one.');
  return apiAddress(context, at, address);
}
