/** Recorded calls, and the experiences they become. */
import type { Fork } from '@trinity-rft/chat';
import {
  assertAligned,
  emptyEid,
  WorkflowError,
  type ChatResponse,
  type Experience,
} from '@trinity-rft/core';

/** One choice of one call. */
export interface RecordedChoice {
  readonly callIndex: number;
  readonly choice: number;
  readonly response: ChatResponse;
  readonly promptText?: string;
  /** Why and where its conversation left the recorded tokens. */
  readonly fork?: Fork;
}

/** What a recorder says about a conversation that left its recorded tokens. */
export interface RecordedFork extends Fork {
  /** Counts the calls of the rollout from 0. */
  readonly callIndex: number;
}

/** Enough to see the pattern; one agent repeats its mistake in every turn. */
const mostForks = 8;

export interface History {
  add(choices: readonly RecordedChoice[]): void;
  /**
   * No client has the answer of this call: it becomes no experience unless something refers to it.
   */
  markUndelivered(callIndex: number): void;
  /** A conversation holds the answer of this call, so a client has it after all. */
  refer(callIndex: number): void;
  /** The first few conversations that left their recorded tokens. */
  forks(): readonly RecordedFork[];
  /**
   * One experience per choice, calls in the order in which they began.
   * @throws WorkflowError when nothing is recorded by choice
   */
  extract(clear: boolean): readonly Experience[];
}

/**
 * `eid.step` counts recorded calls without gaps and goes on counting after a clear, so that ids
 * stay unique within the run.
 */
export function createHistory(enabled: boolean): History {
  let recorded: RecordedChoice[] = [];
  let cleared = 0;
  const undelivered = new Set<number>();
  const forks: RecordedFork[] = [];
  return {
    add: (choices) => {
      const [first] = choices;
      if (first?.fork && forks.length < mostForks)
        forks.push({ ...first.fork, callIndex: first.callIndex });
      if (enabled) recorded.push(...choices);
    },
    forks: () => forks,
    markUndelivered: (callIndex) => void undelivered.add(callIndex),
    refer: (callIndex) => void undelivered.delete(callIndex),
    extract: (clear) => {
      if (!enabled) {
        throw new WorkflowError(
          'This model keeps no history, because it is not trained. Take experiences from the rollout model.',
          {
            code: 'HISTORY_OFF',
          },
        );
      }
      const known = recorded.filter(({ callIndex }) => !undelivered.has(callIndex));
      const ordered = known.toSorted((a, b) => a.callIndex - b.callIndex || a.choice - b.choice);
      const steps = new Map(
        [...new Set(ordered.map(({ callIndex }) => callIndex))].map((callIndex, i) => [
          callIndex,
          cleared + i,
        ]),
      );
      if (clear) {
        recorded = [];
        cleared += steps.size;
      }
      return ordered.map((choice) => toExperience(choice, steps.get(choice.callIndex)!));
    },
  };
}

/** Over the arrays of the record, not over copies of them. */
export function toExperience(
  { choice, response, promptText, fork }: RecordedChoice,
  step: number,
): Experience {
  const { tokens, promptLength, logprobs, policyVersion, temperature, responseText, finishReason } =
    response;
  const experience: Experience = {
    eid: { ...emptyEid, step, suffix: String(choice) },
    tokens,
    promptLength,
    actionMask: new Uint8Array(tokens.length - promptLength).fill(1),
    logprobs,
    policyVersion,
    temperature,
    responseText,
    metrics: {},
    info: { finishReason, ...(fork && { fork: fork.reason }) },
    ...(finishReason === 'length' && { truncateStatus: 'response_truncated' as const }),
    ...(promptText !== undefined && { promptText }),
  };
  assertAligned(experience);
  return experience;
}
