/**
 * Custom engine: a table of bigram logits, trained with AdamW. It samples and scores in plain TypeScript, and keeps the
 * errors and the order of calls that every engine promises.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  CheckpointError,
  createRandom,
  deriveSeed,
  EngineError,
  ModelError,
  throwIfAborted,
} from '@trinity-rft/core';
import type {
  Engine,
  EngineFactory,
  OptimizerOptions,
  SampledSequence,
  SamplingOptions,
  StepStats,
  TokenBatch,
  TokenRow,
} from '@trinity-rft/core/engine';

export const bigramEngine: EngineFactory = {
  name: 'bigram_table',
  capabilities: {
    entropyGradient: 'none',
    entropy: false,
    anyTemperature: true,
    samplingControls: false,
    necs: false,
    valueHead: false,
    fullParameter: true,
    lora: false,
    referenceModel: true,
  },
  open: async ({ tokenBytes = [], maxModelLen = 64, seed = 0 }) =>
    openBigrams(tokenBytes.length, maxModelLen, seed),
};

/** Logits of the next token, a row for each previous token. [V, V] */
type Table = Float64Array<ArrayBuffer>;

/** Weights and the state of AdamW, which are saved and loaded together. */
interface Trained {
  readonly weights: Table;
  readonly first: Float64Array;
  readonly second: Float64Array;
  steps: number;
}

/**
 * Opens an engine with random logits.
 * @param vocabSize V; the table has V * V logits
 */
export function openBigrams(vocabSize: number, maxModelLen: number, seed: number): Engine {
  const size = vocabSize * vocabSize;
  const random = createRandom(seed);
  const fresh = (weights: Table): Trained => ({
    weights,
    first: new Float64Array(size),
    second: new Float64Array(size),
    steps: 0,
  });
  let current = fresh(Float64Array.from({ length: size }, () => 0.5 * random.normal()));
  const reference = current.weights.slice();
  const gradient = new Float64Array(size);
  let published: Table | undefined;
  let serving = { version: -1, weights: reference };
  let isClosed = false;
  const open = (): void => {
    if (isClosed) throw new EngineError('The engine is closed.', { code: 'ENGINE_CLOSED' });
  };

  return {
    capabilities: bigramEngine.capabilities,
    trainer: {
      forward: async (batch, { weights = 'current' } = {}) => {
        open();
        const table = weights === 'reference' ? reference : current.weights;
        const offsets = offsetsOf(batch, vocabSize);
        const logprobs = new Float32Array(offsets.at(-1) ?? 0);
        eachToken(batch, ({ index, previous, token, temperature }) => {
          logprobs[index] = logSoftmax(table, vocabSize, previous, temperature)[token] ?? 0;
        });
        return { batch, offsets, logprobs };
      },
      backward: async ({ batch, logprobs }, gradients) => {
        open();
        if (gradients.logprobs.length !== logprobs.length)
          throw new EngineError(
            `There are ${gradients.logprobs.length} gradients for ${logprobs.length} tokens.`,
            { code: 'GRADIENT_LENGTH' },
          );
        eachToken(batch, ({ index, previous, token, temperature }) => {
          const scale = (gradients.logprobs[index] ?? 0) / temperature;
          if (scale === 0) return;
          // d logprob[token] / d logit[j] = (1[j = token] - p[j]) / temperature
          const row = logSoftmax(current.weights, vocabSize, previous, temperature);
          for (const [j, logprob] of row.entries())
            gradient[previous * vocabSize + j]! +=
              scale * (Number(j === token) - Math.exp(logprob));
        });
      },
      step: async (options) => {
        open();
        const stats = adamW(current, gradient, options);
        gradient.fill(0);
        return stats;
      },
      publish: async () => {
        open();
        published = current.weights.slice();
      },
      save: async (directory, { optimizer }) => {
        open();
        await mkdir(directory, { recursive: true });
        const { weights, first, second, steps } = current;
        const config = { model_type: 'bigram_table', vocab_size: vocabSize };
        await writeFile(path.join(directory, 'config.json'), JSON.stringify(config));
        await writeFile(path.join(directory, 'table.json'), JSON.stringify([...weights]));
        if (optimizer)
          await writeFile(
            path.join(directory, 'adamw.json'),
            JSON.stringify({ first: [...first], second: [...second], steps }),
          );
      },
      load: async (directory) => {
        open();
        const weights = await readTable(directory, size);
        const moments = await readFile(path.join(directory, 'adamw.json'), 'utf8').catch(() => '');
        current = fresh(weights);
        gradient.fill(0);
        if (moments === '') return;
        const saved = JSON.parse(moments) as { first: number[]; second: number[]; steps: number };
        current.first.set(saved.first);
        current.second.set(saved.second);
        current.steps = saved.steps;
      },
      stats: async () => {
        open();
        return { 'perf/parameters': size };
      },
    },
    sampler: {
      maxModelLen,
      get policyVersion() {
        return serving.version;
      },
      sample: async (prompt, options, signal) => {
        open();
        checkRow({ tokens: prompt, promptLength: prompt.length }, vocabSize, maxModelLen);
        const { weights, version } = serving;
        const choices = Array.from({ length: options.n ?? 1 }, async (_, choice) =>
          sampleChoice(weights, vocabSize, prompt, {
            ...options,
            seed: deriveSeed(options.seed, choice),
            maxTokens: Math.min(options.maxTokens, maxModelLen - prompt.length),
            signal,
          }),
        );
        return (await Promise.all(choices)).map((each) => ({ ...each, policyVersion: version }));
      },
      adopt: async (source, version) => {
        open();
        if (source.kind === 'published' && published === undefined)
          throw new EngineError(`Version ${version} was never published.`, {
            code: 'NOT_PUBLISHED',
          });
        const weights =
          source.kind === 'checkpoint' ? await readTable(source.directory, size) : published;
        serving = { version, weights: weights ?? reference };
      },
      score: async (row, signal) => {
        open();
        throwIfAborted(signal);
        checkRow(row, vocabSize, maxModelLen);
        if (row.promptLength >= row.tokens.length || !(row.temperature > 0))
          throw new ModelError('The row has no response, or no temperature above 0.', {
            code: 'ROW_INVALID',
            status: 400,
          });
        const logprobs = new Float32Array(row.tokens.length - row.promptLength);
        eachToken({ rows: [row] }, ({ index, previous, token, temperature }) => {
          logprobs[index] =
            logSoftmax(serving.weights, vocabSize, previous, temperature)[token] ?? 0;
        });
        return logprobs;
      },
    },
    close: async () => {
      isClosed = true;
    },
  };
}

/** Log-probabilities of the token after `previous`. [V] */
function logSoftmax(table: Table, vocabSize: number, previous: number, temperature: number) {
  const logits = table
    .subarray(previous * vocabSize, (previous + 1) * vocabSize)
    .map((logit) => logit / temperature);
  const max = Math.max(...logits);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - max), 0);
  return logits.map((logit) => Math.min(0, logit - max - Math.log(sum)));
}

interface ResponseToken {
  /** Index in the per-token arrays. */
  readonly index: number;
  readonly previous: number;
  readonly token: number;
  readonly temperature: number;
}

/** Visits the response tokens of all rows in order. */
function eachToken({ rows }: TokenBatch, visit: (at: ResponseToken) => void): void {
  let index = 0;
  for (const { tokens, promptLength, temperature } of rows)
    for (let at = promptLength; at < tokens.length; at++)
      visit({ index: index++, previous: tokens[at - 1] ?? 0, token: tokens[at] ?? 0, temperature });
}

/**
 * Start of each row in the packed response tokens. [B + 1]
 * @throws EngineError naming an invalid row
 */
function offsetsOf({ rows }: TokenBatch, vocabSize: number): Int32Array {
  const offsets = new Int32Array(rows.length + 1);
  for (const [row, { tokens, promptLength, temperature }] of rows.entries()) {
    const fits =
      Number.isInteger(promptLength) &&
      promptLength >= 1 &&
      promptLength < tokens.length &&
      temperature > 0;
    if (!fits || tokens.some((token) => token < 0 || token >= vocabSize))
      throw new EngineError(
        `Row ${row} has ${tokens.length} tokens, ${promptLength} of them the prompt, at temperature ${temperature}; expected ids below ${vocabSize}, a prompt, a response and a temperature above 0.`,
        { code: 'ROW_INVALID' },
      );
    offsets[row + 1] = (offsets[row] ?? 0) + tokens.length - promptLength;
  }
  return offsets;
}

/**
 * Checks a row.
 * @throws ModelError 400, so that only the rollout that sent the request fails
 */
function checkRow(
  { tokens, promptLength }: Pick<TokenRow, 'tokens' | 'promptLength'>,
  vocabSize: number,
  maxModelLen: number,
): void {
  const unknown = tokens.some((token) => token < 0 || token >= vocabSize);
  if (!unknown && promptLength >= 1 && promptLength < maxModelLen && tokens.length <= maxModelLen)
    return;
  throw new ModelError(
    `The row has ${tokens.length} tokens, ${promptLength} of them the prompt; expected ids below ${vocabSize} and at most ${maxModelLen} tokens with room for a response.`,
    { code: 'PROMPT_TOO_LONG', status: 400 },
  );
}

async function sampleChoice(
  table: Table,
  vocabSize: number,
  prompt: Int32Array,
  options: SamplingOptions & { readonly signal?: AbortSignal | undefined },
): Promise<Omit<SampledSequence, 'policyVersion'>> {
  const { temperature = 1, maxTokens, stopTokenIds = [], topK = -1, signal } = options;
  const isGreedy = temperature === 0 || topK === 1;
  const random = createRandom(options.seed);
  const tokens: number[] = [];
  const logprobs: number[] = [];
  let previous = prompt.at(-1) ?? 0;
  while (tokens.length < maxTokens && !stopTokenIds.includes(tokens.at(-1) ?? -1)) {
    // Lets other calls run, and notices if the caller aborts.
    await Promise.resolve();
    throwIfAborted(signal);
    const row = logSoftmax(table, vocabSize, previous, isGreedy ? 1 : temperature);
    previous = isGreedy ? row.indexOf(Math.max(...row)) : draw(row, random.next());
    tokens.push(previous);
    logprobs.push(isGreedy ? 0 : (row[previous] ?? 0));
  }
  const stopReason = stopTokenIds.includes(tokens.at(-1) ?? -1) ? 'stop' : 'length';
  return { tokens: Int32Array.from(tokens), logprobs: Float32Array.from(logprobs), stopReason };
}

/** First token at which the cumulative probability exceeds `uniform`, which is in [0, 1). */
function draw(row: Float64Array, uniform: number): number {
  let rest = uniform;
  const token = row.findIndex((logprob) => (rest -= Math.exp(logprob)) < 0);
  return token < 0 ? row.length - 1 : token;
}

/** One update in place. @see Loshchilov & Hutter, arXiv:1711.05101, algorithm 2 */
function adamW(state: Trained, gradient: Float64Array, options: OptimizerOptions): StepStats {
  const { learningRate, epsilon = 1e-8, weightDecay = 0.01, clipGradNorm = 1 } = options;
  const [beta1, beta2] = options.betas ?? [0.9, 0.999];
  const gradNorm = Math.sqrt(gradient.reduce((sum, value) => sum + value * value, 0));
  if (!Number.isFinite(gradNorm)) return { step: state.steps, gradNorm, skipped: true };
  const scale = clipGradNorm > 0 && gradNorm > clipGradNorm ? clipGradNorm / gradNorm : 1;
  const step = ++state.steps;
  const { weights, first, second } = state;
  for (const [i, value] of gradient.entries()) {
    const m = (first[i] = beta1 * (first[i] ?? 0) + (1 - beta1) * value * scale);
    const v = (second[i] = beta2 * (second[i] ?? 0) + (1 - beta2) * (value * scale) ** 2);
    const update = m / (1 - beta1 ** step) / (Math.sqrt(v / (1 - beta2 ** step)) + epsilon);
    weights[i] = (weights[i] ?? 0) - learningRate * (update + weightDecay * (weights[i] ?? 0));
  }
  return { step, gradNorm, skipped: false };
}

/**
 * Reads the table of a checkpoint.
 * @throws CheckpointError when the folder holds no such table
 */
async function readTable(directory: string, size: number): Promise<Table> {
  const file = path.join(directory, 'table.json');
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CheckpointError(`${file} cannot be read.`, { code: 'CHECKPOINT_MISSING', cause });
  });
  const table = Float64Array.from(JSON.parse(text) as number[]);
  if (table.length === size) return table;
  throw new CheckpointError(`${file} has ${table.length} logits; expected ${size}.`, {
    code: 'CHECKPOINT_DAMAGED',
  });
}
