/** Runs prompts through a GGUF file in llama.cpp, using the npm package node-llama-cpp. */
import { CheckpointError, EngineError } from '@trinity-rft/core';
import { loadPeer, openTogether, type ResourceStack } from '@trinity-rft/core/support';
import type { LlamaContextSequence, LlamaModel, Token } from 'node-llama-cpp';
import type { ChatFormat } from '@trinity-rft/chat';
import type { Player, Score } from './player.js';

interface LlamaPlayerOptions {
  /**
   * True to store keys and values as float32, which a check of float32 files needs; false for
   * float16, llama.cpp's default.
   */
  readonly exactCache: boolean;
  /** Chat format with the template from the GGUF file. */
  readonly format: ChatFormat;
}

/**
 * Sampling options that disable all samplers except softmax, because top-k and top-p would truncate
 * the reported distribution.
 */
const plain = { temperature: 1, topK: 0, topP: 1, minP: 0 } as const;

/**
 * Opens a GGUF file in llama.cpp with a single thread, because a second thread can make llama.cpp
 * ten times slower on busy cores.
 * @throws ConfigError if node-llama-cpp is not installed; CheckpointError if llama.cpp rejects the
 * file
 */
export async function llamaPlayer(
  file: string,
  { exactCache, format }: LlamaPlayerOptions,
): Promise<Player> {
  const { getLlama, LlamaLogLevel } = await loadPeer(
    'node-llama-cpp',
    '--check of a GGUF file',
    () => import('node-llama-cpp'),
  );
  return openTogether(async (stack) => {
    const llama = await getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      logLevel: LlamaLogLevel.error,
    });
    stack.use({ close: () => llama.dispose() });
    const model = await llama
      .loadModel({ modelPath: file, gpuLayers: 0 })
      .catch((cause: unknown) => {
        throw new CheckpointError(`llama.cpp does not load ${file}: ${String(cause)}`, {
          code: 'EXPORT_UNREADABLE',
          cause,
        });
      });
    stack.use({ close: () => model.dispose() });
    return playerOver(model, { exactCache, format }, stack);
  });
}

async function playerOver(
  model: LlamaModel,
  { exactCache, format }: LlamaPlayerOptions,
  stack: ResourceStack,
): Promise<Player> {
  const cacheType = exactCache ? ('F32' as const) : undefined;
  const context = await model.createContext({
    threads: 1,
    contextSize: { max: model.trainContextSize },
    // By default, llama.cpp rounds keys and values to float16.
    ...(cacheType && {
      flashAttention: false,
      experimentalKvCacheKeyType: cacheType,
      experimentalKvCacheValueType: cacheType,
    }),
  });
  stack.use({ close: () => context.dispose() });
  const sequence = context.getSequence();
  const isEnd = (token: number): boolean =>
    model.isEogToken(token as Token) || format.stopTokenIds.includes(token);
  return {
    render: (prompt) => format.render(prompt),
    encode: (text) => Int32Array.from(model.tokenize(text, true)),
    decode: (ids) => model.detokenize(Array.from(ids) as Token[], false),
    score: (ids) => scoreTokens(sequence, ids),
    greedy: async (ids, mostTokens) => {
      await sequence.clearHistory();
      const sampled: number[] = [];
      const room = Math.min(mostTokens, context.contextSize - ids.length);
      for await (const token of sequence.evaluate(Array.from(ids) as Token[], { temperature: 0 })) {
        if (isEnd(token) || sampled.push(token) >= room) break;
      }
      return Int32Array.from(sampled);
    },
    close: () => stack.close(),
  };
}

/**
 * Number of positions that are evaluated at once. It is small because each position has a
 * distribution over the whole vocabulary in memory.
 */
const atOnce = 16;

/**
 * Returns the sum of the probabilities in float64, by which they are normalized. llama.cpp
 * normalizes in float32, with an error of 1e-4 for 50,000 tokens.
 */
function sumOf(probabilities: ReadonlyMap<Token, number>): number {
  let sum = 0;
  for (const probability of probabilities.values()) sum += probability;
  return sum;
}

async function scoreTokens(sequence: LlamaContextSequence, ids: Int32Array): Promise<Score> {
  await sequence.clearHistory();
  const generateNext = { probabilities: true, options: plain };
  const logprobs = new Float64Array(ids.length - 1);
  const best = new Int32Array(ids.length - 1);
  for (let start = 0; start + 1 < ids.length; start += atOnce) {
    const part = Array.from(ids.subarray(start, Math.min(start + atOnce, ids.length - 1)));
    const results = await sequence.controlledEvaluate(
      part.map((token) => [token as Token, { generateNext }]),
    );
    for (const [i, result] of results.entries()) {
      const probabilities = result?.next.probabilities;
      const [top] = probabilities?.keys() ?? [];
      const probability = probabilities?.get(ids[start + i + 1] as Token);
      if (top === undefined || probability === undefined)
        throw new EngineError(`llama.cpp reported no probability at position ${start + i}.`, {
          code: 'EXPORT_SCORE',
        });
      best[start + i] = top;
      logprobs[start + i] = Math.log(probability / sumOf(probabilities ?? new Map()));
    }
  }
  return { logprobs, best };
}
