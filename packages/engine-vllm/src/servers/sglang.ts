/**
 * Client of an SGLang server. It was written from SGLang's documentation and has not been tested
 * with a server.
 */
import type { ServerAddress } from '@trinity-rft/core/engine';
import { z } from 'zod';
import { ServerFault } from '../wire/fault.js';
import { readChoices, readScores } from '../wire/generate.js';
import { serverCalls } from '../wire/http.js';
import { readAnswer } from '../wire/read.js';
import { choiceOf, scoresOf, sglangParams, sglangPath } from '../wire/sglang.js';
import { commonCures, readServedModel, type Dialect, type SamplingServer } from './calls.js';

const sglang: Dialect = {
  name: 'SGLang',
  lengthOption: '--context-length',
  // SGLang reserves a few positions.
  spareTokens: 8,
  // SGLang's log-probabilities are those of the whole vocabulary at the sampling temperature.
  renormalises: false,
  continues: false,
  takesWeights: 'be started with --enable-lora where adapters are trained',
  cures: commonCures,
};

/** Model name for requests without an adapter. SGLang requests name an adapter only. */
const baseModel = '';

/**
 * Matches the messages with which SGLang answers 400 to a request for an adapter that it does not
 * have: "requested LoRA adapters are not loaded", "LoRA adapter that has never been loaded".
 */
const adapterLost = /LoRA adapters? .*\bloaded/;

const tokenized = z.object({ tokens: z.array(z.number().int()) });
const detokenized = z.object({ text: z.string() });
const taken = z.object({ success: z.boolean(), message: z.string().nullish() });

export function sglangServer(address: ServerAddress): SamplingServer {
  const url = address.url + sglangPath;
  const call = serverCalls(address);
  const encode = async (text: string, signal: AbortSignal): Promise<readonly number[]> => {
    const body = { prompt: text, add_special_tokens: false };
    return readAnswer(address.url, tokenized, await call('/tokenize', { signal, body })).tokens;
  };
  const answerOf = async (model: string, body: object, signal: AbortSignal): Promise<unknown> => {
    const request = { ...body, lora_path: model === baseModel ? undefined : model };
    try {
      return await call(sglangPath, { signal, body: request, usesWeights: true });
    } catch (error) {
      if (error instanceof ServerFault && adapterLost.test(error.message))
        throw new ServerFault('stale', error.message);
      throw error;
    }
  };
  return {
    url: address.url,
    dialect: sglang,
    health: async (signal) => void (await call('/health', { signal })),
    model: async (signal) => {
      const served = readServedModel(address.url, await call('/v1/models', { signal }));
      return { ...served, name: baseModel };
    },
    // Sends one request per choice, because all choices of a request would share its seed.
    generate: async ({ model, prompt, options, vocabSize }, signal) => {
      const ask = async (_: unknown, choice: number): Promise<object> => {
        const body = {
          input_ids: [...prompt],
          sampling_params: sglangParams(options, choice),
          return_logprob: true,
          logprob_start_len: -1,
          top_logprobs_num: options.topLogprobs ?? 0,
        };
        return choiceOf(await answerOf(model, body, signal), choice, url);
      };
      const choices = await Promise.all(Array.from({ length: options.n ?? 1 }, ask));
      return readChoices({ choices }, { url, options, vocabSize });
    },
    score: async (model, { tokens, promptLength }, signal) => {
      const body = {
        input_ids: [...tokens],
        sampling_params: { max_new_tokens: 1, temperature: 1, ignore_eos: true },
        return_logprob: true,
        logprob_start_len: 0,
      };
      const answer = scoresOf(await answerOf(model, body, signal), url);
      return readScores(answer, { tokens, promptLength, url });
    },
    loadAdapter: async (name, folder, signal) => {
      const body = { lora_name: name, lora_path: folder };
      assertTaken(await call('/load_lora_adapter', { signal, body }), address.url);
    },
    unloadAdapter: async (name, signal) => {
      await call('/unload_lora_adapter', { signal, body: { lora_name: name } });
    },
    // The server itself waits for sequences in progress and delays new sequences.
    reload: async ({ folder, label }, signal) => {
      const body = {
        model_path: folder,
        weight_version: label,
        flush_cache: true,
        abort_all_requests: false,
      };
      assertTaken(await call('/update_weights_from_disk', { signal, body }), address.url);
    },
    hasTokenizer: async (_, signal) => {
      try {
        return (await encode('a', signal)).length > 0;
      } catch (error) {
        if (error instanceof ServerFault && error.kind !== 'refused') throw error;
        return false;
      }
    },
    encode: (_, text, signal) => encode(text, signal),
    decode: async (_, tokens, signal) => {
      const body = { tokens, skip_special_tokens: false };
      return readAnswer(address.url, detokenized, await call('/detokenize', { signal, body })).text;
    },
  };
}

function assertTaken(answer: unknown, url: string): void {
  const { success, message } = readAnswer(url, taken, answer);
  if (!success)
    throw new ServerFault('broken', `${url} did not take the weights: ${message ?? 'it says no'}`);
}
