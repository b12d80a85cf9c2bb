/**
 * Interfaces of engines. An engine handles token ids and weights only. The operations are those of
 * the Tinker API, so that remote engines can replace the embedded one without changes to the
 * trainer.
 */
import type { Metrics } from './metrics.js';
import type { DeliveryProbe } from './run-store.js';
import type { Clock, Logger } from './runtime.js';

/** One sequence to score: prompt and response. The response is `tokens[promptLength..]`. */
export interface TokenRow {
  readonly tokens: Int32Array;
  readonly promptLength: number;
  /**
   * Temperature that divides the logits before the softmax. Equal to the sampling temperature, so
   * that importance ratios start at 1.
   */
  readonly temperature: number;
}

/**
 * Rows that may differ in length. The engine packs them into micro-batches that fit its memory
 * budget.
 */
export interface TokenBatch {
  readonly rows: readonly TokenRow[];
}

/**
 * Log-probabilities and related values for every response token of a batch. Rows are concatenated:
 * row i occupies `[offsets[i], offsets[i + 1])`. N is the number of response tokens of the whole
 * batch.
 */
export interface ForwardPass {
  readonly batch: TokenBatch;
  /** Index of the first token of each row in the flat arrays; the last entry is N. [B + 1] */
  readonly offsets: Int32Array;
  /** Natural-log probability of each response token. [N] */
  readonly logprobs: Float32Array;
  /**
   * Entropy (nats) of the distribution that each response token was sampled from, if requested. [N]
   */
  readonly entropy?: Float32Array;
  /**
   * Expected value of p (H + log p), which is H * sum(p^2) + sum(p^2 log p), where p is the
   * distribution that each response token was sampled from and H is its entropy in nats. Undefined
   * unless requested. [N]
   */
  readonly necs?: Float32Array;
}

/**
 * A loss that is a sum over response tokens, in the layout of {@link ForwardPass}. With p the
 * current log-probability and r = exp(p - oldLogprobs), the loss of a token is
 * - `linear`: -A p
 * - `importance_sampling`: -A r
 * - `ppo`: -min(A r, A clip(r, low, high))
 * - `cispo`: -A clip(r, low, high) p, with the clipped ratio as a constant
 */
export interface ExpectedLoss {
  readonly name: 'linear' | 'importance_sampling' | 'ppo' | 'cispo';
  /**
   * Advantage A of each token, multiplied by the token's weight in the batch; 0 = not trained on.
   * [N]
   */
  readonly advantages: Float32Array;
  /** Log-probability of each token when it was sampled. [N] */
  readonly oldLogprobs: Float32Array;
  /** Lower and upper bound of the ratio; for `ppo` and `cispo` only. */
  readonly low?: number;
  readonly high?: number;
}

export interface ForwardOptions {
  /** `reference`: the weights that the engine was opened with, frozen. @default "current" */
  readonly weights?: 'current' | 'reference';
  /** True to compute {@link ForwardPass.entropy}. @default false */
  readonly entropy?: boolean;
  /**
   * True to compute {@link ForwardPass.necs}; requires `EngineCapabilities.necs`.
   * @default false
   */
  readonly necs?: boolean;
}

/**
 * Gradients of the loss with respect to log-probabilities and entropies, in the layout of {@link
 * ForwardPass}. The engine skips rows whose gradients are all 0.
 */
export interface TokenGradients {
  /** Derivative of the loss with respect to each token's log-probability. [N] */
  readonly logprobs: Float32Array;
  /**
   * Derivative of the loss with respect to each token's entropy. Used only if
   * `EngineCapabilities.entropyGradient` is `exact`. [N]
   */
  readonly entropy?: Float32Array;
}

export interface OptimizerOptions {
  readonly learningRate: number;
  /** Decay rates of AdamW's two moments. @default [0.9, 0.999] */
  readonly betas?: readonly [number, number];
  /** Term in AdamW's denominator that avoids division by 0. @default 1e-8 */
  readonly epsilon?: number;
  /** Decoupled weight decay, applied to matrices only. @default 0.01 */
  readonly weightDecay?: number;
  /**
   * Maximum global norm of the gradient, to which larger gradients are scaled down; 0 = no
   * clipping.
   * @default 1
   */
  readonly clipGradNorm?: number;
}

export interface StepStats {
  /** Number of optimizer updates so far, including this one. */
  readonly step: number;
  /** Global L2 norm before clipping. */
  readonly gradNorm: number;
  /**
   * True if the gradient was not finite. The update was then skipped: weights and moments are
   * unchanged.
   */
  readonly skipped: boolean;
}

/** The training part of an engine. Callers must wait for each call before they make the next. */
export interface TrainEngine {
  forward(batch: TokenBatch, options?: ForwardOptions): Promise<ForwardPass>;
  /**
   * Computes {@link forward} for a loss that is known beforehand. An engine that can compute this
   * loss accumulates its gradient in the same pass. {@link backward} still receives the full
   * gradient and adds only the difference. Absent if one pass would not be faster.
   */
  forwardBackward?(batch: TokenBatch, expected: ExpectedLoss): Promise<ForwardPass>;
  /**
   * Returns true if {@link forward} would compute exactly the log-probabilities that this engine's
   * sampler reported for the response at the end of `tokens`. This requires that the response was
   * sampled from version `policyVersion` with no option other than the temperature, and that the
   * weights have not changed since.
   * @default always false
   */
  hasExactLogprobs?(tokens: Int32Array, policyVersion: number): boolean;
  /** Adds the gradient of a batch to the accumulated gradient. */
  backward(pass: ForwardPass, gradients: TokenGradients): Promise<void>;
  /** Makes one AdamW update from the accumulated gradient, and clears the gradient. */
  step(options: OptimizerOptions): Promise<StepStats>;
  /**
   * Makes the current weights available to the sampler as `version`. Later steps do not change
   * published weights.
   */
  publish(version: number): Promise<void>;
  /**
   * Writes a Hugging Face model folder to `directory`; with `optimizer`, also moments and counters.
   */
  save(directory: string, options: SaveOptions): Promise<void>;
  /**
   * Loads a folder that {@link save} has written. Without optimizer files, the moments start at 0.
   */
  load(directory: string): Promise<void>;
  /**
   * Deletes what {@link save} stored outside the folder, such as weights on a server. Called before
   * the folder is deleted. If this fails, logs the failure and does not reject. Absent if folders
   * contain everything.
   */
  discard?(directory: string): Promise<void>;
  /**
   * Returns memory and timing metrics for the monitor (`perf/...`). Timings cover the period since
   * the last call.
   */
  stats(): Promise<Metrics>;
}

interface SaveOptions {
  /** True to save the moments too, so that training can continue from the folder. */
  readonly optimizer: boolean;
  /**
   * For adapters only: true to also save the whole model, with the adapters merged into it. If
   * false, the folder can only be loaded together with its base model. If the moments are not saved
   * either, only samplers can load the folder.
   * @default true
   */
  readonly merged?: boolean;
}

export interface SamplingOptions {
  /** Number of choices. The prompt is prefilled once for all of them. @default 1 */
  readonly n?: number;
  /** Sampling temperature; 0 = greedy. @default 1 */
  readonly temperature?: number;
  /**
   * Nucleus sampling: samples only from the most likely tokens whose probabilities add up to this
   * value.
   * @default 1
   */
  readonly topP?: number;
  /** Number of most likely tokens that can be sampled; -1 = all. @default -1 */
  readonly topK?: number;
  readonly maxTokens: number;
  /** Minimum number of tokens before a stop id can be sampled. @default 0 */
  readonly minTokens?: number;
  readonly stopTokenIds?: readonly number[];
  /** Stop strings. The response ends with, and includes, the first one that occurs. */
  readonly stop?: readonly string[];
  /**
   * Random seed of 32 bits. Choice k draws from the stream (seed, k), independent of other calls.
   */
  readonly seed: number;
  /** Number of most likely tokens to report per position. @default 0 */
  readonly topLogprobs?: number;
  /**
   * Grammar that the response must match. A stop token can be sampled only where the response is
   * complete.
   * @default any text
   */
  readonly grammar?: TextGrammar;
}

/**
 * Grammar of a response, as plain data: a context-free grammar over UTF-8 bytes. Rule 0 is the
 * start symbol. A rule is a list of alternatives. An alternative is a list of symbols. A symbol is
 * the number of a rule, or the ranges of one byte: `[from, to, from, to ...]`. In ranges, 256 + i
 * is the token `controlTokenIds[i]`.
 */
export interface TextGrammar {
  readonly rules: readonly (readonly (readonly GrammarSymbol[])[])[];
  /** Tokens that are allowed only where a rule names them, even if their bytes match. */
  readonly controlTokenIds: readonly number[];
}

export type GrammarSymbol = number | readonly number[];

export type SampleStop = 'stop' | 'length';

export interface TokenLogprob {
  readonly token: number;
  readonly logprob: number;
}

export interface SampledSequence {
  /** Sampled ids, including the stop id if one was sampled. [R] */
  readonly tokens: Int32Array;
  /**
   * Log-probabilities under the distribution that was sampled from, after temperature, top-p, top-k
   * and grammar. [R]
   */
  readonly logprobs: Float32Array;
  readonly stopReason: SampleStop;
  /**
   * Stop string that ended the response; undefined if none did. If the last token completes
   * several, the first of them.
   */
  readonly stopString?: string;
  readonly topLogprobs?: readonly (readonly TokenLogprob[])[];
  /**
   * Version of the weights from which the tokens were sampled; the oldest one if `versions` lists
   * several.
   */
  readonly policyVersion: number;
  /**
   * Versions of the weights from which the tokens were sampled, in order. Present if the weights
   * changed during the response.
   * @default undefined: `policyVersion` for all tokens
   */
  readonly versions?: readonly VersionSpan[];
}

/** The tokens from `start` to `end` (exclusive), which were sampled from weights of one version. */
export interface VersionSpan {
  readonly start: number;
  readonly end: number;
  readonly policyVersion: number;
}

/**
 * Receives the tokens of a choice that were sampled since the last call for this choice, in order.
 */
export type TokenListener = (choice: number, tokens: readonly number[]) => void;

/** The sampling part of an engine. */
export interface Sampler {
  /**
   * Samples `options.n` continuations of a prompt.
   * @throws ModelError 400 when the prompt leaves no room; CancelledError on abort
   */
  sample(
    prompt: Int32Array,
    options: SamplingOptions,
    signal?: AbortSignal,
    /**
     * Receives tokens while they are sampled. Engines that cannot report tokens early do not call
     * it.
     */
    onTokens?: TokenListener,
  ): Promise<readonly SampledSequence[]>;
  /** Version of the weights in use; -1 before the first {@link adopt}. */
  readonly policyVersion: number;
  /**
   * Switches to published weights, or to the weights of a checkpoint folder, and numbers them
   * `version`. Later sequences use the new weights. Sequences in flight finish with the weights
   * that they began with, unless the sampler was opened with `inFlight: 'continue'`. Such sequences
   * report their versions in `SampledSequence.versions`.
   */
  adopt(source: WeightSource, version: number): Promise<void>;
  /** Maximum number of tokens in prompt and response together. */
  readonly maxModelLen: number;
  /**
   * Returns the log-probability of each response token of `row`, under the weights in use and at
   * the row's temperature. [R] Absent if the engine cannot score text that it has not sampled.
   */
  score?(row: TokenRow, signal?: AbortSignal): Promise<Float32Array>;
}

export type WeightSource =
  | { readonly kind: 'published' }
  | {
      readonly kind: 'checkpoint';
      readonly directory: string;
      /**
       * Text with reference log-probabilities. A {@link RemoteSampler} refuses weights that give
       * this text other log-probabilities.
       */
      readonly probe?: DeliveryProbe;
    };

/**
 * Capabilities of an engine. A configuration is rejected if its algorithm needs a capability that
 * is missing here.
 */
export interface EngineCapabilities {
  readonly entropyGradient: 'exact' | 'none';
  /** True if the engine computes `ForwardPass.entropy`. */
  readonly entropy: boolean;
  /** True if the trainer scores at any temperature; false if only at temperature 1. */
  readonly anyTemperature: boolean;
  /** True if `minTokens`, `topLogprobs` and `grammar` of `SamplingOptions` are supported. */
  readonly samplingControls: boolean;
  /** True if the engine computes `ForwardPass.necs`. */
  readonly necs: boolean;
  readonly valueHead: boolean;
  readonly fullParameter: boolean;
  readonly lora: boolean;
  /** True if {@link EngineOptions.quantization} is supported. @default false */
  readonly quantization?: boolean;
  /**
   * Section of the configuration with the model settings of this engine, such as `model.tinker`. It
   * replaces the usual model settings.
   */
  readonly modelSection?: string;
  readonly referenceModel: boolean;
  /** True if samplers have `Sampler.score`. @default true */
  readonly scoresText?: boolean;
}

/** Result of {@link ValueEngine.forward} for a batch. */
export interface ValuePass {
  readonly batch: TokenBatch;
  /** Index of the first token of each row in the flat arrays; the last entry is N. [B + 1] */
  readonly offsets: Int32Array;
  /**
   * Value of the state in which each response token was sampled, read at the position before the
   * token. [N]
   */
  readonly values: Float32Array;
}

/**
 * A critic: a separate model that returns one value per position instead of a distribution over
 * tokens. Callers must wait for each call before they make the next.
 */
export interface ValueEngine {
  forward(batch: TokenBatch): Promise<ValuePass>;
  /**
   * Adds the gradient of a batch to the accumulated gradient.
   * @param gradients derivative of the loss with respect to each value. [N]
   */
  backward(pass: ValuePass, gradients: Float32Array): Promise<void>;
  /** Makes one AdamW update from the accumulated gradient, and clears the gradient. */
  step(options: OptimizerOptions): Promise<StepStats>;
  /**
   * Writes the critic to `directory` as a Hugging Face folder (token classification with one
   * label). If `optimizer` is true, also writes moments and counters.
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

/** Facts about an engine before it is opened. Reading them loads no native code. */
export interface EngineFacts {
  /** Name of the engine in `trainer_type` and `engine_type` of a configuration. */
  readonly name: string;
  readonly capabilities: EngineCapabilities;
}

/** URL of an inference server, and the API key that it requires. */
export interface ServerAddress {
  /** URL without `/v1`. */
  readonly url: string;
  readonly apiKey?: string;
}

/** Sample of a tokenizer's results. The tokenizers of other programs must give the same results. */
export interface VocabularySample {
  /**
   * Texts with their ids, which exclude special tokens that the tokenizer adds around every text.
   */
  readonly texts: readonly { readonly text: string; readonly ids: readonly number[] }[];
  /** Some ids and their texts, including the last id of the vocabulary. */
  readonly tokens: readonly { readonly id: number; readonly text: string }[];
  readonly decode: (ids: readonly number[]) => string;
}

/** Options of {@link SamplerFactory.open}. */
export interface SamplerOptions {
  /** Hugging Face folder of the served model; only its config.json is read. */
  readonly modelPath: string;
  readonly servers: readonly ServerAddress[];
  /**
   * True to adopt LoRA adapters, which are added to the served model.
   * @default false: adopted weights replace those of the served model
   */
  readonly lora?: boolean;
  /**
   * Maximum number of tokens in prompt and response together. @default the smallest limit of the
   * servers
   */
  readonly maxModelLen?: number;
  /**
   * Sample of the tokenizer's results. A server whose tokenizer gives other results is refused.
   * @default tokenizers are not compared
   */
  readonly vocabulary?: VocabularySample;
  /**
   * Treatment of sequences in flight when new weights are adopted: they finish with the old
   * weights, or continue with the new ones.
   * @default "finish"
   */
  readonly inFlight?: 'finish' | 'continue';
  /**
   * Maximum mean difference, in nats, between the log-probabilities of the same text in the trainer
   * and in a server.
   */
  readonly tolerance: number;
  /** Time limit of one call in ms, including the time that it waits. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Signal that ends the wait for servers that have not started yet. @default no signal */
  readonly signal?: AbortSignal;
}

/**
 * A sampler that runs on the servers of other programs. It adopts weights from folders, which the
 * servers must be able to read. A folder must not be moved or deleted while its weights are in use.
 */
export interface RemoteSampler extends Sampler {
  close(): Promise<void>;
}

/**
 * Creates samplers that a configuration can choose by name instead of the training engine's own
 * sampler.
 */
export interface SamplerFactory {
  /** Name of the sampler in `engine_type` of a configuration. */
  readonly name: string;
  readonly capabilities: SamplerCapabilities;
  /**
   * Opens a sampler that uses the given servers.
   * @throws ConfigError when no server responds, or a server was started with options that do not
   * fit
   */
  open(options: SamplerOptions): Promise<RemoteSampler>;
}

export interface SamplerCapabilities {
  /** True if `SamplingOptions.grammar` is supported. */
  readonly grammar: boolean;
}

/**
 * LoRA adapters to train: the adapters of a PEFT folder, or new adapters, which initially do not
 * change the model.
 */
export type AdapterOptions =
  | { readonly path: string }
  | {
      readonly path?: undefined;
      readonly rank: number;
      readonly alpha: number;
      /**
       * Modules to which adapters are added: names without their path, such as `q_proj`, or all
       * linear layers except the output layer.
       */
      readonly targetModules: 'all-linear' | readonly string[];
    };

/**
 * Format of frozen quantised weights. `int8` and `int4`: blocks of integers, to which the weights
 * are rounded when they are loaded. `file`: the blocks of a quantised GGUF file, unchanged.
 */
export type Quantization = 'int8' | 'int4' | 'file';

/** Options of {@link EngineFactory.openCritic}. */
export interface CriticEngineOptions {
  /** A Hugging Face model folder. */
  readonly modelPath: string;
  /** Number of CPU threads. @default chosen by the engine */
  readonly threads?: number;
  /**
   * Memory for the activations of one forward and backward pass, in MiB.
   * @default chosen by the engine
   */
  readonly memoryBudgetMb?: number;
}

/** Options of {@link EngineFactory.open}. */
export interface EngineOptions extends CriticEngineOptions {
  /** True to keep the initial weights as a frozen reference. @default false */
  readonly reference?: boolean;
  /** Maximum number of tokens in prompt and response together. @default the model's own limit */
  readonly maxModelLen?: number;
  /** Byte string of each token id; required for stop strings and grammars. @default empty */
  readonly tokenBytes?: readonly Uint8Array[];
  /** Adapters to train instead of the weights. @default no adapters */
  readonly lora?: AdapterOptions | undefined;
  /**
   * Format of the frozen base weights that the adapters are added to. Requires {@link lora}.
   * Sampling, log-probabilities and gradients all use the quantised weights.
   * @default floating-point numbers
   */
  readonly quantization?: Quantization;
  /**
   * Device on which the embedded engine computes.
   * @default 'cpu'
   */
  readonly device?: 'cpu' | 'webgpu';
  /**
   * True to favour low latency of sampling during training, even if train steps take longer.
   * @default false
   */
  readonly interactive?: boolean;
  /** Seed of random initial values, such as those of new adapters. @default 0 */
  readonly seed?: number;
  /**
   * Settings that are specific to this engine, such as the URL of its server.
   * @default no settings
   */
  readonly settings?: object;
  /** Destination of log output. @default no log output */
  readonly logger?: Logger;
  /**
   * Signal that aborts when the training run stops. `open` then rejects, and the engine no longer
   * waits for servers that do not respond. Other work in progress continues.
   * @default no signal
   */
  readonly signal?: AbortSignal;
}

/** The subset of {@link EngineOptions} that affects the speed of a train step on a device. */
export type DeviceModel = Pick<
  EngineOptions,
  'modelPath' | 'threads' | 'memoryBudgetMb' | 'maxModelLen' | 'lora' | 'quantization'
>;

/** Options of {@link EngineFactory.chooseDevice}. */
export interface DeviceQuestion extends DeviceModel {
  /** True to measure the devices for which no measurements are stored. */
  readonly measure: boolean;
  /** Called with each line of progress. */
  readonly report: (line: string) => void;
  /** Ends the measurement; the call then rejects with the signal's reason. @default no signal */
  readonly signal?: AbortSignal;
}

/** Result of {@link EngineFactory.chooseDevice}. */
export interface DeviceChoice {
  /** The chosen device; undefined if the devices have not been measured yet. */
  readonly device: EngineOptions['device'];
  /** Reason for the choice, in full sentences. */
  readonly why: string;
}

/** Options of {@link EngineFactory.checkModel}. */
export interface ModelCheck extends Pick<EngineOptions, 'modelPath' | 'maxModelLen' | 'device'> {
  /**
   * True if the folder contains weights; false if it only contains config.json so far.
   * @default true
   */
  readonly weights?: boolean;
}

/**
 * Key in `EngineError.details`. It is set if the engine's server was restarted, or may have been,
 * and all unsaved state is lost. The training run then opens the engine again and continues from
 * its last checkpoint.
 */
export const serverRestartedKey = 'restarted';

/**
 * An engine that a configuration can choose by name. When an opened engine can no longer be used,
 * its calls reject with an `EngineError` of code `ENGINE_WORKER_DIED` (the engine failed) or
 * `ENGINE_CLOSED` (the engine was closed). These two codes end the training run, even if only a
 * sampling call reports them. A sampling call that fails with another code affects only its own
 * rollout.
 */
export interface EngineFactory extends EngineFacts {
  /**
   * Checks that {@link open} would accept a folder. Reads only its config.json and the headers of
   * its weights. Absent if the engine can check a folder only by opening it.
   * @throws CheckpointError, EngineError as `open` does
   */
  checkModel?(check: ModelCheck): Promise<void>;
  /**
   * Chooses the device for a model. Measures a train step of the model on each device, compares the
   * results and the speed, and stores the measurements. If a measurement fails, chooses the CPU and
   * states the reason. Absent if the engine has only one device.
   */
  chooseDevice?(question: DeviceQuestion): Promise<DeviceChoice>;
  /**
   * Opens the model folder `options.modelPath`.
   * @throws CheckpointError when the folder cannot be used, EngineError when the options do not fit
   * the model
   */
  open(options: EngineOptions): Promise<Engine>;
  /**
   * Opens a critic. Present if {@link EngineCapabilities.valueHead} is true.
   * @throws CheckpointError when the folder cannot be used
   */
  openCritic?(options: CriticEngineOptions): Promise<ValueEngine>;
}
