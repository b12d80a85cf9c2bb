/**
 * Measures the loss of precision when an adapter is merged with quantised weights and the result is
 * quantised again.
 */
import type { ChatFormat } from '@trinity-rft/chat';
import { isQuantizedGguf } from '@trinity-rft/chat/gguf';
import { CheckpointError, mean } from '@trinity-rft/core';
import type { Engine, TokenRow } from '@trinity-rft/core/engine';
import { createOnnxEngine, readModelConfig } from '@trinity-rft/engine-onnx';
import { unknownId } from './compare.js';
import { conversations } from './conversations.js';

/** Differences of log-probabilities at the same tokens, in nats per token. */
export interface MergeLoss {
  /** Sequences that the run recorded, or texts sampled from the checkpoint. */
  readonly texts: 'recorded' | 'sampled';
  /** Number of scored tokens: those of responses. */
  readonly positions: number;
  /** Mean |difference|. */
  readonly meanDifference: number;
  readonly largestDifference: number;
}

/** Texts, with their log-probabilities under the trained policy. */
export interface PolicyScores {
  readonly texts: MergeLoss['texts'];
  readonly rows: readonly TokenRow[];
  readonly logprobs: Float32Array;
}

/**
 * @param checkpoint folder with an adapter beside quantised weights
 * @param recorded rows to score; if there are none, texts are sampled
 */
export async function scorePolicy(
  checkpoint: string,
  format: ChatFormat,
  recorded: readonly TokenRow[] = [],
): Promise<PolicyScores> {
  const engine = await createOnnxEngine({ modelPath: checkpoint, memoryBudgetBytes });
  try {
    const answers = recorded.filter(({ tokens, promptLength }) => tokens.length > promptLength);
    const rows = answers.length > 0 ? answers : await sampledRows(engine, format);
    const { logprobs } = await engine.trainer.forward({ rows });
    return { texts: rows === answers ? 'recorded' : 'sampled', rows, logprobs };
  } finally {
    await engine.close();
  }
}

/** Small memory budget, because the weights take most of the memory. */
const memoryBudgetBytes = 32 * 2 ** 20;

/** Maximum number of tokens of a sampled text. */
const mostTokens = 64;

async function sampledRows(
  { trainer, sampler }: Engine,
  format: ChatFormat,
): Promise<readonly TokenRow[]> {
  await trainer.publish(0);
  await sampler.adopt({ kind: 'published' }, 0);
  const options = { temperature: 1, seed: 0, stopTokenIds: format.stopTokenIds };
  const texts = promptsOf(format, sampler.maxModelLen).map(async (prompt) => {
    const maxTokens = Math.min(mostTokens, sampler.maxModelLen - prompt.length);
    const samples = await sampler.sample(prompt, { ...options, maxTokens });
    return samples.map(({ tokens }) => ({
      tokens: Int32Array.of(...prompt, ...tokens),
      promptLength: prompt.length,
      temperature: 1,
    }));
  });
  return (await Promise.all(texts)).flat();
}

/**
 * Conversations that the template and tokenizer can represent. If there are none, sampled texts begin
 * with an end token.
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

/**
 * Scores the texts with a written file, in the embedded engine. Undefined if the engine does not
 * support the architecture.
 * @param file in GGUF
 */
export async function mergeLossOf(
  file: string,
  { texts, rows, logprobs }: PolicyScores,
): Promise<MergeLoss | undefined> {
  if (!(await isRead(file))) return undefined;
  // A new adapter is the identity; it makes the engine keep the weights in quantised blocks.
  const engine = await createOnnxEngine({
    modelPath: file,
    memoryBudgetBytes,
    ...(isQuantizedGguf(file) && { lora: { rank: 1, alpha: 1 }, quantization: 'file' }),
  });
  try {
    const found = (await engine.trainer.forward({ rows })).logprobs;
    const differences = Array.from(found, (value, i) => Math.abs(value - logprobs[i]!));
    return {
      texts,
      positions: found.length,
      meanDifference: mean(differences),
      largestDifference: differences.reduce((most, each) => Math.max(most, each), 0),
    };
  } finally {
    await engine.close();
  }
}

const isRead = (file: string): Promise<boolean> =>
  readModelConfig(file).then(
    () => true,
    (error: unknown) => {
      if (error instanceof CheckpointError && error.code === 'GGUF_UNSUPPORTED') return false;
      throw error;
    },
  );
