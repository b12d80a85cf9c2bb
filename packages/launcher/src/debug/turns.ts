/**
 * Every call of the model in one attempt, as the sampler saw it: whatever way the agent asked, and
 * whether or not its answer was kept.
 */
import type { ChatFormat } from '@trinity-rft/chat';
import { describeError, type Sampler, type SampledSequence } from '@trinity-rft/core';

/** One answer of one call. */
interface TurnAnswer {
  /** With the tokens that mark structure. */
  readonly text: string;
  readonly tokens: number;
  readonly stopReason: SampledSequence['stopReason'];
  /** Names of the tools it calls, where it is written as tool calls. */
  readonly toolCalls: readonly string[];
}

/** One call of the model. Times are milliseconds since the epoch. */
export interface Turn {
  readonly begun: number;
  readonly ended: number;
  /** With the tokens that mark structure. */
  readonly prompt: string;
  readonly promptTokens: number;
  readonly answers: readonly TurnAnswer[];
  /** Version of the weights; absent when the call failed. */
  readonly policyVersion?: number;
  /** Why there is no answer. */
  readonly error?: string;
}

export interface TurnRecorder {
  readonly sampler: Sampler;
  /** Calls that have ended, in the order in which they began. */
  turns(): readonly Turn[];
}

/** @param now the clock of the turns, in milliseconds */
export function recordTurns(sampler: Sampler, format: ChatFormat, now: () => number): TurnRecorder {
  const turns: Turn[] = [];
  const answer = ({ tokens, stopReason }: SampledSequence): TurnAnswer => ({
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
    sample: async (prompt, options, signal) => {
      const asked = {
        begun: now(),
        prompt: format.tokenizer.decode(prompt),
        promptTokens: prompt.length,
      };
      try {
        const sequences = await sampler.sample(prompt, options, signal);
        const policyVersion = sequences[0]?.policyVersion;
        turns.push({
          ...asked,
          ended: now(),
          answers: sequences.map(answer),
          ...(policyVersion !== undefined && { policyVersion }),
        });
        return sequences;
      } catch (error) {
        turns.push({ ...asked, ended: now(), answers: [], error: describeError(error) });
        throw error;
      }
    },
  };
  return { sampler: recorded, turns: () => turns.toSorted((a, b) => a.begun - b.begun) };
}
