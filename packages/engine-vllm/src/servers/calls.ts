/** The verbs of one vLLM server. */
import type { ServerAddress } from '@trinity-rft/core';
import type { SamplingOptions, TokenRow } from '@trinity-rft/core/internal';
import { z } from 'zod';
import { ServerFault } from '../wire/fault.js';
import {
  generatePath,
  readChoices,
  readScores,
  samplingParams,
  type GeneratedChoice,
} from '../wire/generate.js';
import { serverCalls } from '../wire/http.js';

export interface VllmServer {
  readonly url: string;
  health(signal: AbortSignal): Promise<void>;
  /** The model that it was started with. */
  model(signal: AbortSignal): Promise<ServedModel>;
  /** @param model the name of an adapter, or of the model itself */
  generate(request: GenerateRequest, signal: AbortSignal): Promise<readonly GeneratedChoice[]>;
  /** At temperature 1. [R] */
  score(model: string, row: TokenRow, signal: AbortSignal): Promise<Float32Array>;
  loadAdapter(name: string, folder: string, signal: AbortSignal): Promise<void>;
  unloadAdapter(name: string, signal: AbortSignal): Promise<void>;
  /**
   * Replaces all weights by those of `folder`, as `label`. Texts in progress are finished first, or
   * go on with the new weights.
   */
  reload(options: ReloadOptions, signal: AbortSignal): Promise<void>;
  /** Whether it can find stop strings. */
  hasTokenizer(model: string, signal: AbortSignal): Promise<boolean>;
  /** Of text as it is: no tokens are added. */
  encode(model: string, text: string, signal: AbortSignal): Promise<readonly number[]>;
  decode(model: string, ids: readonly number[], signal: AbortSignal): Promise<string>;
}

export interface ServedModel {
  readonly name: string;
  readonly maxModelLen: number;
}

interface GenerateRequest {
  readonly model: string;
  readonly prompt: Int32Array;
  readonly options: SamplingOptions;
  readonly vocabSize: number;
}

interface ReloadOptions {
  readonly folder: string;
  readonly label: string;
  readonly inFlight: 'finish' | 'continue';
}

const models = z.object({
  data: z.array(
    z.object({ id: z.string(), parent: z.string().nullish(), max_model_len: z.number().nullish() }),
  ),
});

const encoded = z.object({ tokens: z.array(z.number().int()) });
const decoded = z.object({ prompt: z.string() });

export function vllmServer(address: ServerAddress): VllmServer {
  const { url } = address;
  const call = serverCalls(address);
  const generate = (signal: AbortSignal, body: object): Promise<unknown> =>
    call(generatePath, { signal, body });
  const read = <T>(schema: z.ZodType<T>, answer: unknown, path: string): T => {
    const { data } = schema.safeParse(answer);
    if (data !== undefined) return data;
    throw new ServerFault('broken', `${url}${path} answered what cannot be read`);
  };
  return {
    url,
    health: async (signal) => void (await call('/health', { signal })),
    model: async (signal) => {
      const { data } = models.safeParse(await call('/v1/models', { signal }));
      const served = data?.data.find(({ parent }) => parent === null || parent === undefined);
      if (!served) throw new ServerFault('refused', `${url}/v1/models names no model`);
      return { name: served.id, maxModelLen: served.max_model_len ?? Infinity };
    },
    generate: async ({ model, prompt, options, vocabSize }, signal) => {
      const body = { model, token_ids: [...prompt], sampling_params: samplingParams(options) };
      return readChoices(await generate(signal, body), { url, options, vocabSize });
    },
    score: async (model, { tokens, promptLength }, signal) => {
      const sampling_params = { max_tokens: 1, prompt_logprobs: 0, temperature: 0 };
      const body = { model, token_ids: [...tokens], sampling_params };
      return readScores(await generate(signal, body), { tokens, promptLength, url });
    },
    loadAdapter: async (name, folder, signal) => {
      const body = { lora_name: name, lora_path: folder };
      await call('/v1/load_lora_adapter', { signal, body });
    },
    unloadAdapter: async (name, signal) => {
      await call('/v1/unload_lora_adapter', { signal, body: { lora_name: name } });
    },
    reload: async (options, signal) => {
      const mode = options.inFlight === 'finish' ? 'wait' : 'keep';
      await call(`/pause?mode=${mode}`, { signal, body: {} });
      try {
        const kwargs = { weights_path: options.folder };
        await call('/collective_rpc', { signal, body: { method: 'reload_weights', kwargs } });
        await call('/update_weight_version', { signal, body: { new_version: options.label } });
      } finally {
        await call('/resume', { signal, body: {} });
      }
    },
    hasTokenizer: async (model, signal) => {
      const sampling_params = { max_tokens: 1, temperature: 0 };
      const body = { model, token_ids: [1], output_mode: 'text', sampling_params };
      try {
        await generate(signal, body);
        return true;
      } catch (error) {
        if (error instanceof ServerFault && error.kind === 'refused') return false;
        throw error;
      }
    },
    encode: async (model, prompt, signal) => {
      const body = { model, prompt, add_special_tokens: false };
      return read(encoded, await call('/tokenize', { signal, body }), '/tokenize').tokens;
    },
    decode: async (model, tokens, signal) => {
      const body = { model, tokens };
      return read(decoded, await call('/detokenize', { signal, body }), '/detokenize').prompt;
    },
  };
}
