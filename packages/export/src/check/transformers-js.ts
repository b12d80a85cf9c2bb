/** A transformers.js folder in Node, through the npm package @huggingface/transformers. */
import path from 'node:path';
import type { NormalMessage } from '@trinity-rft/chat';
import { CheckpointError, ConfigError } from '@trinity-rft/core';
import type { Player } from './player.js';

/**
 * Loads nothing from the network.
 * @throws ConfigError when the package is not installed, CheckpointError when it rejects the folder
 */
export async function transformersPlayer(
  folder: string,
  dtype: 'fp32' | 'fp16' | 'q8',
): Promise<Player> {
  const { env, AutoModelForCausalLM, AutoTokenizer, Tensor } =
    await import('@huggingface/transformers').catch((cause: unknown) => {
      throw new ConfigError(
        '--check plays this export in transformers.js, and the package @huggingface/transformers is not installed. Run: npm install @huggingface/transformers',
        { code: 'PEER_MISSING', cause },
      );
    });
  env.allowRemoteModels = false;
  env.useFSCache = false;
  const place = path.resolve(folder);
  env.localModelPath = path.dirname(place);
  const name = path.basename(place);
  const unreadable = (cause: unknown): never => {
    throw new CheckpointError(`transformers.js does not load ${folder}: ${String(cause)}`, {
      code: 'EXPORT_UNREADABLE',
      cause,
    });
  };
  const tokenizer = await AutoTokenizer.from_pretrained(name).catch(unreadable);
  const model = await AutoModelForCausalLM.from_pretrained(name, { dtype, device: 'cpu' }).catch(
    unreadable,
  );
  const row = (ids: Int32Array): Record<string, unknown> => ({
    input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
    attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), [1, ids.length]),
  });
  return {
    render: ({ messages, tools }) =>
      tokenizer.apply_chat_template(messages.map(withArguments) as never, {
        tools: (tools ?? null) as never,
        tokenize: false,
        add_generation_prompt: true,
      }) as string,
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

/** Templates expect the arguments of a call as an object, as transformers documents. */
const withArguments = ({ tool_calls: calls, ...message }: NormalMessage): unknown =>
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

/** @param logits [T, V] */
export function scoreLogits(
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
