/** Runs prompts through a GGUF file in llama.cpp, using the npm package node-llama-cpp. */
import { CheckpointError } from '@trinity-rft/core';
import { loadPeer, openTogether, type ResourceStack } from '@trinity-rft/core/support';
import type { LlamaModel, Token } from 'node-llama-cpp';
import type { ChatFormat } from '@trinity-rft/chat';
import { scoreInLlama } from '@trinity-rft/local';
import type { Player } from './player.js';

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
    score: (tokens) => scoreInLlama(sequence, { tokens, promptLength: 1, temperature: 1 }),
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
