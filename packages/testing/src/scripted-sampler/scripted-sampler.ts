/** A sampler that answers from a script: which tokens come back is the test's decision. */
import {
  CancelledError,
  InvariantError,
  ModelError,
  type Clock,
  type SampledSequence,
  type Sampler,
  type SamplingOptions,
} from '@trinity-rft/core';

/**
 * What to answer for one choice: token ids, ids with their log-probabilities, or an error to throw.
 */
export type ScriptedReply =
  | ArrayLike<number>
  | { readonly tokens: ArrayLike<number>; readonly logprobs: ArrayLike<number> }
  | Error;

/** `call` counts the calls of `sample` from 0, `choice` goes from 0 to `n - 1`. */
export type SamplerScript = (
  prompt: Int32Array,
  options: SamplingOptions,
  at: { readonly call: number; readonly choice: number },
) => ScriptedReply;

export interface ScriptedSamplerOptions {
  /** A list is used up one reply per choice, in call order; a function is asked. */
  readonly script: SamplerScript | readonly ScriptedReply[];
  /** @default 4096 */
  readonly maxModelLen?: number;
  /** Time that a call takes on `clock`. @default 0 */
  readonly delayMs?: number;
  /** Needed with `delayMs`. */
  readonly clock?: Clock;
}

export interface SamplerCall {
  readonly prompt: Int32Array;
  readonly options: SamplingOptions;
}

export interface ScriptedSampler extends Sampler {
  /** Every call so far, those that were refused or aborted included. */
  readonly calls: readonly SamplerCall[];
  /** Calls that have begun and not ended. */
  readonly inFlight: number;
}

/**
 * Replies end where a real sampler would end them: after the first stop id, or at `maxTokens`.
 * `adopt` only sets the version. Log-probabilities that the script does not give are -0.25 for
 * every token.
 */
export function scriptedSampler(options: ScriptedSamplerOptions): ScriptedSampler {
  const { maxModelLen = 4096, delayMs = 0 } = options;
  const reply = readerOf(options.script);
  const calls: SamplerCall[] = [];
  let policyVersion = -1;
  let inFlight = 0;

  const answer = async (
    prompt: Int32Array,
    wanted: SamplingOptions,
    signal?: AbortSignal,
  ): Promise<readonly SampledSequence[]> => {
    const call = calls.push({ prompt: prompt.slice(), options: wanted }) - 1;
    const version = policyVersion;
    throwIfAborted(signal);
    if (prompt.length >= maxModelLen) throw tooLong(prompt.length, maxModelLen);
    await (delayMs > 0
      ? clockOf(options)
          .sleep(delayMs, signal)
          .catch(() => undefined)
      : Promise.resolve());
    throwIfAborted(signal);
    return Array.from({ length: wanted.n ?? 1 }, (_, choice) =>
      toSequence(
        reply(prompt, wanted, { call, choice }),
        wanted,
        maxModelLen - prompt.length,
        version,
      ),
    );
  };

  return {
    maxModelLen,
    calls,
    get policyVersion() {
      return policyVersion;
    },
    get inFlight() {
      return inFlight;
    },
    sample: async (prompt, wanted, signal) => {
      inFlight++;
      try {
        return await answer(prompt, wanted, signal);
      } finally {
        inFlight--;
      }
    },
    adopt: (_source, version) => {
      policyVersion = version;
      return Promise.resolve();
    },
  };
}

function readerOf(script: ScriptedSamplerOptions['script']): SamplerScript {
  if (typeof script === 'function') return script;
  let used = 0;
  return () => {
    const reply = script[used++];
    if (reply === undefined)
      throw new InvariantError(
        `The scripted sampler was asked for reply ${used}; its script has ${script.length}. Add replies, or find out who calls too often.`,
      );
    return reply;
  };
}

function toSequence(
  reply: ScriptedReply,
  options: SamplingOptions,
  room: number,
  policyVersion: number,
): SampledSequence {
  if (reply instanceof Error) throw reply;
  const given =
    'tokens' in reply
      ? reply
      : { tokens: reply, logprobs: Array.from({ length: reply.length }, () => -0.25) };
  const stopAt = Array.from(given.tokens).findIndex(
    (token) => options.stopTokenIds?.includes(token) ?? false,
  );
  const scripted = stopAt < 0 ? given.tokens.length : stopAt + 1;
  const length = Math.min(scripted, options.maxTokens, room);
  return {
    tokens: Int32Array.from(given.tokens).slice(0, length),
    logprobs: Float32Array.from(given.logprobs).slice(0, length),
    stopReason: length < scripted ? 'length' : 'stop',
    policyVersion,
  };
}

function clockOf(options: ScriptedSamplerOptions): Clock {
  if (!options.clock)
    throw new InvariantError(
      'A scripted sampler with delayMs needs a clock: pass `clock: manualClock()`.',
    );
  return options.clock;
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted)
    throw new CancelledError('Sampling was aborted by its caller.', {
      code: 'SAMPLE_ABORTED',
      reason: 'aborted',
      cause: signal.reason,
    });
}

function tooLong(length: number, maxModelLen: number): ModelError {
  return new ModelError(
    `The prompt has ${length} tokens and the model's limit for prompt and response is ${maxModelLen}. Shorten the prompt.`,
    { code: 'PROMPT_TOO_LONG', status: 400 },
  );
}
