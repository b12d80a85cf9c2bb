/** Log-probabilities of given tokens by a remote model, where its service can say them. */
import { ModelError, type ScoreOptions } from '@trinity-rft/core';
import type { OpenAI } from 'openai';
import { remoteCall } from './remote-call.js';
import type { RemoteModelOptions } from './remote-model.js';

interface ScoreCall extends ScoreOptions {
  readonly tokens: ArrayLike<number>;
  readonly promptLength: number;
}

/**
 * As vLLM answers `prompt_logprobs: 0`: by id, undefined for the first token. Not part of OpenAI's
 * API.
 */
type PromptLogprobs = readonly (Readonly<Record<string, { readonly logprob?: unknown }>> | null)[];

/**
 * Of the distribution before temperature, so only temperature 1 can be asked for. [R]
 * @throws ModelError when the service cannot
 */
export async function remoteLogprobs(
  client: OpenAI,
  options: RemoteModelOptions,
  { tokens, promptLength, temperature = 1, signal: ofCall }: ScoreCall,
): Promise<Float32Array> {
  const { modelPath } = options;
  if (temperature !== 1) {
    throw new ModelError(
      `The remote model "${modelPath}" was asked to score at temperature ${temperature}; services score at 1 only. Set the temperature to 1, or give the model as a folder.`,
      { status: 400, code: 'not_available' },
    );
  }
  if (!Number.isInteger(promptLength) || promptLength < 1 || promptLength >= tokens.length) {
    throw new ModelError(
      `logprobs of "${modelPath}" was given ${tokens.length} tokens, ${promptLength} of them prompt; expected at least one of either.`,
      {
        status: 400,
        code: 'invalid_request',
      },
    );
  }
  return remoteCall(options, ofCall, async (signal) => {
    const body = {
      model: modelPath,
      prompt: Array.from(tokens),
      max_tokens: 1,
      temperature: 1,
      prompt_logprobs: 0,
    };
    const answer = await client.completions.create(
      body as OpenAI.CompletionCreateParamsNonStreaming,
      { signal },
    );
    const { prompt_logprobs: scored } = (answer.choices[0] ?? {}) as {
      readonly prompt_logprobs?: PromptLogprobs | null;
    };
    if (!Array.isArray(scored) || scored.length !== tokens.length) throw cannotScore(modelPath);
    return Float32Array.from({ length: tokens.length - promptLength }, (_, i) => {
      const at = promptLength + i;
      const logprob = (scored as PromptLogprobs)[at]?.[String(tokens[at])]?.logprob;
      if (typeof logprob === 'number' && Number.isFinite(logprob)) return Math.min(0, logprob);
      throw new ModelError(
        `The remote model "${modelPath}" gave no log-probability of token ${tokens[at]} at place ${at}. Expected one for every token: does it have another tokenizer?`,
        { status: 502, code: 'remote_error' },
      );
    });
  });
}

function cannotScore(modelPath: string): ModelError {
  return new ModelError(
    `The service of "${modelPath}" does not answer prompt_logprobs, so it cannot score given tokens. Expected vLLM, or give the model as a folder (model_path without base_url).`,
    { status: 501, code: 'not_available' },
  );
}
