/** Records every model call of an attempt, including calls that do not become experiences. */
import type { ChatFormat } from '@trinity-rft/chat';
import { describeError, type Clock } from '@trinity-rft/core';
import type { Sampler, SampledSequence } from '@trinity-rft/core/engine';

/** One response of the model to one call. */
interface TurnAnswer {
  /** Text of the response, including special tokens. */
  readonly text: string;
  readonly tokens: number;
  readonly stopReason: SampledSequence['stopReason'];
  /** Names of the tools that the response calls, as far as the parser finds them. */
  readonly toolCalls: readonly string[];
}

/** One call of the model. Times are milliseconds since the epoch. */
export interface Turn {
  readonly start: number;
  readonly end: number;
  /** Text of the prompt, including special tokens. */
  readonly prompt: string;
  readonly promptTokens: number;
  readonly answers: readonly TurnAnswer[];
  /** Version of the weights; absent if the call failed. */
  readonly policyVersion?: number;
  /** Error of the call, if it failed. */
  readonly error?: string;
}

export interface TurnRecorder {
  readonly sampler: Sampler;
  /** Returns the calls that have ended, including failed calls, ordered by their start. */
  turns(): readonly Turn[];
}

export function recordTurns(sampler: Sampler, format: ChatFormat, clock: Clock): TurnRecorder {
  const turns: Turn[] = [];
  const answerOf = ({ tokens, stopReason }: SampledSequence): TurnAnswer => ({
    text: format.tokenizer.decode(tokens),
    tokens: tokens.length,
    stopReason,
    toolCalls: format.readTurn(tokens, { tools: true }).toolCalls.map(({ name }) => name),
  });
  const recorded: Sampler = {
    maxModelLen: sampler.maxModelLen,
    get policyVersion() {
      return sampler.policyVersion;
    },
    adopt: (source, version) => sampler.adopt(source, version),
    score: sampler.score?.bind(sampler),
    sample: async (prompt, options, signal, onTokens) => {
      const call = {
        start: clock.now(),
        prompt: format.tokenizer.decode(prompt),
        promptTokens: prompt.length,
      };
      try {
        const sequences = await sampler.sample(prompt, options, signal, onTokens);
        const end = clock.now();
        const [first] = sequences;
        const answers = sequences.map(answerOf);
        turns.push({ ...call, end, answers, policyVersion: first?.policyVersion });
        return sequences;
      } catch (error) {
        turns.push({ ...call, end: clock.now(), answers: [], error: describeError(error) });
        throw error;
      }
    },
  };
  return { sampler: recorded, turns: () => turns.toSorted((a, b) => a.start - b.start) };
}
