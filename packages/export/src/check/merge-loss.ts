/**
 * Measures how much precision is lost when an adapter is merged into quantised weights and the
 * result is quantised again.
 */
import type { ChatFormat } from '@trinity-rft/chat';
import { isQuantizedGguf } from '@trinity-rft/chat/gguf';
import { CheckpointError, mean } from '@trinity-rft/core';
import type { Engine, TokenRow } from '@trinity-rft/core/engine';
import { createOnnxEngine, readModelConfig } from '@trinity-rft/engine-onnx';
import { unknownId } from './compare.js';
import { conversations } from './conversations.js';

/**
 * Differences between the log-probabilities that the policy and the exported file assign to the
 * same tokens, in nats.
 */
export interface MergeLoss {
  /**
   * Origin of the scored sequences: recorded by the training run, or sampled from the checkpoint.
   */
  readonly texts: 'recorded' | 'sampled';
  /** Number of scored tokens, which are the response tokens. */
  readonly positions: number;
  /** Mean absolute difference per token, in nats. */
  readonly meanDifference: number;
  readonly largestDifference: number;
}

interface Policy {
  /** Folder with an adapter that was trained on top of quantised weights. */
  readonly checkpoint: string;
  readonly format: ChatFormat;
  /**
   * Reads recorded rows to score. If it is undefined or returns no rows, sequences are sampled from
   * the checkpoint.
   */
  readonly recorded?: (() => Promise<readonly TokenRow[]>) | undefined;
  /** Signal that stops the measurement between its passes. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Scores the same sequences with the policy and with the exported file in the embedded engine, and
 * returns the differences. Resolves with undefined if the engine does not support the file's
 * architecture.
 * @param file path of a GGUF file
 * @throws the reason of `signal`
 */
export async function mergeLossOf(file: string, policy: Policy): Promise<MergeLoss | undefined> {
  if (!(await isRead(file))) return undefined;
  const { texts, rows, logprobs } = await scorePolicy(policy);
  policy.signal?.throwIfAborted();
  const found = await scoreFile(file, rows);
  const differences = Array.from(found, (value, i) => Math.abs(value - logprobs[i]!));
  return {
    texts,
    positions: found.length,
    meanDifference: mean(differences),
    largestDifference: differences.reduce((most, each) => Math.max(most, each), 0),
  };
}

const isRead = (file: string): Promise<boolean> =>
  readModelConfig(file).then(
    () => true,
    (error: unknown) => {
      if (error instanceof CheckpointError && error.code === 'GGUF_UNSUPPORTED') return false;
      throw error;
    },
  );

/** Returns the rows to score, with their log-probabilities under the policy. */
async function scorePolicy({ checkpoint, format, recorded, signal }: Policy) {
  const given = (await recorded?.()) ?? [];
  const answers = given.filter(({ tokens, promptLength }) => tokens.length > promptLength);
  const engine = await createOnnxEngine({ modelPath: checkpoint, memoryBudgetBytes });
  try {
    const rows = answers.length > 0 ? answers : await sampledRows(engine, format, signal);
    signal?.throwIfAborted();
    const { logprobs } = await engine.trainer.forward({ rows });
    const texts: MergeLoss['texts'] = rows === answers ? 'recorded' : 'sampled';
    return { texts, rows, logprobs };
  } finally {
    await engine.close();
  }
}

async function scoreFile(file: string, rows: readonly TokenRow[]): Promise<Float32Array> {
  // A new adapter does not change the output, but with it the engine keeps the weights in quantised
  // blocks.
  const engine = await createOnnxEngine({
    modelPath: file,
    memoryBudgetBytes,
    ...(isQuantizedGguf(file) && { lora: { rank: 1, alpha: 1 }, quantization: 'file' }),
  });
  try {
    return (await engine.trainer.forward({ rows })).logprobs;
  } finally {
    await engine.close();
  }
}

/**
 * Memory budget of the engine, in bytes. It is small because the weights take most of the machine's
 * memory.
 */
const memoryBudgetBytes = 32 * 2 ** 20;

/** Maximum number of sampled tokens per sequence. */
const mostTokens = 64;

async function sampledRows(
  { trainer, sampler }: Engine,
  format: ChatFormat,
  signal: AbortSignal | undefined,
): Promise<readonly TokenRow[]> {
  await trainer.publish(0);
  await sampler.adopt({ kind: 'published' }, 0);
  const options = { temperature: 1, seed: 0, stopTokenIds: format.stopTokenIds };
  const texts = promptsOf(format, sampler.maxModelLen).map(async (prompt) => {
    const maxTokens = Math.min(mostTokens, sampler.maxModelLen - prompt.length);
    const samples = await sampler.sample(prompt, { ...options, maxTokens }, signal);
    return samples.map(({ tokens }) => ({
      tokens: Int32Array.from([...prompt, ...tokens]),
      promptLength: prompt.length,
      temperature: 1,
    }));
  });
  return (await Promise.all(texts)).flat();
}

/**
 * Returns the default conversations as prompts, without those that the template rejects, the
 * tokenizer cannot encode, or that are too long. If none is left, returns one prompt that consists
 * of a stop token.
 */
function promptsOf(format: ChatFormat, maxModelLen: number): readonly Int32Array[] {
  const prompts = conversations.flatMap((conversation) => {
    try {
      return [format.encode(format.render(conversation))];
    } catch {
      return [];
    }
  });
  const fitting = prompts.filter(
    (ids) => ids.length < maxModelLen && !ids.includes(unknownId(format)),
  );
  return fitting.length > 0 ? fitting : [Int32Array.from(format.stopTokenIds.slice(0, 1))];
}
