import { ModelError, type Clock, InvariantError, throwIfAborted } from '@trinity-rft/core';
import type {
  Sampler,
  SampledSequence,
  SamplingOptions,
  TokenListener,
} from '@trinity-rft/core/engine';

/** Reply for one choice: token ids, token ids with log-probabilities, or an error to throw. */
export type ScriptedReply =
  | ArrayLike<number>
  | { readonly tokens: ArrayLike<number>; readonly logprobs: ArrayLike<number> }
  | Error;

/**
 * Function that returns the reply for one choice. `call` is the index of the call of `sample`, and
 * `choice` is the index of the choice within the call, both from 0.
 */
type SamplerScript = (
  prompt: Int32Array,
  options: SamplingOptions,
  at: { readonly call: number; readonly choice: number },
) => ScriptedReply;

export interface ScriptedSamplerOptions {
  /**
   * Replies that are used one after the other, one per choice, or a function that returns the reply
   * for a choice.
   */
  readonly script: SamplerScript | readonly ScriptedReply[];
  /** Maximum total number of tokens in prompt and response. @default 4096 */
  readonly maxModelLen?: number;
  /** Duration of a call, in milliseconds of `clock`. @default 0 */
  readonly delayMs?: number;
  /** Clock for `delayMs`. Required if `delayMs` is set. */
  readonly clock?: Clock;
}

interface SamplerCall {
  readonly prompt: Int32Array;
  readonly options: SamplingOptions;
}

export interface ScriptedSampler extends Sampler {
  /** All calls so far, including those that were rejected or aborted. */
  readonly calls: readonly SamplerCall[];
  /** Number of calls in progress. */
  readonly inFlight: number;
}

/**
 * Creates a sampler that returns scripted tokens. Like a real sampler, it truncates replies after
 * the first stop id, or at `maxTokens` or `maxModelLen`. `adopt` only sets the policy version. A
 * log-probability that the script does not contain is -0.25. A token listener receives one token
 * per choice in each turn of the event loop.
 */
export function scriptedSampler(options: ScriptedSamplerOptions): ScriptedSampler {
  const { maxModelLen = 4096, delayMs = 0 } = options;
  const reply = readerOf(options.script);
  const calls: SamplerCall[] = [];
  let policyVersion = -1;
  let inFlight = 0;

  const answer = async (
    prompt: Int32Array,
    settings: SamplingOptions,
    signal?: AbortSignal,
  ): Promise<readonly SampledSequence[]> => {
    const call = calls.push({ prompt: prompt.slice(), options: settings }) - 1;
    const version = policyVersion;
    throwIfAborted(signal);
    if (prompt.length >= maxModelLen) throw tooLong(prompt.length, maxModelLen);
    if (delayMs > 0)
      await clockOf(options)
        .sleep(delayMs, signal)
        .catch(() => undefined);
    else await Promise.resolve();
    throwIfAborted(signal);
    return Array.from({ length: settings.n ?? 1 }, (_, choice) =>
      toSequence(
        reply(prompt, settings, { call, choice }),
        settings,
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
    sample: async (prompt, settings, signal, onTokens) => {
      inFlight++;
      try {
        const sequences = await answer(prompt, settings, signal);
        if (onTokens) await reportTokens(sequences, onTokens, signal);
        return sequences;
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

async function reportTokens(
  sequences: readonly SampledSequence[],
  onTokens: TokenListener,
  signal: AbortSignal | undefined,
): Promise<void> {
  const length = Math.max(...sequences.map(({ tokens }) => tokens.length));
  for (let at = 0; at < length; at++) {
    for (const [choice, { tokens }] of sequences.entries())
      if (at < tokens.length) onTokens(choice, [...tokens.subarray(at, at + 1)]);
    await new Promise((resolve) => setImmediate(resolve));
    throwIfAborted(signal);
  }
}

function readerOf(script: ScriptedSamplerOptions['script']): SamplerScript {
  if (typeof script === 'function') return script;
  let used = 0;
  return () => {
    const reply = script[used++];
    if (reply === undefined)
      throw new InvariantError(
        `The scripted sampler needs reply ${used}, but its script has only ${script.length}. ` +
          'Add replies, or find the superfluous call.',
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

function tooLong(length: number, maxModelLen: number): ModelError {
  return new ModelError(
    `The prompt has ${length} tokens and the model's limit for prompt and response is ` +
      `${maxModelLen}. Shorten the prompt.`,
    { code: 'PROMPT_TOO_LONG', status: 400 },
  );
}
