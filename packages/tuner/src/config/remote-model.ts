/**
 * Creates a model behind an OpenAI-compatible service, from a `TunerModelConfig` with `baseUrl`.
 */
import { createRemoteModel, type AgentModel } from '@trinity-rft/workflow';
import type { TunerModelConfig } from './model-config.js';

type Options = Parameters<typeof createRemoteModel>[0];

/** Creates the model, with all settings of its configuration. */
export const remoteModel = (
  { apiKey = 'EMPTY', modelPath, temperature, topP, maxTokens, enableThinking }: TunerModelConfig,
  options: Pick<Options, 'baseURL' | 'timeoutMs' | 'signal'> & Partial<Pick<Options, 'fetch'>>,
): AgentModel =>
  createRemoteModel({
    ...options,
    apiKey,
    modelPath,
    enableThinking,
    defaults: { temperature, topP, maxTokens },
  });
