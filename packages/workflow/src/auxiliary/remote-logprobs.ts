/**
 * Requests the log-probabilities of given tokens from a remote model, if its service supports this.
 */
import { ModelError } from '@trinity-rft/core';
import type { ScoreOptions } from '@trinity-rft/core/internal';
import type { OpenAI } from 'openai';
import { readChoices } from './read-answer.js';
import { remoteCall } from './remote-call.js';
import type { RemoteModelOptions } from './remote-call.js';

interface ScoreCall extends ScoreOptions {
  readonly tokens: ArrayLike<number>;
  readonly promptLength: number;
}

/**
 * Field of vLLM's response to `prompt_logprobs: 0`, which OpenAI's API does not have. The list has
 * one entry per token of the prompt: log-probabilities by token id, or null for the first token.
 */
type PromptLogprobs = readonly (Readonly<Record<string, { readonly logprob?: unknown }>> | null)[];

/**
 * Returns the log-probability of each response token. Rejects temperatures other than 1, because
 * services compute log-probabilities at temperature 1.
 * @throws ModelError if the service does not return log-probabilities of given tokens
 */
export async function remoteLogprobs(
  client: OpenAI,
  options: RemoteModelOptions,
  { tokens, promptLength, temperature = 1, signal: callSignal }: ScoreCall,
): Promise<Float32Array> {
  const { modelPath } = options;
  if (temperature !== 1) {
    throw new ModelError(
      `The remote model "${modelPath}" computes log-probabilities at temperature 1 only, ` +
        `not ${temperature}. Set the temperature to 1, or use a model folder.`,
      { status: 400, code: 'not_available' },
    );
  }
  if (!Number.isInteger(promptLength) || promptLength < 1 || promptLength >= tokens.length) {
    throw new ModelError(
      `logprobs of "${modelPath}" got ${tokens.length} tokens with a prompt of ` +
        `${promptLength}; expected at least one prompt and one response token.`,
      { status: 400, code: 'invalid_request' },
    );
  }
  return remoteCall(options, callSignal, async (signal) => {
    const body = {
      model: modelPath,
      prompt: Array.from(tokens),
      max_tokens: 1,
      temperature: 1,
      prompt_logprobs: 0,
    };
    const completion = await client.completions.create(
      body as OpenAI.CompletionCreateParamsNonStreaming,
      { signal },
    );
    const [choice] = readChoices(completion, options);
    const { prompt_logprobs: scored } = choice as {
      readonly prompt_logprobs?: PromptLogprobs | null;
    };
    if (!Array.isArray(scored) || scored.length !== tokens.length) throw cannotScore(modelPath);
    const response = scored.slice(promptLength) as PromptLogprobs;
    return Float32Array.from(response, (candidates, i) => {
      const position = promptLength + i;
      const token = tokens[position];
      const logprob = candidates?.[String(token)]?.logprob;
      if (typeof logprob === 'number' && Number.isFinite(logprob)) return Math.min(0, logprob);
      throw new ModelError(
        `The remote model "${modelPath}" returned no log-probability for token ${token} at ` +
          `position ${position}. Check that it has the tokenizer of the trained model.`,
        { status: 502, code: 'remote_error' },
      );
    });
  });
}

function cannotScore(modelPath: string): ModelError {
  return new ModelError(
    `The service of "${modelPath}" does not support prompt_logprobs, ` +
      'so it cannot score given tokens. Use vLLM, or a model folder (model_path without ' +
      'base_url).',
    { status: 501, code: 'not_available' },
  );
}
