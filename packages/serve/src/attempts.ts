/** Assigns the rewarded calls of a commit to attempts at their tasks. */
import { groupBy, type Eid, type Experience } from '@trinity-rft/core';
import type { RewardedCall } from './turns/turn-store.js';

interface Attempt {
  /** Number of the attempt, if the client has given one. */
  readonly run: number | undefined;
  /** Calls in the order in which they were served. */
  readonly calls: RewardedCall[];
}

/**
 * Returns the place of each call: the attempt at its task, and the step in it. The calls that a
 * client gave the same number are one attempt. Without a number, a call belongs to the attempt
 * whose last call it continues in the same session, else it is an attempt of its own. Choices of
 * one call are different attempts.
 */
export function placesOf(
  calls: readonly RewardedCall[],
): ReadonlyMap<RewardedCall, Pick<Eid, 'run' | 'step'>> {
  const places = new Map<RewardedCall, Pick<Eid, 'run' | 'step'>>();
  for (const ofTask of groupBy(calls, ({ task }) => task).values()) {
    const attempts = attemptsAt(ofTask);
    const numbers = new Set(attempts.map(({ run }) => run));
    let free = 0;
    for (const attempt of attempts) {
      while (numbers.has(free)) free++;
      const run = attempt.run ?? free++;
      for (const [step, call] of attempt.calls.entries()) places.set(call, { run, step });
    }
  }
  return places;
}

/** Returns the attempts at one task, in the order of their first calls. */
function attemptsAt(calls: readonly RewardedCall[]): readonly Attempt[] {
  const attempts: Attempt[] = [];
  const numbered = new Map<number, Attempt>();
  for (const call of calls) {
    const { run } = call;
    const before =
      run === undefined
        ? attempts.findLast((attempt) => attempt.run === undefined && continues(call, attempt))
        : numbered.get(run);
    // Another choice of the attempt's last call cannot follow it.
    if (before && before.calls.at(-1)?.msgId !== call.msgId) {
      before.calls.push(call);
      continue;
    }
    const attempt = { run: before ? undefined : run, calls: [call] };
    if (run !== undefined && !before) numbered.set(run, attempt);
    attempts.push(attempt);
  }
  return attempts;
}

/** Returns true if the prompt of the call begins with all tokens of the attempt's last call. */
function continues(call: RewardedCall, { calls }: Attempt): boolean {
  const last = calls.at(-1);
  return last?.session === call.session && beginsWith(call.experience, last.experience.tokens);
}

function beginsWith(
  { tokens, promptLength }: Experience,
  beginning: Experience['tokens'],
): boolean {
  if (beginning.length > promptLength) return false;
  // From the end, because conversations often begin with the same instruction.
  for (let i = beginning.length - 1; i >= 0; i--) if (tokens[i] !== beginning[i]) return false;
  return true;
}
