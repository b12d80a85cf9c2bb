/**
 * Creates a model behind an OpenAI-compatible service, from a `TunerModelConfig` with `baseUrl`.
 */
import { createRemoteModel, type AgentModel } from '@trinity-rft/workflow';
import type { TunerModelConfig } from './model-config.js';

type Options = Parameters<typeof createRemoteModel>[0];

/**
 * Number of retries per call, as for the external model of a run. Services with a rate limit refuse
 * many calls at first, and a row lost to it would decide a comparison. A call to an address at which
 * nothing runs fails after about 34 s.
 */
const maxRetries = 8;

/** Creates the model, with all settings of its configuration. */
export const remoteModel = (
  { apiKey = 'EMPTY', modelPath, temperature, topP, maxTokens, enableThinking }: TunerModelConfig,
  options: Pick<Options, 'baseURL' | 'timeoutMs' | 'signal'> & Partial<Pick<Options, 'fetch'>>,
): AgentModel =>
  createRemoteModel({
    ...options,
    apiKey,
    modelPath,
    maxRetries,
    enableThinking,
    defaults: { temperature, topP, maxTokens },
  });
