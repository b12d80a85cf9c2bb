/** Interface of a server's client, and its implementation for vLLM. */
import type {
  ServerAddress,
  SamplingOptions,
  TokenListener,
  TokenRow,
} from '@trinity-rft/core/engine';
import { z } from 'zod';
import { ServerFault } from '../wire/fault.js';
import {
  gatherChoices,
  generatePath,
  readChoices,
  readScores,
  samplingParams,
  type GeneratedChoice,
  type Scores,
} from '../wire/generate.js';
import { cleanUpSignal, serverCalls } from '../wire/http.js';
import { readAnswer } from '../wire/read.js';

/** Properties in which kinds of servers differ. */
export interface Dialect {
  readonly name: string;
  /** Command-line option that sets the maximum sequence length. */
  readonly lengthOption: string;
  /** Number of tokens by which the server's limit must exceed the longest sequence. */
  readonly spareTokens: number;
  /**
   * True if the server renormalises log-probabilities after top-k and top-p filtering. Whether this
   * is the case is checked when the sampler is opened.
   */
  readonly renormalises: boolean;
  /**
   * True if the server can continue sequences in progress with new weights. It then reports which
   * weights sampled each token.
   */
  readonly continues: boolean;
  /**
   * Requirements for accepting weights, phrased as the text that follows "every server must" in an
   * error message.
   */
  readonly takesWeights: string;
  /**
   * Returns advice for the first calls to a server, keyed by the HTTP status with which it may
   * reject them.
   */
  readonly cures: (vocabSize: number) => Readonly<Record<number, string>>;
}

export interface SamplingServer {
  readonly url: string;
  readonly dialect: Dialect;
  health(signal: AbortSignal): Promise<void>;
  /** Returns the model that the server was started with. */
  model(signal: AbortSignal): Promise<ServedModel>;
  generate(request: GenerateRequest, signal: AbortSignal): Promise<readonly GeneratedChoice[]>;
  /** Returns the log-probabilities of the row's response tokens at temperature 1. */
  score(model: string, row: TokenRow, signal: AbortSignal): Promise<Scores>;
  loadAdapter(name: string, folder: string, signal: AbortSignal): Promise<void>;
  unloadAdapter(name: string, signal: AbortSignal): Promise<void>;
  /**
   * Replaces all weights with those in `folder` and gives them the label `label`. Sequences in
   * progress are finished first if `inFlight` is `finish`, and continue with the new weights if it
   * is `continue`.
   */
  reload(options: ReloadOptions, signal: AbortSignal): Promise<void>;
  /** Returns true if the server has a tokenizer, without which it does not support stop strings. */
  hasTokenizer(model: string, signal: AbortSignal): Promise<boolean>;
  /** Returns the token ids of `text`. Special tokens are not added. */
  encode(model: string, text: string, signal: AbortSignal): Promise<readonly number[]>;
  decode(model: string, ids: readonly number[], signal: AbortSignal): Promise<string>;
}

export interface ServedModel {
  readonly name: string;
  readonly maxModelLen: number;
}

interface GenerateRequest {
  /** Model name in the request: the name of an adapter or of the base model. */
  readonly model: string;
  readonly prompt: Int32Array;
  readonly options: SamplingOptions;
  readonly vocabSize: number;
  /**
   * Called with tokens as they are sampled. Not called if the server does not support streaming.
   */
  readonly onTokens?: TokenListener;
}

interface ReloadOptions {
  readonly folder: string;
  readonly label: string;
  readonly inFlight: 'finish' | 'continue';
}

const scaleOut = `Start it with --enable-scale-out, which opens ${generatePath} (vLLM 0.32 or newer)`;

const vllm: Dialect = {
  name: 'vLLM',
  lengthOption: '--max-model-len',
  // The server scores a text only if its limit leaves room for one more token.
  spareTokens: 1,
  renormalises: true,
  continues: true,
  takesWeights:
    'be started with VLLM_SERVER_DEV_MODE=1 or, for adapters, VLLM_ALLOW_RUNTIME_LORA_UPDATING=True',
  cures: (vocabSize) => ({ ...commonCures(vocabSize), 403: scaleOut, 404: scaleOut }),
};

export const commonCures = (vocabSize: number): Readonly<Record<number, string>> => ({
  400: `Start it with the model of model_path, which has ${vocabSize} tokens`,
  401: 'Set api_key to the key that it was started with',
});

const models = z.object({
  data: z.array(
    z.object({ id: z.string(), parent: z.string().nullish(), max_model_len: z.number().nullish() }),
  ),
});

/**
 * Reads a server's base model from its `/v1/models` response.
 * @throws ServerFault if the response names no base model
 */
export function readServedModel(url: string, answer: unknown): ServedModel {
  const { data } = models.safeParse(answer);
  const served = data?.data.find(({ parent }) => parent === null || parent === undefined);
  if (!served) throw new ServerFault('refused', `${url}/v1/models names no model`);
  return { name: served.id, maxModelLen: served.max_model_len ?? Infinity };
}

const encoded = z.object({ tokens: z.array(z.number().int()) });
const decoded = z.object({ prompt: z.string() });

export function vllmServer(address: ServerAddress): SamplingServer {
  const { url } = address;
  const call = serverCalls(address);
  const place = url + generatePath;
  const generate = (signal: AbortSignal, body: object): Promise<unknown> =>
    call(generatePath, { signal, body, usesWeights: true });
  const stream = async (
    signal: AbortSignal,
    body: object,
    onTokens: TokenListener,
  ): Promise<unknown> => {
    const { onEvent, answer } = gatherChoices(place, onTokens);
    await call(generatePath, {
      signal,
      body: { ...body, stream: true },
      usesWeights: true,
      onEvent,
    });
    return answer();
  };
  const resume = (): Promise<unknown> => call('/resume', { signal: cleanUpSignal(), body: {} });
  return {
    url,
    dialect: vllm,
    health: async (signal) => void (await call('/health', { signal })),
    model: async (signal) => readServedModel(url, await call('/v1/models', { signal })),
    generate: async ({ model, prompt, options, vocabSize, onTokens }, signal) => {
      const body = { model, token_ids: [...prompt], sampling_params: samplingParams(options) };
      const answer = await (onTokens ? stream(signal, body, onTokens) : generate(signal, body));
      return readChoices(answer, { url: place, options, vocabSize });
    },
    score: async (model, { tokens, promptLength }, signal) => {
      const sampling_params = { max_tokens: 1, prompt_logprobs: 0, temperature: 0 };
      const body = { model, token_ids: [...tokens], sampling_params };
      return readScores(await generate(signal, body), {
        tokens,
        promptLength,
        url: place,
      });
    },
    loadAdapter: async (name, folder, signal) => {
      const body = { lora_name: name, lora_path: folder };
      await call('/v1/load_lora_adapter', { signal, body });
    },
    unloadAdapter: async (name, signal) => {
      await call('/v1/unload_lora_adapter', { signal, body: { lora_name: name } });
    },
    reload: async (options, signal) => {
      signal.throwIfAborted();
      const mode = options.inFlight === 'finish' ? 'wait' : 'keep';
      // A server may pause even after its caller has closed the connection. Therefore every request
      // to pause is followed by a request to resume.
      try {
        await call(`/pause?mode=${mode}`, { signal, body: {} });
        const kwargs = { weights_path: options.folder };
        await call('/collective_rpc', { signal, body: { method: 'reload_weights', kwargs } });
        await call('/update_weight_version', { signal, body: { new_version: options.label } });
      } catch (error) {
        await resume().catch(() => undefined);
        throw error;
      }
      await resume();
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
      return readAnswer(url, encoded, await call('/tokenize', { signal, body })).tokens;
    },
    decode: async (model, tokens, signal) => {
      const body = { model, tokens };
      return readAnswer(url, decoded, await call('/detokenize', { signal, body })).prompt;
    },
  };
}
