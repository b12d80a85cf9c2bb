/**
 * Runs GGUF files in llama.cpp through the npm package node-llama-cpp. The runtime works on token
 * ids: prompts are rendered with the model's template instead of node-llama-cpp's chat session,
 * which describes tools in its own format.
 */
import { availableParallelism } from 'node:os';
import path from 'node:path';
import {
  CheckpointError,
  EngineError,
  ModelError,
  createRandom,
  deriveSeed,
  describeError,
  throwIfAborted,
} from '@trinity-rft/core';
import type {
  SampledSequence,
  Sampler,
  SamplingOptions,
  TokenListener,
  TokenRow,
} from '@trinity-rft/core/engine';
import { loadPeer, openTogether, type ResourceStack } from '@trinity-rft/core/support';
import { tokenByteTable, type Tokenizer } from '@trinity-rft/chat';
import {
  createConstraints,
  type AnswerConstraint,
  type ConstraintFactory,
} from '@trinity-rft/engine-onnx';
import type * as Library from 'node-llama-cpp';
import type { LlamaContextSequence, LlamaModel, Token, TokenBias } from 'node-llama-cpp';
import { cutDistribution, drawFrom, type Probable } from './draw.js';
import { createQueue } from './queue.js';
import type { Runtime } from './runtime.js';

export interface LlamaRuntimeOptions {
  readonly tokenizer: Tokenizer;
  /**
   * Maximum length of prompt and response together, in tokens.
   * @default the model's limit, but at most 8192
   */
  readonly maxModelLen: number | undefined;
  /**
   * Number of compute threads.
   * @default one core fewer than the machine has, because threads that compete for a core make
   * llama.cpp many times slower
   */
  readonly threads: number | undefined;
  /** True to use a graphics card. @default true if node-llama-cpp finds one */
  readonly gpu: boolean | undefined;
  /** GGUF file of a LoRA adapter for the model. @default no adapter */
  readonly adapter: string | undefined;
  /** Data type of the key and value cache. @default float16, as in llama.cpp */
  readonly cache: 'float32' | undefined;
  /**
   * Maximum number of requests that are processed concurrently. Further requests wait. @default 4
   */
  readonly sequences: number | undefined;
}

/**
 * Opens a GGUF file in llama.cpp.
 * @throws ConfigError if node-llama-cpp is not installed; CheckpointError if llama.cpp rejects the
 * file or the adapter, or there is no memory for the requests
 */
export async function openLlamaRuntime(
  file: string,
  options: LlamaRuntimeOptions,
): Promise<Runtime> {
  const library = await loadPeer('node-llama-cpp', file, () => import('node-llama-cpp'));
  return openTogether(async (stack) => {
    const { model } = stack.use(await share(library, file, options.gpu !== false));
    const { tokenizer } = options;
    let made: ConstraintFactory | undefined;
    const constraints = () => (made ??= createConstraints(tokenByteTable(tokenizer)));
    const parts = { library, model, tokenizer, constraints };
    return runtimeOver(parts, { ...options, file }, stack);
  });
}

async function runtimeOver(
  parts: LlamaParts,
  options: LlamaRuntimeOptions & { readonly file: string },
  stack: ResourceStack,
): Promise<Runtime> {
  const { model } = parts;
  const { maxModelLen = Math.min(model.trainContextSize, 8192), sequences = 4 } = options;
  const { file, adapter } = options;
  const opened = model.createContext({
    contextSize: maxModelLen,
    sequences,
    threads: options.threads ?? Math.max(1, availableParallelism() - 1),
    ...(adapter !== undefined && { lora: adapter }),
    ...(options.cache === 'float32' && {
      // Flash attention would round the cache to float16.
      flashAttention: false,
      experimentalKvCacheKeyType: 'F32',
      experimentalKvCacheValueType: 'F32',
    }),
  });
  const context = await opened.catch((cause: unknown) => {
    const why = describeError(cause);
    const message =
      adapter !== undefined && why.includes(path.resolve(adapter))
        ? `llama.cpp does not load the adapter ${adapter} for ${file}: ${why}. Name the GGUF file of an adapter that was trained on this model.`
        : `llama.cpp does not open ${file} for ${sequences} requests of ${maxModelLen} tokens: ${why}. Set a smaller maxModelLen or sequences.`;
    throw new CheckpointError(message, { code: 'MODEL_UNUSABLE', cause });
  });
  stack.use({ close: () => context.dispose() });
  const free = createQueue(Array.from({ length: sequences }, () => context.getSequence()));
  const sampler: Sampler = {
    policyVersion: 0,
    maxModelLen,
    adopt: () => Promise.reject(new EngineError('A GGUF file has no other weights to adopt.')),
    sample: async (prompt, sampling, signal, onTokens) => {
      const choices: SampledSequence[] = [];
      for (let choice = 0; choice < (sampling.n ?? 1); choice++)
        choices.push(
          await free.use(signal, (sequence) =>
            sampleOne(parts, { sequence, prompt, sampling, choice, signal, onTokens }),
          ),
        );
      return choices;
    },
    score: (row, signal) =>
      free.use(signal, (sequence) => scoreRow({ sequence, mostTokens: maxModelLen }, row, signal)),
  };
  return { sampler, enforcesFormats: true, close: () => stack.close() };
}

interface SharedModel {
  readonly model: LlamaModel;
  /** Releases the weights. They are freed when all runtimes that share them have released them. */
  close(): Promise<void>;
}

/**
 * Weights in memory, keyed by GPU setting and file. Adapters and models with other names share the
 * weights of the same file.
 */
const models = new Map<string, { readonly opened: Promise<LlamaModel>; users: number }>();

async function share(
  { getLlama, LlamaLogLevel }: typeof Library,
  file: string,
  gpu: boolean,
): Promise<SharedModel> {
  const key = `${gpu} ${path.resolve(file)}`;
  const open = async (): Promise<LlamaModel> => {
    const llama = await getLlama({
      gpu: gpu ? 'auto' : false,
      build: 'never',
      skipDownload: true,
      logLevel: LlamaLogLevel.error,
    });
    try {
      return await llama.loadModel({ modelPath: file, ...(!gpu && { gpuLayers: 0 }) });
    } catch (error) {
      await llama.dispose();
      throw error;
    }
  };
  const entry = models.get(key) ?? { opened: open(), users: 0 };
  models.set(key, entry);
  entry.users++;
  const close = async (): Promise<void> => {
    if (--entry.users > 0) return;
    models.delete(key);
    const model = await entry.opened.catch(() => undefined);
    await model?.dispose();
    await model?.llama.dispose();
  };
  try {
    return { model: await entry.opened, close };
  } catch (cause) {
    await close();
    throw new CheckpointError(`llama.cpp does not load ${file}: ${describeError(cause)}`, {
      code: 'MODEL_UNUSABLE',
      cause,
    });
  }
}

interface LlamaParts {
  readonly library: typeof Library;
  readonly model: LlamaModel;
  readonly tokenizer: Tokenizer;
  /**
   * Returns the constraints of the vocabulary. They are created for the first response that must
   * follow a grammar.
   */
  readonly constraints: () => ConstraintFactory;
}

interface OneSample {
  readonly sequence: LlamaContextSequence;
  readonly prompt: Int32Array;
  readonly sampling: SamplingOptions;
  readonly choice: number;
  readonly signal: AbortSignal | undefined;
  readonly onTokens: TokenListener | undefined;
}

/** Maximum number of prompt tokens that are evaluated at once. */
const piece = 256;

/** Sampling options that disable node-llama-cpp's truncation of the distribution. */
const uncut = { topK: 0, topP: 1, minP: 0 } as const;

async function sampleOne(parts: LlamaParts, one: OneSample): Promise<SampledSequence> {
  const { sequence, prompt, sampling, choice, signal, onTokens } = one;
  const { maxTokens, minTokens = 0, stopTokenIds = [], stop = [], topLogprobs = 0 } = sampling;
  const never = biasAgainst(parts, stopTokenIds);
  const constraint = sampling.grammar && parts.constraints().begin(sampling.grammar);
  const tokens: number[] = [];
  const logprobs: number[] = [];
  const alternatives: (readonly Probable[])[] = [];
  let stopString: string | undefined;
  let ended = false;
  await sequence.adaptStateToTokens([...prompt] as Token[], false);
  let input = [...prompt.subarray(sequence.nextTokenIndex)] as Token[];
  // If the cache contains the whole prompt, the last token of the prompt is evaluated again for the
  // logits.
  if (input.length === 0) {
    await sequence.eraseContextTokenRanges([{ start: prompt.length - 1, end: prompt.length }]);
    input = [prompt[prompt.length - 1] as Token];
  }
  // The prompt is evaluated in pieces, so that the call can be cancelled in between.
  for (; input.length > piece; input = input.slice(piece)) {
    throwIfAborted(signal);
    await sequence.controlledEvaluate(input.slice(0, piece));
  }
  while (tokens.length < maxTokens && !ended) {
    throwIfAborted(signal);
    const isEarly = tokens.length < minTokens;
    const next = await nextToken(sequence, input, sampling, {
      // Thus the tokens of a choice do not depend on other requests in progress.
      seed: deriveSeed(sampling.seed, choice, tokens.length),
      ...(isEarly && { tokenBias: never }),
      ...(constraint && { allows: allowedBy(constraint, stopTokenIds) }),
    });
    tokens.push(next.token);
    logprobs.push(next.logprob);
    if (topLogprobs > 0) alternatives.push(next.ranked.slice(0, topLogprobs));
    ended = stopTokenIds.includes(next.token);
    if (!ended) constraint?.push(next.token);
    if (!ended && stop.length > 0) {
      stopString = completedBy(parts.tokenizer, tokens, stop);
      ended = stopString !== undefined;
    }
    onTokens?.(choice, [next.token]);
    input = [next.token as Token];
  }
  return {
    tokens: Int32Array.from(tokens),
    logprobs: Float32Array.from(logprobs),
    stopReason: ended ? 'stop' : 'length',
    ...(stopString !== undefined && { stopString }),
    ...(topLogprobs > 0 && { topLogprobs: alternatives }),
    policyVersion: 0,
  };
}

/** Returns a function that tells whether a token may come next. */
function allowedBy(
  constraint: AnswerConstraint,
  stopTokenIds: readonly number[],
): (token: number) => boolean {
  const isComplete = constraint.isComplete();
  return (token) => (stopTokenIds.includes(token) ? isComplete : constraint.allows(token));
}

interface NextToken extends Probable {
  /** The most probable tokens at temperature 1. */
  readonly ranked: readonly Probable[];
}

interface NextOptions {
  readonly seed: number;
  readonly tokenBias?: TokenBias;
  /** Returns true if a token may come next. @default any token may */
  readonly allows?: (token: number) => boolean;
}

/** Maximum number of alternatives per token in OpenAI's API. */
const mostRanked = 20;

/**
 * Samples the next token and returns its log-probability. If neither top-k, top-p, `topLogprobs` nor
 * `allows` is set, llama.cpp samples the token. Otherwise, the whole distribution is fetched and sampled
 * here, because llama.cpp applies top-k and top-p before the temperature, unlike training. In
 * greedy decoding, the log-probability is that at temperature 1.
 */
async function nextToken(
  sequence: LlamaContextSequence,
  input: readonly Token[],
  { temperature = 1, topP = 1, topK = -1, topLogprobs = 0 }: SamplingOptions,
  { seed, tokenBias, allows }: NextOptions,
): Promise<NextToken> {
  const isWhole =
    allows !== undefined || topLogprobs > 0 || (temperature > 0 && (topP < 1 || topK > 0));
  const options = { ...uncut, temperature: isWhole ? 1 : temperature, seed, tokenBias };
  const generateNext = isWhole
    ? { probabilities: true, options }
    : { token: true, confidence: true, options };
  const last = input.length - 1;
  const results = await sequence.controlledEvaluate([
    ...input.slice(0, -1),
    [input[last]!, { generateNext }],
  ]);
  const { token, confidence, probabilities } = results[last]?.next ?? {};
  if (typeof token === 'number' && confidence !== undefined)
    return { token, logprob: Math.log(confidence), ranked: [] };
  if (probabilities === undefined) throw noLogits();
  const full = allows
    ? restrict(probabilities, allows, {
        atLeast: Math.max(1, topLogprobs),
        // Above temperature 1, the least probable tokens have a larger share.
        ignored: temperature > 1 ? 0 : ignoredShare,
      })
    : Array.from(probabilities, ([token, probability]) => ({
        token,
        logprob: Math.log(probability),
      }));
  const cut = cutDistribution(full, { temperature, topP, topK });
  const drawn = drawFrom(cut, createRandom(seed).next());
  if (drawn === undefined) throw noLogits();
  const ranked = full.slice(0, mostRanked);
  return { ...(temperature === 0 ? full[0]! : drawn), ranked };
}

/**
 * Share of the probability of allowed tokens below which the least probable tokens are not checked,
 * because most of a large vocabulary is there.
 */
const ignoredShare = 1e-6;

interface Restriction {
  /** Number of tokens that are returned if there are so many, even if others have the whole share. */
  readonly atLeast: number;
  /** Total share of the least probable tokens that may be left out. */
  readonly ignored: number;
}

/**
 * Returns the distribution at temperature 1 of the tokens that may come next.
 * @param probabilities keyed by token, in descending order
 * @throws ModelError 400 if there is none
 */
function restrict(
  probabilities: ReadonlyMap<Token, number>,
  allows: (token: number) => boolean,
  { atLeast, ignored }: Restriction,
): readonly Probable[] {
  // Share of each token and those after it, summed from the end: subtraction would round it away.
  const left = Float64Array.from(probabilities.values());
  for (let i = left.length - 2; i >= 0; i--) left[i]! += left[i + 1]!;
  let checked = 0;
  let mass = 0;
  const possible: { readonly token: number; readonly probability: number }[] = [];
  for (const [token, probability] of probabilities) {
    const isRest = possible.length >= atLeast && left[checked++]! <= ignored * mass;
    if (probability === 0 || isRest) break;
    if (!allows(token)) continue;
    mass += probability;
    possible.push({ token, probability });
  }
  if (possible.length > 0)
    return possible.map(({ token, probability }) => ({
      token,
      logprob: Math.log(probability / mass),
    }));
  throw new ModelError(
    'No token of the vocabulary continues the format that the answer must have. Ask for a format that can be written with this vocabulary, or do not constrain the answer.',
    { status: 400, code: 'constraint_unreachable' },
  );
}

const noLogits = (): EngineError =>
  new EngineError('llama.cpp reported no probabilities for the next token.', {
    code: 'LLAMA_NO_LOGITS',
  });

function biasAgainst({ library, model }: LlamaParts, ids: readonly number[]): TokenBias {
  const bias = library.TokenBias.for(model);
  for (const id of ids) bias.set(id as Token, { logit: -1e9 });
  return bias;
}

/**
 * Returns the stop string that ends first in the text, or undefined if there is none. Decodes only
 * the last tokens, because a stop string has at most as many tokens as bytes.
 */
export function completedBy(
  tokenizer: Pick<Tokenizer, 'decode'>,
  tokens: readonly number[],
  stops: readonly string[],
): string | undefined {
  const reach = Math.max(...stops.map((stop) => Buffer.byteLength(stop))) + 8;
  const text = tokenizer.decode(tokens.slice(-reach));
  return stops
    .filter((stop) => text.includes(stop))
    .toSorted((a, b) => text.indexOf(a) + a.length - (text.indexOf(b) + b.length))[0];
}

/**
 * Number of positions that are evaluated at once when scoring. It is small because each position
 * has a distribution over the whole vocabulary in memory.
 */
const scored = 16;

/**
 * Returns the log-probabilities of the tokens from `promptLength` on, in nats.
 * @throws ModelError 400 if the row has no prompt or is too long
 */
async function scoreRow(
  {
    sequence,
    mostTokens,
  }: { readonly sequence: LlamaContextSequence; readonly mostTokens: number },
  row: TokenRow,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const { tokens, promptLength } = row;
  if (promptLength < 1 || tokens.length > mostTokens)
    throw new ModelError(
      `A text of ${tokens.length} tokens, ${promptLength} of them prompt, cannot be scored: expected at least one token of prompt, and at most ${mostTokens} together.`,
      { status: 400, code: 'context_length_exceeded' },
    );
  return Float32Array.from((await scoreInLlama(sequence, row, signal)).logprobs);
}

/** The methods of node-llama-cpp's `LlamaContextSequence` that {@link scoreInLlama} calls. */
interface ScoringSequence {
  clearHistory(): Promise<void>;
  controlledEvaluate(input: readonly unknown[]): Promise<readonly (ScoredPlace | undefined)[]>;
}

interface ScoredPlace {
  readonly next: { readonly probabilities?: ReadonlyMap<number, number> };
}

/**
 * Scores the tokens of a row from `promptLength` on, which must be at least 1.
 * @returns their log-probabilities in nats, and the most probable token at each position. [R]
 */
export async function scoreInLlama(
  sequence: ScoringSequence,
  { tokens, promptLength, temperature }: TokenRow,
  signal?: AbortSignal,
): Promise<{ readonly logprobs: Float64Array; readonly best: Int32Array }> {
  await sequence.clearHistory();
  const options = { ...uncut, temperature };
  const logprobs = new Float64Array(tokens.length - promptLength);
  const best = new Int32Array(tokens.length - promptLength);
  for (let start = 0; start + 1 < tokens.length; start += scored) {
    throwIfAborted(signal);
    const part = Array.from(tokens.subarray(start, Math.min(start + scored, tokens.length - 1)));
    const results = await sequence.controlledEvaluate(
      part.map((token, i) =>
        start + i + 1 < promptLength
          ? token
          : [token, { generateNext: { probabilities: true, options } }],
      ),
    );
    for (const i of part.keys()) {
      const at = start + i + 1;
      if (at < promptLength) continue;
      const probabilities = results[i]?.next.probabilities;
      const probability = probabilities?.get(tokens[at]!);
      // The most probable token comes first.
      const [top] = probabilities?.keys() ?? [];
      if (probabilities === undefined || probability === undefined || top === undefined)
        throw noLogits();
      // The probabilities are summed in float64: llama.cpp normalises in float32, which is 1e-4 off
      // for a vocabulary of 50,000 tokens.
      let sum = 0;
      for (const each of probabilities.values()) sum += each;
      logprobs[at - promptLength] = Math.log(probability / sum);
      best[at - promptLength] = top;
    }
  }
  return { logprobs, best };
}
