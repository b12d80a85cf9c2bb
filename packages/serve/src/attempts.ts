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
 * whose last call it continues in the same session: its prompt begins with all tokens of that call.
 * Otherwise it is an attempt of its own. Choices of one call are different attempts. Takes time in
 * proportion to the number of tokens.
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

/** Unnumbered attempts of a session by the length and the hash of the tokens of their last call. */
type Ends = Map<number, Map<number, Attempt[]>>;

/** Returns the attempts at one task, in the order of their first calls. */
function attemptsAt(calls: readonly RewardedCall[]): readonly Attempt[] {
  const attempts: Attempt[] = [];
  const numbered = new Map<number, Attempt>();
  const sessions = new Map<string, Ends>();
  for (const call of calls) {
    const { run, session } = call;
    const ends = sessions.get(session) ?? new Map<number, Map<number, Attempt[]>>();
    sessions.set(session, ends);
    const before = run === undefined ? takeContinued(ends, call) : numbered.get(run);
    // Another choice of the attempt's last call cannot follow it.
    const isNext = before !== undefined && before.calls.at(-1)?.msgId !== call.msgId;
    const attempt: Attempt = isNext ? before : { run: before ? undefined : run, calls: [] };
    attempt.calls.push(call);
    if (attempt.run === undefined) addEnd(ends, attempt, call);
    if (isNext) continue;
    if (attempt.run !== undefined) numbered.set(attempt.run, attempt);
    attempts.push(attempt);
  }
  return attempts;
}

/**
 * Removes and returns the attempt whose last call has the longest beginning of the call's prompt as
 * its tokens; of several, the one that was added last.
 */
function takeContinued(ends: Ends, { experience }: RewardedCall): Attempt | undefined {
  const { tokens, promptLength } = experience;
  const found: Attempt[][] = [];
  let hash = 0;
  for (let i = 0; i < promptLength; i++) {
    hash = hashWith(hash, tokens[i]!);
    const ended = ends.get(i + 1)?.get(hash);
    if (ended) found.push(ended);
  }
  for (const ended of found.toReversed()) {
    const at = ended.findLastIndex(({ calls }) =>
      beginsWith(tokens, calls.at(-1)!.experience.tokens),
    );
    if (at >= 0) return ended.splice(at, 1)[0];
  }
  return undefined;
}

function addEnd(ends: Ends, attempt: Attempt, { experience: { tokens } }: RewardedCall): void {
  const ofLength = ends.get(tokens.length) ?? new Map<number, Attempt[]>();
  ends.set(tokens.length, ofLength);
  const hash = tokens.reduce(hashWith, 0);
  const ended = ofLength.get(hash);
  if (ended) ended.push(attempt);
  else ofLength.set(hash, [attempt]);
}

const hashWith = (hash: number, token: number): number => (Math.imul(hash, 31) + token + 1) | 0;

const beginsWith = (tokens: Experience['tokens'], beginning: Experience['tokens']): boolean =>
  beginning.every((token, i) => token === tokens[i]);
