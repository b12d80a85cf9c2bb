/** Lets an external model behind an OpenAI-compatible API respond instead of the trained model. */
import type { ExternalModelConfig, StageConfig } from '@trinity-rft/config';
import type { Environment } from '@trinity-rft/buffer/internal';
import { ConfigError, InvariantError } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import { isHttpUrl, knowSecret } from '@trinity-rft/core/support';
import type { AttemptKey } from '@trinity-rft/explorer';
import type { AgentModel } from '@trinity-rft/workflow';
import { createRemoteModel } from '@trinity-rft/workflow';

/** Number of retries per call. Services with a rate limit refuse many calls at first. */
const maxRetries = 8;

/** Returns the external model for an attempt, or undefined if the trained model responds. */
export type ExternalAnswers = (
  key: Pick<AttemptKey, 'task' | 'signal'>,
  waits: Set<string>,
) => AgentModel | undefined;

/**
 * Creates the function that returns the external model of an attempt. In mode `both`, the trained
 * model, not the external one, responds in evaluations.
 * @throws ConfigError when the environment lacks the model's URL
 */
export function externalAnswers(
  { external, explorer, mode }: StageConfig,
  env: Environment,
): ExternalAnswers {
  if (external === undefined) return () => undefined;
  const { name: modelPath, apiKey = env[external.apiKeyEnv] || 'EMPTY' } = external;
  const baseURL = addressOf(external, env);
  if (apiKey !== 'EMPTY') knowSecret(apiKey);
  return ({ task, signal }, waits) =>
    task.isEval && mode === 'both'
      ? undefined
      : createRemoteModel({
          kind: 'external',
          baseURL,
          apiKey,
          modelPath,
          enableThinking: explorer.rolloutModel.enableThinking,
          timeoutMs: explorer.maxTimeoutMs,
          maxRetries,
          signal,
          waits,
        });
}

function addressOf({ baseUrl, baseUrlEnv }: ExternalModelConfig, env: Environment): string {
  const address = baseUrl ?? env[baseUrlEnv] ?? '';
  if (isHttpUrl(address)) return address.replace(/\/+$/, '');
  throw new ConfigError(
    `The environment variable ${baseUrlEnv} ${address === '' ? 'is not set' : 'is not a URL'}, and it is to hold the address of the model behind an API. Set it to one such as https://api.openai.com/v1, or set explorer.rollout_model.base_url.`,
    { code: 'EXTERNAL_ADDRESS' },
  );
}

const unused = (): Promise<never> =>
  Promise.reject(
    new InvariantError('A model behind an API answers, so nothing is sampled or trained here.', {
      code: 'EXTERNAL_ANSWERS',
    }),
  );

/**
 * Returns the placeholder sampler of a stage in which an external model makes all responses. Every
 * call of the sampler rejects.
 */
export function externalSampler({ model }: StageConfig): Sampler {
  return { maxModelLen: model.maxModelLen, policyVersion: 0, sample: unused, adopt: unused };
}
