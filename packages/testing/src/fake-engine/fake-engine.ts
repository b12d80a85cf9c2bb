/**
 * A small, exact engine: a bigram softmax model in float64 with real gradients, AdamW, published
 * weights and checkpoints. It learns in milliseconds, but its predictions depend only on the
 * previous token.
 */
import {
  ConfigError,
  ModelError,
  type Clock,
  EngineError,
  throwIfAborted,
} from '@trinity-rft/core';
import type { Engine, Sampler, TrainEngine, TokenRow } from '@trinity-rft/core/engine';
import { adamStep, createAdamState } from './adamw.js';
import { assertTokens, createBigram, type Bigram } from './bigram.js';
import { loadFolder, saveFolder } from './checkpoint.js';
import { createFailures, type Failures } from './failures.js';
import { sampleChoice } from './sampling.js';
import { backwardPass, forwardPass } from './trainer.js';

export interface FakeEngineOptions {
  /** Number of token ids, V. The model needs memory for V * V weights. @default 16 */
  readonly vocabSize?: number;
  /** Seed for the initial logits. @default 0 */
  readonly seed?: number;
  /** Standard deviation of the initial logits. @default 0.5 */
  readonly scale?: number;
  /** Maximum total number of tokens in prompt and response. @default 1024 */
  readonly maxModelLen?: number;
  /** Function that decodes token ids, for stop strings. @default ids are decoded as code points */
  readonly decode?: (tokens: readonly number[]) => string;
  /** Duration of a call of `sample`, in milliseconds of `clock`. @default 0 */
  readonly sampleMs?: number;
  /** Clock for `sampleMs`. Required if `sampleMs` is set. */
  readonly clock?: Clock;
}

type FakeEngineVerb = Exclude<keyof TrainEngine, 'stats'> | 'sample' | 'adopt' | 'score';

export interface FakeEngine extends Engine {
  /** Returns a copy of the current logits as a row-major matrix. [V, V] */
  weights(): Float64Array;
  /** Makes the next call of the method `verb` reject with `error`, without any other effect. */
  failNext(verb: FakeEngineVerb, error: Error): void;
}

interface State {
  readonly options: FakeEngineOptions;
  readonly failures: Failures<FakeEngineVerb>;
  readonly reference: Bigram;
  readonly gradient: Float64Array;
  current: Bigram;
  optimizer: ReturnType<typeof createAdamState>;
  published: { readonly version: number; readonly model: Bigram } | undefined;
  serving: { readonly version: number; readonly model: Bigram };
}

/** Creates a {@link fakeEngine}. If `folder` is given, loads the weights that were saved there. */
export async function openFakeEngine(
  folder: string | undefined,
  options: FakeEngineOptions = {},
): Promise<FakeEngine> {
  const initial = initialModel(options);
  if (folder === undefined) return engineOf(initial, -1, options);
  const { weights } = await loadFolder(folder, initial.weights.length);
  return engineOf({ ...initial, weights }, 0, options);
}

/** Creates an engine with a bigram model, a table of logits, whose gradients are exact. */
export const fakeEngine = (options: FakeEngineOptions = {}): FakeEngine =>
  engineOf(initialModel(options), -1, options);

const initialModel = ({ vocabSize = 16, seed = 0, scale = 0.5 }: FakeEngineOptions): Bigram =>
  createBigram(vocabSize, seed, scale);

function engineOf(initial: Bigram, version: number, options: FakeEngineOptions): FakeEngine {
  const state: State = {
    options,
    failures: createFailures(),
    reference: copyOf(initial),
    gradient: new Float64Array(initial.weights.length),
    current: initial,
    optimizer: createAdamState(initial.weights.length),
    published: undefined,
    serving: { version, model: copyOf(initial) },
  };
  return {
    capabilities: {
      entropyGradient: 'exact',
      entropy: true,
      anyTemperature: true,
      samplingControls: true,
      necs: true,
      valueHead: true,
      fullParameter: true,
      lora: false,
      referenceModel: true,
    },
    trainer: trainerOf(state),
    sampler: samplerOf(state),
    close: () => {
      state.failures.close();
      return Promise.resolve();
    },
    weights: () => state.current.weights.slice(),
    failNext: (verb, error) => state.failures.failNext(verb, error),
  };
}

function trainerOf(state: State): TrainEngine {
  return {
    forward: async (batch, options = {}) => {
      state.failures.enter('forward');
      return forwardPass(
        options.weights === 'reference' ? state.reference : state.current,
        batch,
        options,
      );
    },
    backward: async (pass, gradients) => {
      state.failures.enter('backward');
      backwardPass(state.current, pass, gradients, state.gradient);
    },
    step: async (options) => {
      state.failures.enter('step');
      const stats = adamStep(state.current.weights, state.gradient, state.optimizer, options);
      state.gradient.fill(0);
      return stats;
    },
    publish: async (version) => {
      state.failures.enter('publish');
      state.published = { version, model: copyOf(state.current) };
    },
    save: async (directory, { optimizer }) => {
      state.failures.enter('save');
      const model = { modelType: 'fake_bigram', ...copyOf(state.current) } as const;
      await saveFolder(directory, model, optimizer ? state.optimizer : undefined);
    },
    load: async (directory) => {
      state.failures.enter('load');
      const { weights, optimizer } = await loadFolder(directory, state.current.weights.length);
      state.current = { ...state.current, weights };
      state.optimizer = optimizer ?? createAdamState(weights.length);
      state.gradient.fill(0);
    },
    stats: async () => ({ 'perf/parameters': state.current.weights.length }),
  };
}

/**
 * Creates the sampler.
 * @throws ConfigError if `sampleMs` is set without a clock
 */
function samplerOf(state: State): Sampler {
  const {
    maxModelLen = 1024,
    sampleMs = 0,
    clock,
    decode = (tokens) => String.fromCodePoint(...tokens),
  } = state.options;
  if (sampleMs > 0 && clock === undefined)
    throw new ConfigError(
      'sampleMs of a fake engine needs a clock. Give it clock, such as manualClock().',
      {
        code: 'FAKE_ENGINE_OPTIONS',
      },
    );
  return {
    maxModelLen,
    get policyVersion() {
      return state.serving.version;
    },
    sample: async (prompt, options, signal) => {
      state.failures.enter('sample');
      const { model, version } = state.serving;
      assertPrompt(model, prompt, maxModelLen);
      throwIfAborted(signal);
      if (sampleMs > 0) await clock?.sleep(sampleMs, signal).catch(() => undefined);
      const tick = async (): Promise<void> => {
        await Promise.resolve();
        throwIfAborted(signal);
      };
      const run = { room: maxModelLen - prompt.length, policyVersion: version, decode, tick };
      return Promise.all(
        Array.from({ length: options.n ?? 1 }, (_, choice) =>
          sampleChoice(model, prompt, options, { ...run, choice }),
        ),
      );
    },
    adopt: async (source, version) => {
      state.failures.enter('adopt');
      if (source.kind === 'checkpoint') {
        const { weights } = await loadFolder(source.directory, state.current.weights.length);
        state.serving = { version, model: { ...state.current, weights } };
        return;
      }
      if (!state.published)
        throw new EngineError(
          `Version ${version} cannot be adopted, because nothing was published. ` +
            'Call trainer.publish first.',
          { code: 'NOT_PUBLISHED' },
        );
      state.serving = { version, model: state.published.model };
    },
    score: async (row, signal) => {
      state.failures.enter('score');
      throwIfAborted(signal);
      return scores(state.serving.model, row, maxModelLen);
    },
  };
}

/**
 * Returns the log-probabilities of the response tokens of a row.
 * @throws ModelError with status 400 if the row is invalid
 */
function scores(model: Bigram, row: TokenRow, maxModelLen: number): Float32Array {
  if (row.tokens.length > maxModelLen || row.promptLength >= maxModelLen) {
    throw new ModelError(
      `The row has ${row.tokens.length} tokens, ${row.promptLength} of them the prompt; ` +
        `expected at most ${maxModelLen} with room for a response.`,
      { code: 'PROMPT_TOO_LONG', status: 400 },
    );
  }
  try {
    return forwardPass(model, { rows: [row] }, {}).logprobs;
  } catch (cause) {
    throw new ModelError('The row is invalid; see the cause.', {
      code: 'invalid_row',
      status: 400,
      cause,
    });
  }
}

function assertPrompt(model: Bigram, prompt: Int32Array, maxModelLen: number): void {
  if (prompt.length < 1 || prompt.length >= maxModelLen) {
    throw new ModelError(
      `The prompt has ${prompt.length} tokens; ` +
        `expected 1 to ${maxModelLen - 1}, to leave room for a response.`,
      { code: 'PROMPT_TOO_LONG', status: 400 },
    );
  }
  assertTokens(model.vocabSize, prompt, 'The prompt');
}

const copyOf = (model: Bigram): Bigram => ({ ...model, weights: model.weights.slice() });
