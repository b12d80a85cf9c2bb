/** Records the calls of a rollout, and creates experiences from them. */
import type { Fork } from '@trinity-rft/chat';
import { WorkflowError, type ChatResponse, type Experience } from '@trinity-rft/core';
import { assertAligned, emptyEid } from '@trinity-rft/core/internal';

/** One sampled response to a call in the history. It becomes one experience. */
export interface RecordedChoice {
  readonly callIndex: number;
  readonly choice: number;
  readonly response: ChatResponse;
  /** Start and end of the call, in milliseconds since the epoch. */
  readonly time: { readonly start: number; readonly end: number };
  readonly promptText?: string;
  /**
   * Reason why, and position at which, the conversation deviated from the recorded tokens. Absent
   * if it did not.
   */
  readonly fork?: Fork;
}

/** A call whose conversation deviated from the recorded tokens. */
export interface RecordedFork extends Fork {
  /** Index of the call within the rollout, from 0. */
  readonly callIndex: number;
}

/**
 * Maximum number of forks to keep. A few are enough to recognise a pattern, because an agent makes
 * the same change in every turn.
 */
const maxForks = 8;

export interface History {
  add(choices: readonly RecordedChoice[]): void;
  /**
   * Marks the response to a call as not received by any client. The call then becomes an experience
   * only if a client receives the response later. Does nothing if a client has already received it.
   */
  markUndelivered(callIndex: number): void;
  /** Marks the response to this call as received by a client. */
  markDelivered(callIndex: number): void;
  /** Returns the forks of the first few conversations that deviated from their recorded tokens. */
  forks(): readonly RecordedFork[];
  /**
   * Returns one experience per choice of the calls not marked as undelivered, in the order in which
   * the calls started.
   * @param clear true to remove the calls that are returned from the history, so that each
   * experience is returned only once
   * @throws WorkflowError if recording is off
   */
  extract(clear: boolean): readonly Experience[];
  /** Returns the experiences that were extracted with `clear`, in the order of the extractions. */
  extracted(): readonly Experience[];
}

/**
 * Creates a history. In extracted experiences, `eid.step` numbers the calls that became
 * experiences, without gaps. Numbering continues after an extraction with `clear`, so that ids
 * remain unique within the rollout. `callIndex` is different: it also counts failed and undelivered
 * calls.
 */
export function createHistory(enabled: boolean): History {
  let recorded: RecordedChoice[] = [];
  let cleared = 0;
  const extracted: Experience[] = [];
  /** Delivery states, keyed by call index, of the calls that were not extracted with `clear`. */
  const deliveries = new Map<number, 'unknown' | 'delivered' | 'undelivered'>();
  const isUndelivered = ({ callIndex }: RecordedChoice): boolean =>
    deliveries.get(callIndex) === 'undelivered';
  const forks: RecordedFork[] = [];
  return {
    add: (choices) => {
      const [first] = choices;
      if (first?.fork && forks.length < maxForks)
        forks.push({ ...first.fork, callIndex: first.callIndex });
      if (!enabled || !first) return;
      recorded.push(...choices);
      deliveries.set(first.callIndex, 'unknown');
    },
    forks: () => forks,
    markUndelivered: (callIndex) => {
      if (deliveries.get(callIndex) === 'unknown') deliveries.set(callIndex, 'undelivered');
    },
    markDelivered: (callIndex) => {
      if (deliveries.has(callIndex)) deliveries.set(callIndex, 'delivered');
    },
    extract: (clear) => {
      if (!enabled) throw historyOff();
      const ordered = recorded
        .filter((choice) => !isUndelivered(choice))
        .toSorted((a, b) => a.callIndex - b.callIndex || a.choice - b.choice);
      const steps = new Map<number, number>();
      const experiences = ordered.map((choice) => {
        const step = steps.get(choice.callIndex) ?? cleared + steps.size;
        steps.set(choice.callIndex, step);
        return toExperience(choice, step);
      });
      if (clear) {
        recorded = recorded.filter(isUndelivered);
        for (const callIndex of steps.keys()) deliveries.delete(callIndex);
        cleared += steps.size;
        extracted.push(...experiences);
      }
      return experiences;
    },
    extracted: () => [...extracted],
  };
}

const historyOff = (): WorkflowError =>
  new WorkflowError(
    'This model is not trained, so it records no history. Extract experiences from the rollout model.',
    { code: 'HISTORY_OFF' },
  );

/**
 * Creates the experience of a recorded choice, with `step` as its `eid.step`. Copies the recorded
 * data, so that changes to the experience do not affect them.
 */
export function toExperience(
  { choice, response, time, promptText, fork }: RecordedChoice,
  step: number,
): Experience {
  const { tokens, promptLength, logprobs, policyVersion, versions } = response;
  const { temperature, responseText, finishReason } = response;
  const experience: Experience = {
    eid: { ...emptyEid, step, suffix: String(choice) },
    tokens: tokens.slice(),
    promptLength,
    actionMask: new Uint8Array(tokens.length - promptLength).fill(1),
    logprobs: logprobs.slice(),
    policyVersion,
    temperature,
    responseText,
    metrics: {},
    // Undefined values are omitted, because stores would keep their keys.
    info: {
      finishReason,
      times: [{ ...time }],
      ...(fork && { fork: fork.reason }),
      ...(versions && { versions: versions.map((span) => ({ ...span })) }),
    },
    ...(finishReason === 'length' && { truncateStatus: 'response_truncated' as const }),
    ...(promptText !== undefined && { promptText }),
  };
  assertAligned(experience);
  return experience;
}
