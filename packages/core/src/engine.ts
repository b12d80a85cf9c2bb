/**
 * The engine seam: token ids and weights only. The verbs are those of the Tinker API, so the same
 * run scales out.
 */
import type { Metrics } from './metrics.js';
import type { DeliveryProbe } from './run-store.js';
import type { Clock, Logger } from './runtime.js';

/** One sequence to score. Response positions are `tokens[promptLength..]`. */
export interface TokenRow {
  readonly tokens: Int32Array;
  readonly promptLength: number;
  /** Logits are divided by it before the softmax; that of sampling, so that ratios start at 1. */
  readonly temperature: number;
}

/** Rows of different length; the engine packs them into micro-batches by its memory budget. */
export interface TokenBatch {
  readonly rows: readonly TokenRow[];
}

/**
 * Numbers for every response token of a batch, rows one after the other: row i occupies
 * `[offsets[i], offsets[i + 1])`. N is the number of response tokens of the whole batch.
 */
export interface ForwardPass {
  readonly batch: TokenBatch;
  /** [B + 1] */
  readonly offsets: Int32Array;
  /** Natural-log probability of each response token. [N] */
  readonly logprobs: Float32Array;
  /** Entropy (nats) of the distribution each response token was drawn from; when asked for. [N] */
  readonly entropy?: Float32Array;
  /**
   * Expectation of p (H + log p) under that distribution, H sum(p^2) + sum(p^2 log p); when asked
   * for. [N]
   */
  readonly necs?: Float32Array;
}

/**
 * A loss that is a sum over response tokens, in the layout of {@link ForwardPass}. With p the
 * log-probability now and r = exp(p - oldLogprobs), the loss of a token is
 * - `linear`: -A p
 * - `importance_sampling`: -A r
 * - `ppo`: -min(A r, A clip(r, low, high))
 * - `cispo`: -A clip(r, low, high) p, the clipped ratio a constant
 */
export interface ExpectedLoss {
  readonly name: 'linear' | 'importance_sampling' | 'ppo' | 'cispo';
  /** A, with the weight of the token in the batch; 0 = not trained. [N] */
  readonly advantages: Float32Array;
  /** [N] */
  readonly oldLogprobs: Float32Array;
  /** Bounds of the ratio; `ppo` and `cispo` only. */
  readonly low?: number;
  readonly high?: number;
}

export interface ForwardOptions {
  /** `reference`: the frozen weights the engine was opened with. @default "current" */
  readonly weights?: 'current' | 'reference';
  /** @default false */
  readonly entropy?: boolean;
  /** Only where `EngineCapabilities.necs`. @default false */
  readonly necs?: boolean;
}

/**
 * dLoss/dlogprob and dLoss/dentropy in the layout of {@link ForwardPass}. Rows whose gradients are
 * all 0 cost nothing.
 */
export interface TokenGradients {
  /** [N] */
  readonly logprobs: Float32Array;
  /** [N]; only where `EngineCapabilities.entropyGradient` is `exact`. */
  readonly entropy?: Float32Array;
}

export interface OptimizerOptions {
  readonly learningRate: number;
  /** @default [0.9, 0.999] */
  readonly betas?: readonly [number, number];
  /** @default 1e-8 */
  readonly epsilon?: number;
  /** Decoupled; matrices only. @default 0.01 */
  readonly weightDecay?: number;
  /** Largest global gradient norm; 0 = no clipping. @default 1 */
  readonly clipGradNorm?: number;
}

export interface StepStats {
  /** Optimizer updates made so far, this one included. */
  readonly step: number;
  /** Global L2 norm before clipping. */
  readonly gradNorm: number;
  /** The gradient was not finite: weights and moments were left alone. */
  readonly skipped: boolean;
}

/** The training half of an engine. Calls are made one at a time. */
export interface TrainEngine {
  forward(batch: TokenBatch, options?: ForwardOptions): Promise<ForwardPass>;
  /**
   * Like {@link forward}, where the loss is known beforehand: engines that can compute it accumulate its
   * gradient in the same pass. The {@link backward} of the pass is given the gradient all the same,
   * and adds what differs. Absent where two passes cost no more.
   */
  forwardBackward?(batch: TokenBatch, expected: ExpectedLoss): Promise<ForwardPass>;
  /**
   * True if this engine's own sampler drew the end of `tokens`, prompt and response of one choice, as
   * `policyVersion`, and {@link forward} would compute to the last bit what it reported: nothing has
   * changed the weights since, and nothing but the temperature changed the distribution.
   * @default never
   */
  drew?(tokens: Int32Array, policyVersion: number): boolean;
  /** Adds to the accumulated gradient. */
  backward(pass: ForwardPass, gradients: TokenGradients): Promise<void>;
  /** One AdamW update from the accumulated gradient, which is cleared. */
  step(options: OptimizerOptions): Promise<StepStats>;
  /**
   * Makes the current weights available to the sampler as `version`. Later steps do not change what
   * was published.
   */
  publish(version: number): Promise<void>;
  /** Writes a Hugging Face folder into `directory`; with `optimizer`, also moments and counters. */
  save(directory: string, options: SaveOptions): Promise<void>;
  /** Reads back what {@link save} wrote. Without optimizer files the moments start at 0. */
  load(directory: string): Promise<void>;
  /** Numbers about memory and time since the last call, for the monitor (`perf/...`). */
  stats(): Promise<Metrics>;
}

interface SaveOptions {
  /** With the moments, to continue from. */
  readonly optimizer: boolean;
  /**
   * For adapters: also saves the whole model with them merged in. Without it, the folder is read with the
   * model that they belong to; without moments as well, by samplers alone.
   * @default true
   */
  readonly merged?: boolean;
}

export interface SamplingOptions {
  /** Choices for this prompt; it is read (prefilled) once. @default 1 */
  readonly n?: number;
  /** 0 = greedy. @default 1 */
  readonly temperature?: number;
  /** @default 1 */
  readonly topP?: number;
  /** -1 = all. @default -1 */
  readonly topK?: number;
  readonly maxTokens: number;
  /** Stop ids cannot be sampled before this many tokens. @default 0 */
  readonly minTokens?: number;
  readonly stopTokenIds?: readonly number[];
  /** The text ends with one of these. */
  readonly stop?: readonly string[];
  /**
   * 32-bit; choice k draws from the stream (seed, k). What else is in the batch has no influence.
   */
  readonly seed: number;
  /** How many alternatives to report per token. @default 0 */
  readonly topLogprobs?: number;
  /** The answer follows it; a stop token can be drawn where it is complete. @default any text */
  readonly grammar?: TextGrammar;
}

/**
 * Grammar of an answer, as plain data: a context-free grammar over bytes (UTF-8). Rule 0 is the
 * whole text; a rule is a list of alternatives, an alternative a list of symbols, a symbol the
 * number of a rule or the ranges of one byte: `[from, to, from, to ...]`. Above bytes, 256 + i is the
 * control token i.
 */
export interface TextGrammar {
  readonly rules: readonly (readonly (readonly GrammarSymbol[])[])[];
  /** Tokens that never match their bytes: they are allowed only where a rule names them. */
  readonly controlTokenIds: readonly number[];
}

export type GrammarSymbol = number | readonly number[];

export type SampleStop = 'stop' | 'length';

export interface TokenLogprob {
  readonly token: number;
  readonly logprob: number;
}

export interface SampledSequence {
  /** Sampled ids, the stop id included when one was drawn. [R] */
  readonly tokens: Int32Array;
  /**
   * Log-probabilities under the distribution that was sampled from, after temperature, top-p, top-k
   * and grammar. [R]
   */
  readonly logprobs: Float32Array;
  readonly stopReason: SampleStop;
  /** The stop string that ended it, if one did. */
  readonly stopString?: string;
  readonly topLogprobs?: readonly (readonly TokenLogprob[])[];
  /** The oldest one where `versions` differ. */
  readonly policyVersion: number;
  /** Weights that drew which tokens, in order, where they changed meanwhile. @default one version */
  readonly versions?: readonly VersionSpan[];
}

/** Tokens `start` to `end`, exclusive, that weights of one version have drawn. */
export interface VersionSpan {
  readonly start: number;
  readonly end: number;
  readonly policyVersion: number;
}

/** Called in their order with the tokens of a choice that were drawn since the last call. */
export type TokenListener = (choice: number, tokens: readonly number[]) => void;

/** The sampling half of an engine. */
export interface Sampler {
  /** @throws ModelError 400 when the prompt leaves no room; CancelledError on abort. */
  sample(
    prompt: Int32Array,
    options: SamplingOptions,
    signal?: AbortSignal,
    /** Engines that cannot report tokens while they sample never call it. */
    onTokens?: TokenListener,
  ): Promise<readonly SampledSequence[]>;
  /** Version of the weights in use; -1 before the first {@link adopt}. */
  readonly policyVersion: number;
  /**
   * Switches to published weights, or to those of a checkpoint folder, as `version`. Later sequences
   * use them. Sequences in flight finish on the weights they began with, unless the sampler was
   * opened to continue them with the new ones, which `SampledSequence.versions` then says.
   */
  adopt(source: WeightSource, version: number): Promise<void>;
  /** Longest prompt + response. */
  readonly maxModelLen: number;
  /**
   * Log-probability of each response token of `row`, by the weights in use, at the temperature of
   * the row. [R] Absent where the engine cannot score text that it has not sampled.
   */
  score?(row: TokenRow, signal?: AbortSignal): Promise<Float32Array>;
}

export type WeightSource =
  | { readonly kind: 'published' }
  | {
      readonly kind: 'checkpoint';
      readonly directory: string;
      /** For a {@link RemoteSampler}, which refuses weights that score it differently. */
      readonly probe?: DeliveryProbe;
    };

/** Capabilities of an engine. A configuration whose algorithm needs more is rejected when it is read. */
export interface EngineCapabilities {
  readonly entropyGradient: 'exact' | 'none';
  /** `ForwardPass.entropy`. */
  readonly entropy: boolean;
  /** The trainer scores at any temperature; otherwise at 1 only. */
  readonly temperature: boolean;
  /** `minTokens`, `topLogprobs` and `grammar` of `SamplingOptions`. */
  readonly samplingControls: boolean;
  /** `ForwardPass.necs`. */
  readonly necs: boolean;
  /** `processed`: of the distribution after temperature, top-p and top-k. */
  readonly logprobConvention: 'raw' | 'processed';
  readonly valueHead: boolean;
  readonly fullParameter: boolean;
  readonly lora: boolean;
  /** {@link EngineOptions.quantization}. @default false */
  readonly quantization?: boolean;
  /** The section of the configuration, as `model.tinker`, that describes what is trained instead. */
  readonly ownSection?: string;
  readonly referenceModel: boolean;
  /** `Sampler.score`. @default it is there */
  readonly score?: boolean;
}

/** Result of {@link ValueEngine.forward} for a batch. */
export interface ValuePass {
  readonly batch: TokenBatch;
  /** [B + 1] */
  readonly offsets: Int32Array;
  /** Value of the state in which each response token was drawn: read one position before it. [N] */
  readonly values: Float32Array;
}

/**
 * A critic: a separate model with one value per position instead of a distribution over tokens. Calls
 * are made one at a time.
 */
export interface ValueEngine {
  forward(batch: TokenBatch): Promise<ValuePass>;
  /** Adds to the accumulated gradient. `gradients` are dLoss/dvalues. [N] */
  backward(pass: ValuePass, gradients: Float32Array): Promise<void>;
  /** One AdamW update from the accumulated gradient, which is cleared. */
  step(options: OptimizerOptions): Promise<StepStats>;
  /**
   * Writes a Hugging Face folder (token classification with one label) into `directory`; with
   * `optimizer`, also moments and counters.
   */
  save(directory: string, options: { readonly optimizer: boolean }): Promise<void>;
  load(directory: string): Promise<void>;
  stats(): Promise<Metrics>;
  close(): Promise<void>;
}

export interface Engine {
  readonly capabilities: EngineCapabilities;
  readonly trainer: TrainEngine;
  readonly sampler: Sampler;
  close(): Promise<void>;
}

/** What is known about an engine before it is opened. Reading it loads no native code. */
export interface EngineFacts {
  /** Name in `trainer_type` and `engine_type` of a configuration. */
  readonly name: string;
  readonly capabilities: EngineCapabilities;
}

/** Where a program answers, and the key that it asks for. */
export interface ServerAddress {
  /** Excludes `/v1`. */
  readonly url: string;
  readonly apiKey?: string;
}

/** Results of a tokenizer for a few texts and ids, to compare other programs with it. */
export interface VocabularySample {
  /** Excludes tokens that are added around every text. */
  readonly texts: readonly { readonly text: string; readonly ids: readonly number[] }[];
  /** The last id of the vocabulary among them. */
  readonly tokens: readonly { readonly id: number; readonly text: string }[];
  readonly decode: (ids: readonly number[]) => string;
}

/** Options of {@link SamplerFactory.open}. */
export interface SamplerOptions {
  /** The Hugging Face folder of the model that is served: its config.json is read. */
  readonly modelPath: string;
  readonly servers: readonly ServerAddress[];
  /** Adapters are adopted, on top of the model that is served. @default all weights are replaced */
  readonly lora?: boolean;
  /** Longest prompt and response together, in tokens. @default what every server allows */
  readonly maxModelLen?: number;
  /** A server whose tokenizer differs is refused. @default tokenizers are not compared */
  readonly vocabulary?: VocabularySample;
  /** Fate of sequences in flight when weights are adopted. @default "finish" */
  readonly inFlight?: 'finish' | 'continue';
  /** Mean difference, in nats, that is allowed between log-probabilities of one text by two programs. */
  readonly tolerance: number;
  /** For one call, its waits included. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the wait for servers that are being started. @default never */
  readonly signal?: AbortSignal;
}

/**
 * A sampler in other programs. Its weights come as folders that those programs can read, and must
 * stay there while they are in use.
 */
export interface RemoteSampler extends Sampler {
  close(): Promise<void>;
}

/** A sampler that a configuration can choose by its name, beside the engine that trains. */
export interface SamplerFactory {
  /** Name in `engine_type` of a configuration. */
  readonly name: string;
  readonly capabilities: SamplerCapabilities;
  /**
   * @throws ConfigError when no server answers, or one was started with options that do not fit
   */
  open(options: SamplerOptions): Promise<RemoteSampler>;
}

export interface SamplerCapabilities {
  /** `SamplingOptions.grammar`. */
  readonly grammar: boolean;
}

/** Low-rank adapters to train: those of a PEFT folder, or new ones that start without effect. */
export type AdapterOptions =
  | { readonly path: string }
  | {
      readonly path?: undefined;
      readonly rank: number;
      readonly alpha: number;
      /** Endings of module names, such as `q_proj`, or every linear layer but the output. */
      readonly targetModules: 'all-linear' | readonly string[];
    };

/**
 * Frozen weights in blocks of integers: of 8 or 4 bits, rounded when they are loaded, or as a quantised GGUF file
 * has them.
 */
export type Quantization = 'int8' | 'int4' | 'file';

/** Options of {@link EngineFactory.openCritic}. */
export interface CriticEngineOptions {
  /** A Hugging Face model folder. */
  readonly modelPath: string;
  /** @default the engine decides */
  readonly threads?: number;
  /** For the activations of one forward and backward pass, in MiB. @default the engine decides */
  readonly memoryBudgetMb?: number;
}

/** Options of {@link EngineFactory.open}. */
export interface EngineOptions extends CriticEngineOptions {
  /** Keep the initial weights as a frozen reference. @default false */
  readonly reference?: boolean;
  /** Longest prompt and response together, in tokens. @default what the model was made for */
  readonly maxModelLen?: number;
  /** The byte string of each token id; stop strings and grammars need it. @default none */
  readonly tokenBytes?: readonly Uint8Array[];
  /** Train adapters and leave the weights alone. @default all weights are trained */
  readonly lora?: AdapterOptions;
  /**
   * With {@link lora}: the weights below the adapters are quantised, in sampling, scores and gradients alike.
   * @default they are floating point numbers
   */
  readonly quantization?: Quantization;
  /** Low-latency sampling while training: answers matter more than the time of a step. @default false */
  readonly interactive?: boolean;
  /** Seed of everything that the engine initializes at random, such as new adapters. @default 0 */
  readonly seed?: number;
  /** Settings of this engine alone, such as the address of its server. @default none */
  readonly settings?: object;
  /** @default silent */
  readonly logger?: Logger;
  /**
   * The run is to stop: opening rejects, and a server that does not answer is no longer waited for;
   * work in progress continues. @default never
   */
  readonly signal?: AbortSignal;
}

/** Options of {@link EngineFactory.checkModel}. */
export interface ModelCheck extends Pick<EngineOptions, 'modelPath' | 'maxModelLen'> {
  /** False: only config.json is there yet. @default true */
  readonly weights?: boolean;
}

/**
 * Key in `EngineError.details`: the server of the engine was restarted and has lost what was not saved. The run
 * opens it again, and continues from its last checkpoint.
 */
export const restarted = 'restarted';

/**
 * An engine that a configuration can choose by its name. When an opened engine can no longer be
 * used, its calls reject with an `EngineError` of code `ENGINE_WORKER_DIED` (it failed) or
 * `ENGINE_CLOSED` (it was closed). These end the run even if only a sampling call reports them; a
 * sampling call that fails with another code concerns only the rollout that made it.
 */
export interface EngineFactory extends EngineFacts {
  /**
   * True if {@link open} would accept a folder, from its config.json and the headers of its weights.
   * Absent: the engine only knows once it opens the folder.
   * @throws CheckpointError, EngineError as `open` does
   */
  checkModel?(check: ModelCheck): Promise<void>;
  /**
   * @throws CheckpointError when the folder cannot be used, EngineError when the options do not fit
   * the model
   */
  open(options: EngineOptions): Promise<Engine>;
  /**
   * Present where {@link EngineCapabilities.valueHead} is true.
   * @throws CheckpointError when the folder cannot be used
   */
  openCritic?(options: CriticEngineOptions): Promise<ValueEngine>;
}
