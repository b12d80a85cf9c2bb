/**
 * Runs prompts through an exported transformers.js folder in Node.js, using the npm package
 * `@huggingface/transformers`.
 */
import path from 'node:path';
import type { ChatFormat, ChatFormatOptions, NormalMessage } from '@trinity-rft/chat';
import {
  CheckpointError,
  createRandom,
  deriveSeed,
  EngineError,
  throwIfAborted,
} from '@trinity-rft/core';
import type { SampledSequence, Sampler, SamplingOptions } from '@trinity-rft/core/engine';
import { loadPeer } from '@trinity-rft/core/support';
import { completedBy, cutDistribution, drawFrom, type Probable } from '@trinity-rft/local';
import pLimit from 'p-limit';
import type { Player } from './player.js';

type Dtype = 'fp32' | 'fp16' | 'q8';

/**
 * Opens a model from the folder, without network access.
 * @throws ConfigError if the package is not installed; CheckpointError if transformers.js rejects
 * the folder
 */
async function openFolder(folder: string, dtype: Dtype) {
  const library = await loadPeer(
    '@huggingface/transformers',
    '--check of this export',
    () => import('@huggingface/transformers'),
  );
  const { env, AutoModelForCausalLM, AutoTokenizer } = library;
  env.allowRemoteModels = false;
  env.useFSCache = false;
  // transformers.js reads an absolute path from disk and does not look for it on the hub.
  const place = path.resolve(folder);
  const unreadable = (cause: unknown): never => {
    throw new CheckpointError(`transformers.js does not load ${folder}: ${String(cause)}`, {
      code: 'EXPORT_UNREADABLE',
      cause,
    });
  };
  const tokenizer = await AutoTokenizer.from_pretrained(place).catch(unreadable);
  const model = await AutoModelForCausalLM.from_pretrained(place, { dtype, device: 'cpu' }).catch(
    unreadable,
  );
  return { library, tokenizer, model };
}

interface TransformersPlayerOptions extends Pick<ChatFormatOptions, 'enableThinking'> {
  /**
   * Chat format that renders the prompts, as in `chat.mjs`. Needed for models whose tools are
   * described in messages.
   * @default undefined: transformers.js renders the prompts
   */
  readonly format?: ChatFormat;
}

export async function transformersPlayer(
  folder: string,
  dtype: Dtype,
  { enableThinking, format }: TransformersPlayerOptions = {},
): Promise<Player> {
  const { library, tokenizer, model } = await openFolder(folder, dtype);
  const { Tensor } = library;
  const row = (ids: Int32Array): Record<string, unknown> => ({
    input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
    attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), [1, ids.length]),
  });
  const renderWithLibrary: Player['render'] = ({ messages, tools }) =>
    tokenizer.apply_chat_template(messages.map(withArguments) as never, {
      tools: (tools ?? null) as never,
      tokenize: false,
      add_generation_prompt: true,
      ...(enableThinking !== undefined && { enable_thinking: enableThinking }),
    }) as string;
  return {
    render: (prompt) => format?.render(prompt) ?? renderWithLibrary(prompt),
    encode: (text) => Int32Array.from(tokenizer.encode(text, { add_special_tokens: false })),
    decode: (ids) => tokenizer.decode(Array.from(ids), { skip_special_tokens: true }),
    score: async (ids) => {
      const { logits } = (await model(row(ids))) as {
        readonly logits: { readonly data: Float32Array; readonly dims: readonly number[] };
      };
      return scoreLogits(logits.data, logits.dims.at(-1) ?? 0, ids);
    },
    greedy: async (ids, mostTokens) => {
      const output = await model.generate({
        ...row(ids),
        max_new_tokens: mostTokens,
        do_sample: false,
      } as never);
      const all = Int32Array.from((output as { readonly data: BigInt64Array }).data, Number);
      const sampled = all.subarray(ids.length);
      const ends = [model.generation_config?.eos_token_id ?? tokenizer.eos_token_id].flat();
      return ends.includes(sampled.at(-1) as never) ? sampled.slice(0, -1) : sampled.slice();
    },
    close: async () => void (await model.dispose()),
  };
}

/**
 * Returns a message whose tool calls have parsed arguments, because chat templates expect objects
 * (see transformers' documentation).
 */
export const withArguments = ({ tool_calls: calls, ...message }: NormalMessage): unknown =>
  calls === undefined
    ? message
    : {
        ...message,
        tool_calls: calls.map((call) => ({
          ...call,
          function: {
            ...call.function,
            arguments: JSON.parse(call.function.arguments) as unknown,
          },
        })),
      };

/**
 * Returns the log-probabilities of the tokens after the first, and the most probable token at each
 * position.
 * @param logits [T, V]
 */
function scoreLogits(
  logits: Float32Array,
  vocabulary: number,
  ids: Int32Array,
): { readonly logprobs: Float64Array; readonly best: Int32Array } {
  const logprobs = new Float64Array(ids.length - 1);
  const best = new Int32Array(ids.length - 1);
  for (let i = 0; i + 1 < ids.length; i++) {
    const at = logits.subarray(i * vocabulary, (i + 1) * vocabulary);
    let top = 0;
    for (let v = 1; v < vocabulary; v++) if ((at[v] ?? 0) > (at[top] ?? 0)) top = v;
    const highest = at[top] ?? 0;
    let sum = 0;
    for (const logit of at) sum += Math.exp(logit - highest);
    best[i] = top;
    logprobs[i] = (at[ids[i + 1] ?? 0] ?? NaN) - highest - Math.log(sum);
  }
  return { logprobs, best };
}

interface Outputs {
  readonly logits: { readonly data: Float32Array; readonly dims: readonly number[] };
}

/**
 * Converts the outputs of a step to the cache inputs of the next: the output `present.0.key`
 * becomes the input `past_key_values.0.key`.
 */
const grownCache = (outputs: Outputs): unknown =>
  Object.fromEntries(
    Object.entries(outputs).flatMap(([name, value]) =>
      name.startsWith('present.') ? [[name.replace('present', 'past_key_values'), value]] : [],
    ),
  );

/**
 * Opens a sampler for transformers.js that supports seeds, which `generate` of transformers.js does
 * not. It returns 0 for all log-probabilities.
 */
export async function transformersSampler(
  folder: string,
  dtype: Dtype,
  maxModelLen: number,
): Promise<{ readonly sampler: Sampler; readonly close: () => Promise<void> }> {
  const { library, tokenizer, model } = await openFolder(folder, dtype);
  const { Tensor } = library;
  const texts = { decode: (ids: ArrayLike<number>) => tokenizer.decode(Array.from(ids)) };
  const ones = (count: number) =>
    new Tensor('int64', new BigInt64Array(count).fill(1n), [1, count]);
  const one = async (
    prompt: Int32Array,
    options: SamplingOptions,
    choice: number,
    signal?: AbortSignal,
  ): Promise<SampledSequence> => {
    const { maxTokens, minTokens = 0, stopTokenIds = [], stop = [], seed } = options;
    const { temperature = 1, topP = 1, topK = -1 } = options;
    const random = createRandom(deriveSeed(seed, choice));
    const tokens: number[] = [];
    let input = prompt;
    let past: unknown = null;
    let stopString: string | undefined;
    let hasEnded = false;
    while (tokens.length < maxTokens && !hasEnded) {
      throwIfAborted(signal);
      const total = prompt.length + tokens.length;
      const outputs = (await model({
        input_ids: new Tensor('int64', BigInt64Array.from(input, BigInt), [1, input.length]),
        attention_mask: ones(total),
        position_ids: new Tensor(
          'int64',
          BigInt64Array.from(input, (_, i) => BigInt(total - input.length + i)),
          [1, input.length],
        ),
        past_key_values: past,
      })) as Outputs;
      const { logits } = outputs;
      const last = logits.data.subarray(-(logits.dims.at(-1) ?? 0));
      const never = tokens.length < minTokens ? stopTokenIds : [];
      const full = distributionOf(last).filter(({ token }) => !never.includes(token));
      const cut = cutDistribution(full, { temperature, topP, topK });
      const token = drawFrom(cut, random.next())?.token ?? 0;
      tokens.push(token);
      hasEnded = stopTokenIds.includes(token);
      if (!hasEnded && stop.length > 0) {
        stopString = completedBy(texts, tokens, stop);
        hasEnded = stopString !== undefined;
      }
      input = Int32Array.of(token);
      past = grownCache(outputs);
    }
    return {
      tokens: Int32Array.from(tokens),
      logprobs: new Float32Array(tokens.length),
      stopReason: hasEnded ? 'stop' : 'length',
      ...(stopString !== undefined && { stopString }),
      policyVersion: 0,
    };
  };
  const inTurn = pLimit(1);
  return {
    sampler: {
      policyVersion: 0,
      maxModelLen,
      adopt: () => Promise.reject(new EngineError('An export has no other weights to adopt.')),
      sample: (prompt, options, signal) =>
        Promise.all(
          Array.from({ length: options.n ?? 1 }, (_, choice) =>
            inTurn(() => one(prompt, options, choice, signal)),
          ),
        ),
    },
    close: async () => void (await model.dispose()),
  };
}

/** Returns all tokens with their log-probabilities at temperature 1, in descending order. */
function distributionOf(logits: Float32Array): readonly Probable[] {
  const highest = logits.reduce((a, b) => Math.max(a, b));
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0));
  return Array.from(logits, (logit, token) => ({
    token,
    logprob: logit - highest - total,
  })).toSorted((a, b) => b.logprob - a.logprob);
}
